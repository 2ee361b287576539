"""Every file of a prefix against conda's and pip's records: the command, and its answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from envsync import scripts
from envsync.ports import Command, Completed
from envsync.probes.answers import Answers
from envsync.probes.wide import load
from envsync.redact import redact

LIMIT = 1800
"""Seconds for all files: 10 GB from a slow shared file system take minutes."""

MOST = 50
"""How many names of each kind are told."""


@dataclass(frozen=True)
class Kind:
    """Files that are alike in what is wrong with them."""

    count: int
    first: tuple[tuple[str, str], ...] = ()
    """Path below the prefix, and whose it is or why; at most `MOST` of them."""


@dataclass(frozen=True)
class Files:
    """What the files of an environment are, beside what was recorded of them."""

    kinds: Mapping[str, Kind] = field(default_factory=dict)
    """Only those of which there are any; the names are those of node/deep.py."""
    files: int = 0
    """How many were hashed."""
    bytes: int = 0
    failed: str = ""
    """Why nothing is known, if so."""


def deep_probe(prefix: str, root_prefix: str) -> Command:
    """The command whose answer `parse_deep` reads."""
    given = (prefix, root_prefix, str(LIMIT), load("deep"), str(MOST))
    return Command(scripts.load("deep.sh"), given, timeout=LIMIT + 60.0)


def parse_deep(done: Completed) -> Files:
    """Read the answer. A program that failed or was too slow is a fact, not an error."""
    if done.exit_code in (124, 137):
        return Files(failed=f"the files were not read within {LIMIT} s")
    try:
        answer = json.loads(done.text)
    except ValueError:
        answer = None
    if done.exit_code or not isinstance(answer, dict):
        last = (done.log.strip().splitlines() or ["it gave no answer"])[-1]
        return Files(failed=redact(f"the comparison ended with exit code {done.exit_code}: {last}"))
    said = Answers("deep", answer)
    kinds = {name: _kind(each) for name in answer if (each := said.table(name)) is not None}
    return Files(
        {name: each for name, each in kinds.items() if each.count},
        said.number("files") or 0,
        said.number("bytes") or 0,
    )


def _kind(told: Mapping[str, Any]) -> Kind:
    said = Answers("deep", told)
    first = told.get("first")
    pairs = [each for each in first if isinstance(each, list)] if isinstance(first, list) else []
    names = tuple((str(each[0]), str(each[1])) for each in pairs if len(each) == 2)  # noqa: PLR2004
    return Kind(said.number("count") or 0, names)
