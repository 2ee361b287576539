"""What a rule is, what it finds, and the words that rules share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from envsync.spec import EnvironmentSpec

Level = Literal["error", "warning", "info"]


class Blame(NamedTuple):
    """The line to blame (0: none), what is wrong there, and what to do."""

    line: int
    message: str
    hint: str


Check = Callable[[EnvironmentSpec], Iterator[Blame]]


@dataclass(frozen=True)
class Rule:
    """A rule looks at a file and yields what is to blame. A code never changes its meaning."""

    code: str
    level: Level
    title: str
    """What it finds, in one line."""
    reason: str
    """Why that hurts, in one line."""
    check: Check


@dataclass(frozen=True)
class Finding:
    """One complaint, without secrets. An error stops a push; a warning is shown there."""

    code: str
    level: Level
    message: str
    hint: str
    file: str
    line: int
    """Counts from 1; 0 means that no line is to blame."""
