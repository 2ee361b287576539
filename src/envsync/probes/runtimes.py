"""What node/runtimes.py says, as data."""

from __future__ import annotations

from envsync.probes.answers import Answers
from envsync.wide import Runtimes


def parse_runtimes(said: Answers) -> Runtimes:
    """Which files of one kind are loaded, and which lie in the environment."""
    return Runtimes(_by_kind(said, "loaded"), _by_kind(said, "copies"))


def _by_kind(said: Answers, name: str) -> tuple[tuple[str, tuple[str, ...]], ...] | None:
    found = said.table(name)
    if found is None:
        return None
    return tuple(
        (kind, tuple(map(str, files))) for kind, files in found.items() if isinstance(files, list)
    )
