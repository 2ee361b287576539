"""What a rule is, what it finds, and the words that rules share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from envsync.spec import EnvironmentSpec

Level = Literal["error", "warning", "info"]


class Blame(NamedTuple):
    """The line to blame (0: none), what is wrong there, and what to do."""

    line: int
    message: str
    hint: str
    file: str = ""
    """The requirements file in which the line is; empty for the environment file itself."""


class Standing(Protocol):
    """Whatever stands in a line of a file."""

    @property
    def line(self) -> int: ...
    @property
    def file(self) -> str: ...


def blame(entry: Standing, message: str, hint: str) -> Blame:
    """An entry is to blame, wherever it stands."""
    return Blame(entry.line, message, hint, entry.file)


def place(entry: Standing) -> str:
    """Where another entry stands, for a message."""
    return f"{entry.file}:{entry.line}" if entry.file else f"line {entry.line}"


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
