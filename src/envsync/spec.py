"""environment.yml, read as conda reads it, with the line of everything that is in it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml
from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as Pep508
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_wheel_filename,
)

from envsync.errors import InputError
from envsync.model import Notice
from envsync.redact import redact
from envsync.yamlfile import compose, decode, line_of

KEYS = ("name", "channels", "dependencies", "variables", "prefix", "platforms", "category")
"""Top-level keys that conda or conda-lock know."""

PIP_OPTIONS = frozenset(
    {
        "-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--no-index", "--pre",
        "--trusted-host", "--no-binary", "--only-binary", "--prefer-binary",
    }
)  # fmt: skip
"""What a requirements file may set (pip docs, "Requirements File Format") and we pass on."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Requirement:
    """One entry of `dependencies` or of its pip section."""

    text: str
    name: str
    """Lower case; canonical for pip. Empty for a pip option or a URL that names no package."""
    line: int


@dataclass(frozen=True)
class EnvironmentSpec:
    """What an environment file asks for. `raw` is the file itself, which is what travels."""

    name: str
    channels: tuple[str, ...]
    conda: tuple[Requirement, ...]
    pip: tuple[Requirement, ...]
    variables: tuple[tuple[str, str], ...]
    raw: bytes
    source: str
    notices: tuple[Notice, ...] = ()


def read_environment(path: Path, name: str | None = None) -> EnvironmentSpec:
    """Read a file; `name` replaces the file's own. Raises InputError."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError as error:
        others = sorted([*path.parent.glob("*.yml"), *path.parent.glob("*.yaml")])
        near = f"did you mean -f {others[0]}?" if others else "name it with -f FILE"
        raise InputError(f"there is no environment file {path}", hint=near) from error
    except OSError as error:
        raise InputError(f"it cannot be read: {error.strerror}", file=str(path)) from error
    return parse_environment(raw, str(path), name)


def parse_environment(raw: bytes, source: str, name: str | None = None) -> EnvironmentSpec:
    """Parse the bytes of a file; `source` names it in messages. Raises InputError."""
    return _Reader(source).read(raw, name)


class _Reader:
    """Carries the file's name to every message, and gathers notices."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._notices: list[Notice] = []

    def read(self, raw: bytes, name: str | None) -> EnvironmentSpec:
        root = compose(decode(raw, self._source), self._source)
        if not isinstance(root, yaml.MappingNode):
            raise self._wrong(
                "it is empty" if root is None else "it is no mapping of keys to values",
                root,
                "expected `name:`, `channels:` and `dependencies:`",
            )
        keys = self._keys(root)
        conda, pip = self._dependencies(keys.get("dependencies"), root)
        return EnvironmentSpec(
            name=self._name(keys.get("name"), name, root),
            channels=tuple(self._text(node, "a channel") for node in self._list(keys, "channels")),
            conda=conda,
            pip=pip,
            variables=tuple(self._variables(keys.get("variables"))),
            raw=raw,
            source=self._source,
            notices=tuple(self._notices),
        )

    def _wrong(self, message: str, node: yaml.Node | None, hint: str = "") -> InputError:
        line = line_of(node) if node else 0
        return InputError(redact(message), file=self._source, line=line, hint=redact(hint))

    def _note(self, message: str, node: yaml.Node) -> None:
        self._notices.append(Notice(redact(message), self._source, line_of(node)))

    def _keys(self, root: yaml.MappingNode) -> Mapping[str, yaml.Node]:
        found: dict[str, yaml.Node] = {}
        for key, value in root.value:
            word = self._text(key, "a key")
            if word in found:
                self._note(f"`{word}:` stands twice; the last one counts", key)
            if word == "prefix":
                self._note("`prefix:` is ignored: envsync chooses the place on each node", key)
            elif word not in KEYS:
                near = difflib.get_close_matches(word, KEYS, n=1)
                mean = f"; did you mean `{near[0]}:`?" if near else ""
                self._note(f"`{word}:` is not a key that conda knows{mean}", key)
            found[word] = value
        return found

    def _name(self, node: yaml.Node | None, given: str | None, root: yaml.Node) -> str:
        if given is None and node is None:
            raise self._wrong("it has no `name:`", root, "add one, or give one with -n")
        name = given if given is not None else self._text(node, "the name")
        where = None if given is not None else node
        if name in {"base", "root"}:
            raise self._wrong(f"{name} is conda's own environment", where, "choose another name")
        if not _NAME.fullmatch(name):
            raise self._wrong(
                f"{name!r} is not a name for an environment",
                where,
                "use letters, digits, `.`, `_` and `-`, such as nlp-pretrain-a100",
            )
        return name

    def _list(self, keys: Mapping[str, yaml.Node], key: str) -> list[yaml.Node]:
        node = keys.get(key)
        if node is None or _is_null(node):
            return []
        if not isinstance(node, yaml.SequenceNode):
            raise self._wrong(f"`{key}:` is no list", node, "expected lines of `  - item`")
        return list(node.value)

    def _text(self, node: yaml.Node | None, what: str) -> str:
        if not isinstance(node, yaml.ScalarNode) or _is_null(node):
            raise self._wrong(f"{what} is no text", node, "expected a word, in quotes if need be")
        return str(node.value)

    def _dependencies(
        self, node: yaml.Node | None, root: yaml.Node
    ) -> tuple[tuple[Requirement, ...], tuple[Requirement, ...]]:
        entries = self._list({"dependencies": node} if node else {}, "dependencies")
        if not entries:
            raise self._wrong(
                "it asks for no package", node or root, "add `dependencies:` with `  - python=3.11`"
            )
        conda: list[Requirement] = []
        pip: list[Requirement] = []
        for entry in entries:
            if isinstance(entry, yaml.MappingNode):
                pip += self._pip_section(entry)
            else:
                conda.append(self._conda_requirement(entry))
        return tuple(conda), tuple(pip)

    def _conda_requirement(self, node: yaml.Node) -> Requirement:
        from rattler import MatchSpec  # noqa: PLC0415 (0.15 s to import)
        from rattler.exceptions import InvalidMatchSpecError  # noqa: PLC0415

        text = self._text(node, "a dependency").strip()
        if re.match(r"[./~]|file:", text):
            raise self._wrong(
                f"{text} is a file of this machine, which the nodes do not have",
                node,
                "put the package into a channel, and name it here",
            )
        try:
            spec = MatchSpec(text)
        except InvalidMatchSpecError as error:
            reason = str(error).splitlines()[0]
            raise self._wrong(
                f"{text!r} is not a package that conda understands ({reason})",
                node,
                "expected for example numpy=1.26, numpy>=1.26,<2 or conda-forge::numpy",
            ) from error
        return Requirement(text, spec.name.normalized, line_of(node))

    def _pip_section(self, node: yaml.MappingNode) -> Iterator[Requirement]:
        for key, value in node.value:
            word = self._text(key, "a key")
            if word != "pip":
                text = f"{word}={value.value}" if isinstance(value, yaml.ScalarNode) else word
                raise self._wrong(
                    f"`{word}:` makes a mapping, and a dependency is text",
                    key,
                    f"write `- {text}`, with `=` and no blank",
                )
            for entry in self._list({"pip": value}, "pip"):
                yield self._pip_requirement(entry)

    def _pip_requirement(self, node: yaml.Node) -> Requirement:
        text = re.sub(r"(^|\s)#.*$", "", self._text(node, "a pip requirement")).strip()
        if text.startswith("-"):
            return self._pip_option(text, node)
        bare = re.split(r"\s+--", text)[0].strip()  # `--hash=...` may follow
        if re.match(r"\.{1,2}(/|$)|~", bare):
            raise self._elsewhere(text, node)
        if re.match(r"([a-z]+\+)?[a-z]+://|/", bare):
            return Requirement(text, _name_in_url(bare), line_of(node))
        try:
            name = Pep508(bare).name
        except InvalidRequirement as error:
            single = re.fullmatch(r"([A-Za-z0-9._-]+(?:\[[^\]]*\])?)\s*=\s*([^=<>~!\s]+)", bare)
            hint = (
                f"pip writes it with two signs: {single[1]}=={single[2]}"
                if single
                else "expected for example transformers==4.44.2"
            )
            raise self._wrong(f"pip does not understand {text!r}", node, hint) from error
        return Requirement(text, canonicalize_name(name), line_of(node))

    def _pip_option(self, text: str, node: yaml.Node) -> Requirement:
        option = re.split(r"[\s=]", text)[0]
        if option in PIP_OPTIONS:
            return Requirement(text, "", line_of(node))
        if option.startswith(("-r", "-c", "-e", "--requirement", "--constraint", "--editable")):
            raise self._elsewhere(text, node)
        raise self._wrong(
            f"{option} may not stand in a pip section",
            node,
            f"allowed are {', '.join(sorted(PIP_OPTIONS))}",
        )

    def _elsewhere(self, text: str, node: yaml.Node) -> InputError:
        return self._wrong(
            f"{text} refers to a file of this machine, which the nodes do not have",
            node,
            "put what it says into the pip section itself",
        )

    def _variables(self, node: yaml.Node | None) -> Iterator[tuple[str, str]]:
        if node is None or _is_null(node):
            return
        if not isinstance(node, yaml.MappingNode):
            raise self._wrong(
                "`variables:` is no mapping", node, "expected lines of `  KEY: value`"
            )
        for key, value in node.value:
            name = self._text(key, "a variable")
            if not _VARIABLE.fullmatch(name):
                raise self._wrong(
                    f"{name!r} is not a name for a variable",
                    key,
                    "use letters, digits and `_`",
                )
            yield name, self._text(value, f"the value of {name}")


def _is_null(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag.endswith(":null")


def _name_in_url(text: str) -> str:
    """The package that a URL requirement names, if it does: `#egg=` or a wheel's file name."""
    if egg := re.search(r"#(?:.*&)?egg=([A-Za-z0-9._-]+)", text):
        return canonicalize_name(egg[1])
    try:
        return parse_wheel_filename(re.split(r"[#?]", text)[0].rpartition("/")[2])[0]
    except (InvalidWheelFilename, InvalidSdistFilename):
        return ""
