"""What one node's environment holds, package by package, as plain frozen data."""

from __future__ import annotations

from dataclasses import dataclass

from envsync.model import Package
from envsync.wide import Wide


@dataclass(frozen=True)
class Facts:
    """What one node's environment holds and what a job in it would see."""

    prefix: str
    """The real path, behind the environment's link."""
    conda: tuple[Package, ...]
    pip: tuple[Package, ...]
    runtime: tuple[tuple[str, str], ...]
    """Fact and value (`torch`, `2.5.1`), in reading order."""
    blind: bool = False
    """Python gave no answer: what it would have said of itself and of pip is not known."""
    wide: Wide | None = None
    """None: nobody asked for the wider facts, or Python gave no answer."""

    @property
    def packages(self) -> tuple[Package, ...]:
        return self.conda + self.pip
