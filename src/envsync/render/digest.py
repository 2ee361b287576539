"""What a report says of each node, read from the JSON that verify prints. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from envsync.compare import ABSENT
from envsync.hostnames import fold_names
from envsync.judge import UNFIT, UNLIKE
from envsync.model import UNKNOWN
from envsync.ranks import as_text
from envsync.rules import Level

STATES = ("failed", "drifted", "unfit", "warned", "in sync")
"""What a node can be, the worst first."""

FACTS = ("python", "torch", "built for", "cuda available")


_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def legible(text: str) -> str:
    """With `?` for what XML 1.0 has no way to write (section 2.2), escaped or not."""
    return _NO_XML.sub("?", text)


@dataclass(frozen=True)
class Line:
    """One node."""

    host: str
    state: str
    """One of STATES."""
    facts: tuple[str, ...]
    """The values of FACTS, and the number of packages; all empty where it failed."""
    failure: Mapping[str, Any] | None
    findings: tuple[Mapping[str, Any], ...]
    """Errors first, then warnings; what is just worth knowing is left out."""


@dataclass(frozen=True)
class Difference:
    """One thing that is not alike on all nodes."""

    group: str
    name: str
    matters: bool
    values: Mapping[str, str]
    """By host."""

    @property
    def majority(self) -> str:
        """The commonest value, the first of equally common ones."""
        counts = Counter(value for value in self.values.values() if value != UNKNOWN)
        return max(counts, key=lambda value: counts[value], default=UNKNOWN)

    @property
    def shares(self) -> tuple[tuple[str, str], ...]:
        """Each value with the nodes that have it, folded; the commonest first."""
        by_value: dict[str, list[str]] = {}
        for host, value in self.values.items():
            by_value.setdefault(value, []).append(host)
        ordered = sorted(by_value.items(), key=lambda item: -len(item[1]))
        return tuple((value, fold_names(hosts)) for value, hosts in ordered)


@dataclass(frozen=True)
class Digest:
    """One run of verify."""

    name: str
    at: str
    envsync: str
    fail_on: str
    generations: tuple[str, ...]
    lines: tuple[Line, ...]
    differences: tuple[Difference, ...]
    """What matters first; otherwise in the order of the JSON."""
    passed: bool
    checks: tuple[str, ...] = ()
    """What a computation and an all-reduce came to, a sentence each."""
    measures: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)
    """By host: its rank, and latency and bandwidth of its link to its neighbours."""

    @property
    def counts(self) -> Mapping[str, int]:
        """How many nodes are in each state that any is in, the worst first."""
        found = Counter(line.state for line in self.lines)
        return {state: found[state] for state in STATES if found[state]}

    @property
    def headline(self) -> str:
        """The whole result in one line."""
        parts = ", ".join(f"{count} {state}" for state, count in self.counts.items())
        return f"{self.name}: {parts or 'no nodes'}"


def digest(record: Mapping[str, Any]) -> Digest:
    """From the envelope of verify, as `--json` prints it."""
    result = record["result"]
    by_host: dict[str, list[Mapping[str, Any]]] = {}
    for each in (*result["findings"], *result["remarks"]):
        if each["level"] != Level.INFO:
            by_host.setdefault(each["host"], []).append(each)
    differences = [
        Difference(row["group"], row["name"], row["matters"], row["values"])
        for row in result["differences"]
    ]
    return Digest(
        result["name"],
        result["at"],
        record["envsync"],
        result["fail_on"],
        tuple(result["generations"]),
        tuple(_line(each, by_host.get(each["host"], ())) for each in result["hosts"]),
        tuple(sorted(differences, key=lambda row: not row.matters)),
        record["exit_code"] == 0,
        tuple(result.get("checks") or ()),
        _measures(result.get("collective")),
    )


def _measures(collective: Mapping[str, Any] | None) -> Mapping[str, tuple[str, str, str]]:
    ranks: Mapping[str, Mapping[str, Any]] = (collective or {}).get("ranks", {})
    return {
        host: as_text(each["rank"], each["link_latency"], each["link_bandwidth"])
        for host, each in ranks.items()
    }


def _line(host: Mapping[str, Any], found: Sequence[Mapping[str, Any]]) -> Line:
    ordered = tuple(sorted(found, key=lambda each: each["level"] != Level.ERROR))
    return Line(
        host["host"], _state(host, ordered), _facts(host["facts"]), host["failure"], ordered
    )


def _state(host: Mapping[str, Any], found: Sequence[Mapping[str, Any]]) -> str:
    if host["failure"]:
        return "failed"
    errors = [each["cause"] for each in found if each["level"] == Level.ERROR]
    if any(cause not in {UNLIKE, UNFIT} for cause in errors):
        return "drifted"
    if errors:
        return "unfit"
    return "warned" if found else "in sync"


def _facts(facts: Mapping[str, Any] | None) -> tuple[str, ...]:
    if facts is None:
        return ("",) * (len(FACTS) + 1)
    runtime: dict[str, str] = dict(facts["runtime"])
    packages = f"{len(facts['conda'])} conda, {len(facts['pip'])} pip"
    return (*(runtime.get(name, ABSENT) for name in FACTS), packages)
