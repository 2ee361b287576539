"""What in an environment file will hurt on a cluster, known before any node is touched."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from envsync.requirement import Requirement, pep508
from envsync.spec import EnvironmentSpec

TORCH_NAMES = {"torch", "pytorch", "pytorch-gpu", "pytorch-cpu"}


@dataclass(frozen=True)
class Finding:
    """One complaint. `level` is `error` or `warning`; an error stops a push."""

    code: str
    level: str
    message: str
    hint: str
    file: str
    line: int


@dataclass(frozen=True)
class Rule:
    """A rule looks at a file and yields the entry to blame, with a message and a hint."""

    code: str
    level: str
    title: str
    check: Callable[[EnvironmentSpec], Iterator[tuple[int, str, str]]]


def lint(spec: EnvironmentSpec) -> tuple[Finding, ...]:
    """All findings, in the order of their lines."""
    found = [
        Finding(rule.code, rule.level, message, hint, spec.source, line)
        for rule in RULES
        for line, message, hint in rule.check(spec)
    ]
    return tuple(sorted(found, key=lambda each: (each.line, each.code)))


def _torch_twice(spec: EnvironmentSpec) -> Iterator[tuple[int, str, str]]:
    conda = next((each for each in spec.conda if each.name in TORCH_NAMES), None)
    pip = next((each for each in spec.pip if each.name == "torch"), None)
    if conda and pip:
        yield (
            pip.line,
            f"torch comes from pip here and from conda in line {conda.line}",
            "keep one of them: pip would write over conda's files",
        )


def _same_name_twice(spec: EnvironmentSpec) -> Iterator[tuple[int, str, str]]:
    for entries, wish in ((spec.conda, _bare), (spec.pip, _pip_wish)):
        groups: dict[str, list[Requirement]] = {}
        for each in entries:
            if each.name and not _is_conditional(each):
                groups.setdefault(each.name, []).append(each)
        for name, group in groups.items():
            if len({wish(each) for each in group}) > 1:
                yield (
                    group[-1].line,
                    f"{name} is asked for {len(group)} times in different ways",
                    "keep one line for it",
                )


def _is_conditional(entry: Requirement) -> bool:
    """Lines with markers exclude each other: `; sys_platform == "linux"` and its opposite."""
    wanted = pep508(entry.text)
    return wanted is not None and wanted.marker is not None


def _bare(entry: Requirement) -> str:
    return re.sub(r"\s", "", entry.text)


def _pip_wish(entry: Requirement) -> str:
    """The version or the address alone: extras and hashes of one package add up."""
    wanted = pep508(entry.text)
    return _bare(entry) if wanted is None else wanted.url or str(wanted.specifier)


def _pip_missing(spec: EnvironmentSpec) -> Iterator[tuple[int, str, str]]:
    if spec.pip and not any(each.name == "pip" for each in spec.conda):
        yield (
            spec.pip[0].line,
            "there is a pip section, but pip is not among the dependencies",
            "add `- pip`: not every channel's python brings it along",
        )


def _unpinned(names: set[str]) -> Callable[[EnvironmentSpec], Iterator[tuple[int, str, str]]]:
    def check(spec: EnvironmentSpec) -> Iterator[tuple[int, str, str]]:
        for each in spec.conda + spec.pip:
            if each.name in names and not each.pinned:
                yield (
                    each.line,
                    f"{each.name} has no version",
                    f"pin it, or a node that is added later gets another {each.name}",
                )

    return check


def _mixed_channels(spec: EnvironmentSpec) -> Iterator[tuple[int, str, str]]:
    names = {channel.rstrip("/").rpartition("/")[2] for channel in spec.channels}
    if {"defaults", "conda-forge"} <= names:
        yield (
            0,
            "the channels defaults and conda-forge are mixed",
            "their builds are not made for each other; keep conda-forge and `nodefaults`",
        )


RULES = (
    Rule("ENV001", "error", "torch comes from conda and from pip", _torch_twice),
    Rule("ENV002", "error", "a package is asked for twice in different ways", _same_name_twice),
    Rule("ENV003", "warning", "a pip section without pip", _pip_missing),
    Rule("ENV004", "warning", "python has no version", _unpinned({"python"})),
    Rule("ENV005", "warning", "torch has no version", _unpinned(TORCH_NAMES)),
    Rule("ENV006", "warning", "defaults and conda-forge are mixed", _mixed_channels),
)
