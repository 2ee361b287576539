"""A reference environment as one node has it: what is there, and how it came to be."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from envsync import scripts
from envsync.errors import InputError
from envsync.facts import Facts
from envsync.ports import Command, Completed
from envsync.solution import answered, in_linking_order, solved
from envsync.spec import parse_environment

_OFFER = re.compile(r"(?:-c|--channel|--override-channels -c)[ =](\S+)")
_SPECS = re.compile(r"# (?P<action>\w+) specs: (?P<specs>.*)")
_UNSET = "***unset***"
"""What conda keeps for a variable that was removed (conda's `core/prefix_data.py`)."""


@dataclass(frozen=True)
class CondaRecord:
    """One package as conda recorded it. `url` may hold credentials."""

    name: str
    version: str
    build: str
    channel: str
    url: str
    md5: str = ""
    sha256: str = ""


@dataclass(frozen=True)
class PipRecord:
    """One package that pip installed."""

    name: str
    version: str
    origin: Mapping[str, Any] | None = None
    """Where it came from if not from an index (PEP 610, "Direct URL")."""
    needed: bool = False
    """Another package in the environment asks for it."""


@dataclass(frozen=True)
class Reference:
    """All that an export is made from."""

    name: str
    subdir: str
    conda: tuple[CondaRecord, ...]
    """Each after those that it depends on."""
    pip: tuple[PipRecord, ...]
    channels: tuple[str, ...] = ()
    """In the order in which they were asked for, as far as that is known."""
    asked: tuple[str, ...] | None = None
    """The specs that conda was asked for; None when that is not known."""
    variables: tuple[tuple[str, str], ...] = ()
    indexes: tuple[tuple[str, str], ...] = ()
    """pip's options on the node and their values: `--index-url`, ..."""
    origins_known: bool = True


def reading(prefix: str) -> Command:
    """The command whose answer `parse` reads."""
    command = solved(prefix)
    helpers = scripts.load("records.sh") + scripts.load("as_pip.sh")
    return replace(
        command,
        script=helpers + scripts.load("export.sh") + command.script.removeprefix(helpers),
    )


def parse(done: Completed, name: str, subdir: str, facts: Facts) -> Reference:
    """Read the answer; `facts` say which packages are pip's. Raises HostError."""
    parts = answered(done, "probe")
    inspected = _json("\n".join(parts["pip"]))
    asked, channels = _pushed("\n".join(line[1:] for line in parts["file"]))
    history = parts["history"]
    conda = _conda(parts)
    return Reference(
        name,
        subdir,
        conda,
        _pip(facts, inspected),
        (*channels, *(channel for line in reversed(history) for channel in _OFFER.findall(line))),
        _installed(_from_history(history) if asked is None else asked, conda),
        _variables("\n".join(parts["state"])),
        tuple(_indexes(parts["config"])),
        "installed" in inspected or not facts.pip,
    )


def _conda(parts: Mapping[str, list[str]]) -> tuple[CondaRecord, ...]:
    return tuple(
        CondaRecord(
            each["name"],
            each["version"],
            each.get("build") or each.get("build_string") or "",
            str(each.get("channel") or ""),
            str(each.get("url") or ""),
            each.get("md5") or "",
            each.get("sha256") or "",
        )
        for each in in_linking_order(parts)
    )


def _pip(facts: Facts, inspected: Mapping[str, Any]) -> tuple[PipRecord, ...]:
    items: dict[str, Any] = {
        canonicalize_name(it["metadata"]["name"]): it for it in inspected.get("installed", ())
    }
    needed = {
        (owner, wanted)
        for owner, item in items.items()
        for wanted in _requires(item["metadata"].get("requires_dist", ()))
    }
    return tuple(
        PipRecord(
            each.name,
            each.version,
            items.get(each.name, {}).get("direct_url"),
            any(wanted == each.name and owner != each.name for owner, wanted in needed),
        )
        for each in facts.pip
    )


def _requires(lines: Iterable[str]) -> Iterable[str]:
    """Names of what is needed at any rate: not just for an extra."""
    for line in lines:
        try:
            wanted = Requirement(line)
        except InvalidRequirement:
            continue
        if wanted.marker is None or "extra" not in str(wanted.marker):
            yield canonicalize_name(wanted.name)


def _pushed(text: str) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """What the file that was pushed asks of conda, and its channels."""
    if not text.strip():
        return None, ()
    try:
        spec = parse_environment(text.encode(), "environment.yml")
    except InputError:  # another tool's lock, which asks for everything
        return None, ()
    return tuple(each.text for each in spec.conda), tuple(spec.channels)


def _from_history(lines: Iterable[str]) -> tuple[str, ...] | None:
    """What is still asked for, after all updates and removals (conda's own history)."""
    asked: dict[str, str] = {}
    known = False
    for line in lines:
        if (found := _SPECS.match(line)) is None:
            continue
        known = True
        for text in _listed(found["specs"]):
            if found["action"] in {"remove", "uninstall"}:
                asked.pop(spec_name(text), None)
            else:
                asked[spec_name(text)] = text
    return tuple(asked.values()) if known else None


def spec_name(text: str) -> str:
    """The package that a spec is about."""
    found = re.match(r"(?:[^\s\[=<>!~]*::)?([A-Za-z0-9_.-]+)", text.strip())
    return found[1].lower() if found else text


def _listed(text: str) -> Sequence[str]:
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError):  # conda before 4.4 wrote them with commas
        return [each.strip() for each in text.split(",") if each.strip()]
    return [str(each) for each in found] if isinstance(found, list | tuple) else []


def _installed(asked: Sequence[str] | None, conda: Sequence[CondaRecord]) -> tuple[str, ...] | None:
    if asked is None:
        return None
    names = {each.name for each in conda}
    # The address of a file says nothing of what was wanted: that was an explicit list.
    if any("url=" in text or text.endswith((".conda", ".bz2")) for text in asked):
        return None
    return tuple(text for text in asked if spec_name(text) in names)


def _variables(text: str) -> tuple[tuple[str, str], ...]:
    kept = _json(text).get("env_vars") or {}
    return tuple((str(k), str(v)) for k, v in sorted(kept.items()) if v != _UNSET)


def _indexes(lines: Iterable[str]) -> Iterable[tuple[str, str]]:
    """From `pip config list`: SECTION.KEY='VALUE'; several addresses stand in one value."""
    for line in lines:
        key, equals, text = line.partition("=")
        option = key.strip().rpartition(".")[2].replace("_", "-")
        section = key.strip().partition(".")[0]
        if not equals or section not in {"global", "install", ":env:"}:
            continue
        if option in {"index-url", "extra-index-url", "find-links"}:
            value = str(ast.literal_eval(text)) if text[:1] in {"'", '"'} else text
            for address in value.split():
                yield f"--{option}", address


def _json(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
