"""What diff compares: nodes, locks, environment files, and nodes in a saved report of verify."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from envsync.compare import ABSENT, RUNTIME, Row, compare
from envsync.errors import InputError
from envsync.facts import Facts
from envsync.judge import MACHINE, VARIABLES, level_of, wide_rows
from envsync.lock import Lock, parse_lock
from envsync.manifest import read_manifest
from envsync.model import UNKNOWN, Platform
from envsync.observation import markers
from envsync.pins import unmet
from envsync.redact import redact
from envsync.rules import Level
from envsync.saved import read_as
from envsync.spec import EnvironmentSpec, read_bytes

ENDINGS = (".lock", ".yml", ".yaml", ".json")


class Jump(StrEnum):
    """How far two versions are apart, the farthest first."""

    MAJOR = "major"
    MINOR = "minor"
    PATCH = "patch"
    BUILD = "build"
    """The same version, from another build or file."""
    OTHER = ""
    """No two versions: it is on one side only, or no version at all."""


@dataclass(frozen=True)
class Side:
    """One of the two: exactly one of `facts`, `lock` and `spec` is there."""

    label: str
    facts: Facts | None = None
    lock: Lock | None = None
    spec: EnvironmentSpec | None = None
    platform: Platform | None = None
    node: bool = False
    """Its facts are those of a node; those of a lock know nothing of what torch says."""
    part: str = ""
    """The platform that was asked for of a lock."""


def is_file(word: str) -> bool:
    """Whether a word of diff means a file: it has a slash, or such an ending and is there."""
    path = word.partition("#")[0]
    return "/" in path or (path.endswith(ENDINGS) and Path(path).exists())


def read_side(word: str) -> Side:
    """The side that FILE or FILE#PART means. Raises InputError."""
    path, _, part = word.partition("#")
    if not path.endswith(ENDINGS):
        raise InputError(
            f"{path} is no file that diff can read",
            hint=f"name a host, or a file that ends with one of {', '.join(ENDINGS)}",
        )
    if path.endswith(".json"):
        return _of_report(word, path, part)
    if path.endswith(".lock"):
        return Side(word, lock=parse_lock(read_bytes(Path(path)), path), part=part)
    manifest = read_manifest(Path(path), "diff")
    if manifest.lock:
        return Side(word, lock=manifest.lock, part=part)
    return Side(word, spec=manifest.spec)


def side_rows(a: Side, b: Side) -> tuple[Row, ...]:
    """A row for each thing of the two: in each group what matters most, and is farthest apart.

    Raises InputError where it is not clear which section of a lock is meant.
    """
    if a.spec and b.spec:
        return _ordered(_files(a.spec, b.spec))
    one, two = _settled(a, b.platform), _settled(b, a.platform)
    if a.spec or b.spec:
        return _ordered(_wishes(one, two))
    assert one.facts  # noqa: S101 (a side that has no spec has facts once it is settled)
    assert two.facts  # noqa: S101
    facts = [one.facts, two.facts]
    rows = [*compare(facts), *(wide_rows(facts, everything=True) if a.node and b.node else ())]
    known = (one.node, two.node)
    return _ordered(
        replace(
            row, values=tuple(v if k else UNKNOWN for v, k in zip(row.values, known, strict=True))
        )
        if row.group == RUNTIME
        else row
        for row in rows
    )


def jump(row: Row) -> Jump:
    """How far the two values of a row are apart."""
    if row.group in {MACHINE, VARIABLES} or not row.differs or len(row.values) != 2:  # noqa: PLR2004 (a diff has two)
        return Jump.OTHER
    one, two = (_version(value) for value in row.values)
    if one is None or two is None:
        return Jump.OTHER
    if one == two:
        return Jump.BUILD
    if (one.epoch, one.major) != (two.epoch, two.major):
        return Jump.MAJOR
    return Jump.MINOR if one.minor != two.minor else Jump.PATCH


def _version(value: str) -> Version | None:
    """Of `2.5.1 py311_0`, `2.5.1 (pip)`, `==2.5.1` or `2.5.1`; the build of torch is no version."""
    found = re.match(r"={0,2}([0-9][^\s+*]*)", value)
    try:
        return Version(found[1].rstrip(".")) if found else None
    except InvalidVersion:  # conda knows more versions than PEP 440
        return None


def _ordered(rows: Iterator[Row] | Sequence[Row]) -> tuple[Row, ...]:
    groups = (RUNTIME, "conda", "pip", MACHINE, VARIABLES)
    levels, jumps = list(Level), list(Jump)

    def place(row: Row) -> tuple[int, ...]:
        far = (levels.index(level_of(row)), jumps.index(jump(row))) if row.differs else (0, 0)
        return (groups.index(row.group), not row.differs, *far)

    return tuple(sorted(rows, key=place))


def _settled(side: Side, platform: Platform | None) -> Side:
    """With the facts of that section of a lock which is for the platform of the other side."""
    if side.lock is None:
        return side
    sections = [
        each
        for each in side.lock.sections
        if side.part in {"", each.platform.subdir, str(each.platform)}
        and (side.part or platform is None or each.platform.covers(platform))
    ]
    if len(sections) != 1:
        names = "; ".join(str(each.platform) for each in side.lock.sections)
        raise InputError(
            f"{side.label}: {len(sections)} sections of this lock fit, and one is compared",
            hint=f"name it as FILE#PLATFORM, one of: {names or 'it has none'}",
        )
    packages = sections[0].packages
    conda = tuple(each for each in packages if each.kind == "conda")
    pip = tuple(each for each in packages if each.kind == "pip")
    return replace(side, facts=Facts("", conda, pip, ()), platform=sections[0].platform)


def _wishes(a: Side, b: Side) -> Iterator[Row]:
    """What a file asks for, and what there is; equal where that will do."""
    spec, other = (a.spec, b) if a.spec else (b.spec, a)
    assert spec  # noqa: S101 (one of the two has it)
    assert other.facts  # noqa: S101 (and the other has these)
    subdir = other.platform.subdir if other.platform else ""
    lacking = {(each.line, each.text) for each in unmet(spec, other.facts, markers(subdir))}
    there = {canonicalize_name(each.name): str(each) for each in other.facts.packages}
    for group, wishes in (("conda", spec.conda), ("pip", spec.pip)):
        for wish in wishes:
            if not wish.name:
                continue
            found = there.get(canonicalize_name(wish.name), ABSENT)
            said = redact(wish.text) if (wish.line, wish.text) in lacking else found
            values = (said, found) if a.spec else (found, said)
            yield Row(group, wish.name, values)


def _files(a: EnvironmentSpec, b: EnvironmentSpec) -> Iterator[Row]:
    for group, one, two in (("conda", a.conda, b.conda), ("pip", a.pip, b.pip)):
        tables = [{each.name or each.text: each for each in side} for side in (one, two)]
        for name in sorted(tables[0].keys() | tables[1].keys()):
            found = [table.get(name) for table in tables]
            values = [(each.version or each.text) if each else ABSENT for each in found]
            if values[0] == values[1]:  # a build, a channel, or a marker tells them apart
                values = [each.text if each else ABSENT for each in found]
            yield Row(group, redact(name), tuple(map(redact, values)))
    variables = [dict(side.variables) for side in (a, b)]
    for name in sorted(variables[0].keys() | variables[1].keys()):
        values = [redact(each.get(name, ABSENT)) for each in variables]
        yield Row(VARIABLES, name, tuple(values))


def _of_report(word: str, path: str, part: str) -> Side:
    """One node of what `verify --report FILE.json` wrote."""
    try:
        hosts = json.loads(read_bytes(Path(path)))["result"]["hosts"]
        facts = {str(each["host"]): each["facts"] for each in hosts}
        chosen = part or (next(iter(facts)) if len(facts) == 1 else "")
        if not facts.get(chosen):
            raise InputError(
                f"{path} has no facts of {chosen!r}" if chosen else f"{path} has several hosts",
                hint=f"name one as FILE.json#HOST: {', '.join(list(facts)[:8])}",
            )
        return Side(word, facts=read_as(Facts, facts[chosen]), node=True)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"it is no report of verify: {error}",
            file=path,
            hint="`envsync verify --report FILE.json` writes one",
        ) from error
