"""An all-reduce over the nodes: the commands for each of them, and their answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from envsync.ports import Command, Completed
from envsync.probes.answers import Answers
from envsync.probes.job import job, said, why_ended
from envsync.redact import redact

BACKENDS = ("gloo", "nccl")
STAGES = ("started", "imported", "reached", "arrived", "formed", "reduced", "measured")
"""How far a rank can get, in order; those of node/collective.py."""

MUSTER_LIMIT = 30
_IMPORT = 60
"""Seconds for Python and torch to start, from a slow shared file system."""


@dataclass(frozen=True)
class Muster:
    """What a node has of what the rendezvous needs."""

    interfaces: Mapping[str, str] = field(default_factory=dict)
    """Name to IPv4 address, which may be empty."""
    port: str = ""
    """Why the port cannot be opened there, if so."""


@dataclass(frozen=True)
class Rank:
    """How one rank fared. Times are seconds, bandwidths bytes a second."""

    rank: int
    stage: str = ""
    """The last one it reached; empty: it did not even start."""
    ok: bool = False
    failed: str = ""
    """What went wrong on it, if it could say so."""
    missing: tuple[int, ...] = ()
    """The ranks that it waited for in vain."""
    latency: float | None = None
    """Of the all-reduce of one number."""
    bandwidth: float | None = None
    """Bus bandwidth of the all-reduce of many (2 (n - 1) / n times size by time)."""
    link_latency: float | None = None
    """One way to a neighbour in the ring, the better one of two; so the next."""
    link_bandwidth: float | None = None

    def before(self, stage: str) -> bool:
        """Whether it did not come as far as `stage`."""
        return self.stage not in STAGES or STAGES.index(self.stage) < STAGES.index(stage)


@dataclass(frozen=True)
class Meeting:
    """Where and how the ranks meet; `wait` is the seconds that each step may take."""

    backend: str
    address: str
    port: int
    interface: str
    wait: int

    @property
    def limit(self) -> int:
        """Seconds for a rank: to start, to meet, to connect to the others, and to reduce."""
        return _IMPORT + 3 * self.wait


def muster(prefix: str, port: int) -> Command:
    """The command whose answer `parse_muster` reads; `port` is 0 where none is to be opened."""
    return job(prefix, "collective", MUSTER_LIMIT, f"answer_each(muster_facts({port:d}))\n")


def parse_muster(done: Completed) -> Muster:
    """Read the answer; what is not known hinders nobody, since the ranks will say it."""
    facts = Answers("collective", said(done))
    interfaces = facts.table("interfaces") or {}
    return Muster(
        {name: str(address) for name, address in interfaces.items()}, facts.text("port") or ""
    )


def take_part(prefix: str, meeting: Meeting, rank: int, world: int) -> Command:
    """Run one rank; it ends with its connection, or with the limit."""
    call = "import sys\nr, n, b, a, p, i, w = sys.argv[1:]\n"
    call += "take_part(int(r), int(n), b, a, int(p), i, int(w))\n"
    given = (meeting.backend, meeting.address, str(meeting.port), meeting.interface)
    words = (str(rank), str(world), *given, str(meeting.wait))
    return job(prefix, "collective", meeting.limit, call, *words)


def parse_rank(done: Completed, rank: int, limit: int) -> Rank:
    """Read the answer. A rank that failed, crashed or was too slow is a fact, not an error."""
    facts = said(done)
    told = Answers("collective", facts)
    return Rank(
        rank,
        told.text("stage") or "",
        ok=told.flag("ok") or False,
        failed=redact(told.text("failed") or "") or why_ended(done, limit),
        missing=_numbers(facts.get("missing")),
        latency=_measure(facts.get("latency")),
        bandwidth=_measure(facts.get("bandwidth")),
        link_latency=_measure(facts.get("link_latency")),
        link_bandwidth=_measure(facts.get("link_bandwidth")),
    )


def _numbers(value: object) -> tuple[int, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(each for each in value if isinstance(each, int))


def _measure(value: Any) -> float | None:
    return value if isinstance(value, float) and value > 0 else None
