"""Versions: missing ones, contradictory ones, and those of Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from envsync.lint.rule import Blame, Check, Rule, blame
from envsync.lint.wishes import TORCH_NAMES, is_conditional, only, shown
from envsync.requirement import Requirement, pep508
from envsync.spec import EnvironmentSpec

END_OF_LIFE = {
    (3, 6): "December 2021",
    (3, 7): "June 2023",
    (3, 8): "October 2024",
    (3, 9): "October 2025",
    (3, 10): "October 2026",
}
"""Python's developer's guide, "Status of Python versions" (devguide.python.org/versions)."""


def _same_name_twice(spec: EnvironmentSpec) -> Iterator[Blame]:
    for entries, wish in ((spec.conda, _bare), (spec.pip, _pip_wish)):
        # Files that build on each other narrow a version on purpose, and pip takes both.
        groups: dict[tuple[str, str], list[Requirement]] = {}
        for each in entries:
            if each.name and not is_conditional(each):
                groups.setdefault((each.file, each.name), []).append(each)
        for (_, name), group in groups.items():
            if len(group) > 1 and len({wish(each) for each in group}) > 1:
                yield blame(
                    group[-1],
                    f"{name} is asked for {len(group)} times in different ways",
                    "keep one line for it",
                )


def _bare(entry: Requirement) -> str:
    return re.sub(r"\s", "", entry.text)


def _pip_wish(entry: Requirement) -> str:
    """The version or the address alone: extras and hashes of one package add up."""
    wanted = pep508(entry.text)
    return _bare(entry) if wanted is None else wanted.url or str(wanted.specifier)


def _unpinned(names: AbstractSet[str]) -> Check:
    def check(spec: EnvironmentSpec) -> Iterator[Blame]:
        for each in spec.conda + spec.pip:
            if each.name in names and not each.pinned:
                yield blame(
                    each,
                    f"{each.name} has no version",
                    f"pin it, or a node that is added later gets another {each.name}",
                )

    return check


def _end_of_life(spec: EnvironmentSpec) -> Iterator[Blame]:
    for each in spec.conda:
        at = only(each.version) if each.name == "python" else None
        if at is None or at > max(END_OF_LIFE):
            continue
        ended = f"in {END_OF_LIFE[at]}" if at in END_OF_LIFE else "years ago"
        yield blame(
            each,
            f"support of Python {shown(at)} ended {ended}",
            "move to a newer Python when the work allows it",
        )


RULES = (
    Rule(
        "ENV002",
        "error",
        "a package is asked for twice in different ways",
        "one of the lines is not what you get, or the solver finds nothing at all",
        _same_name_twice,
    ),
    Rule(
        "ENV004",
        "warning",
        "python has no version",
        "a node that is added next month gets another one",
        _unpinned({"python"}),
    ),
    Rule(
        "ENV005",
        "warning",
        "torch has no version",
        "ranks with different torch versions fail or hang in their collectives",
        _unpinned(TORCH_NAMES),
    ),
    Rule(
        "ENV103",
        "info",
        "python has reached its end of life",
        "it gets no security fixes, and new wheels and conda builds leave it out",
        _end_of_life,
    ),
)
