"""An all-reduce over the nodes: who takes part, where they meet, and all ranks at once."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from envsync.errors import HostError
from envsync.events import Phase
from envsync.model import Host
from envsync.node import Node
from envsync.probes.collective import (
    Meeting,
    Muster,
    Rank,
    muster,
    parse_muster,
    parse_rank,
    take_part,
)
from envsync.runner import Fleet
from envsync.wide import System, Wide

_STRAGGLING = 15.0
"""Seconds that a rank gets to say something after another one has waited for it in vain."""


@dataclass(frozen=True)
class Request:
    """What was asked for. `wait` is the seconds that each step may take."""

    backend: str
    interface: str = ""
    """Empty: what torch chooses by itself."""
    port: int = 29500
    wait: int = 60


@dataclass(frozen=True)
class Gathering:
    """How the all-reduce went."""

    meeting: Meeting
    ranks: Mapping[Host, Rank] = field(default_factory=dict)
    """In the order of the ranks."""
    absent: Mapping[Host, str] = field(default_factory=dict)
    """Nodes that took no part, and why."""

    @property
    def unheard(self) -> tuple[Host, ...]:
        """Nodes whose rank gave no answer: it was lost, or ended after others had missed it."""
        return tuple(
            host for host, each in self.ranks.items() if not (each.stage or each.ok or each.failed)
        )


def gather(
    fleet: Fleet, prefixes: Mapping[Host, str], known: Mapping[Host, Wide | None], request: Request
) -> Gathering:
    """Let every node in `prefixes` that can be one rank of an all-reduce; failures are events.

    Ranks follow the order of the hosts; rank 0 keeps the rendezvous.
    """
    absent = {host: no for host in prefixes if (no := _unable(known[host], request.backend))}
    hosts = [host for host in prefixes if host not in absent]
    first = hosts[0] if hosts else None

    def look(node: Node) -> Muster:
        port = request.port if node.host == first else 0
        return parse_muster(node.run(Phase.MEET, muster(prefixes[node.host], port)))

    mustered = fleet.each(hosts, look)
    for host, found in mustered.items():
        if no := _unfit(found, request, opens=host == first):
            absent[host] = no
    hosts = [host for host in hosts if host in mustered]
    meeting = Meeting(
        request.backend,
        _address(hosts, mustered, known, request.interface),
        request.port,
        request.interface,
        request.wait,
    )
    if first not in mustered or first in absent:
        # Without rank 0 nobody can meet anywhere; what is wrong with it is said.
        return Gathering(meeting, {}, absent)
    ready = [host for host in hosts if host not in absent]
    return Gathering(meeting, _all_ranks(fleet, ready, prefixes, meeting), absent)


def _unable(wide: Wide | None, backend: str) -> str:
    """Why a node cannot take part, from what is known of its torch; empty if it can."""
    torch = wide.torch if wide else None
    if torch is None or torch.version is None:
        return "it has no torch that works"
    if torch.backends is not None and backend not in torch.backends:
        has = ", ".join(torch.backends) or "none"
        return f"its torch {torch.version} was built without {backend} (it has: {has})"
    if backend == "nccl" and torch.available is False:
        return "nccl needs a GPU, and torch sees none"
    return ""


def _unfit(found: Muster, request: Request, *, opens: bool) -> str:
    """What it lacks for this meeting; empty if nothing."""
    name = request.interface
    if name and found.interfaces and name not in found.interfaces:
        return f"it has no network interface {name}, but {', '.join(found.interfaces)}"
    if name and opens and found.interfaces and not found.interfaces[name]:
        return f"its interface {name} has no IPv4 address"
    if found.port:
        return f"port {request.port} cannot be opened on it: {found.port}"
    return ""


def _address(
    hosts: Sequence[Host],
    mustered: Mapping[Host, Muster],
    known: Mapping[Host, Wide | None],
    interface: str,
) -> str:
    """Where the others reach rank 0: at the interface, or where we reach it, or by its name."""
    if not hosts:
        return ""
    if interface:
        return mustered[hosts[0]].interfaces.get(interface, "")
    systems = {host: wide.system if (wide := known[host]) else System() for host in hosts}
    ours = systems[hosts[0]].reached_at or ""
    others = (systems[host].reached_at or "" for host in hosts[1:])
    # From the machine that asks a node may be at a loopback address, where the others are not.
    if ours and not (_loopback(ours) and any(each and not _loopback(each) for each in others)):
        return ours
    return systems[hosts[0]].hostname or hosts[0].target


def _loopback(address: str) -> bool:
    return address.startswith("127.") or address == "::1"


def _all_ranks(
    fleet: Fleet, hosts: Sequence[Host], prefixes: Mapping[Host, str], meeting: Meeting
) -> dict[Host, Rank]:
    stragglers = _Stragglers(fleet, hosts)

    def task(node: Node) -> Rank:
        rank = hosts.index(node.host)
        command = take_part(prefixes[node.host], meeting, rank, len(hosts))
        try:
            found = parse_rank(node.run(Phase.MEET, command), rank, meeting.limit)
        except HostError:
            # That it did not come to the others is said of it; no word of ours about its end.
            if stragglers.ended(node.host):
                return Rank(rank)
            raise
        stragglers.done(node.host, found)
        return found

    answers = fleet.each(hosts, task, together=True)
    stragglers.close()
    return {host: answers.get(host, Rank(rank)) for rank, host in enumerate(hosts)}


class _Stragglers:
    """Ends the ranks that others have waited for in vain, instead of waiting for their limit."""

    def __init__(self, fleet: Fleet, hosts: Sequence[Host]) -> None:
        self._fleet = fleet
        self._hosts = hosts
        self._lock = threading.Lock()
        self._at_work = set(hosts)
        self._ended: set[Host] = set()
        self._timers: list[threading.Timer] = []

    def done(self, host: Host, rank: Rank) -> None:
        """The rank on `host` has said its end; those that it missed have some seconds left."""
        with self._lock:
            self._at_work.discard(host)
            late = {self._hosts[each] for each in rank.missing} & self._at_work
            if late:
                timer = threading.Timer(_STRAGGLING, self._end, (late,))
                timer.daemon = True
                timer.start()
                self._timers.append(timer)

    def ended(self, host: Host) -> bool:
        with self._lock:
            return host in self._ended

    def _end(self, late: set[Host]) -> None:
        with self._lock:
            late &= self._at_work - self._ended
            self._ended |= late
        for host in late:
            # Its end of the connection is what keeps a rank alive.
            self._fleet.forget(host)

    def close(self) -> None:
        with self._lock:
            for timer in self._timers:
                timer.cancel()
