"""Who gets which files from whom, wave by wave, where nodes hand on what they have. Pure.

Each node gets from one other in a wave, and gives to one: 1 node has them, then 2, 4, 8. This
machine sends in a wave what no node can give, each file once. After what went wrong in a wave,
the next one is another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from envsync.model import Host

TRIES = 2
"""Failures after which a node is not asked to give, or to get from others, any more."""


@dataclass(frozen=True)
class Transfer:
    """What one node gets in a wave."""

    receiver: Host
    giver: Host | None
    """None: this machine."""
    files: frozenset[str]


@dataclass(frozen=True)
class State:
    """How far it is. Files are named by their hash."""

    lacks: Mapping[Host, Mapping[str, int]]
    """By node, in the inventory's order: the bytes that are to come of each file."""
    holds: Mapping[Host, frozenset[str]]
    """By each node that others may reach, in the inventory's order."""
    failed: frozenset[tuple[Host, Host]] = frozenset()
    """Givers and receivers between which it did not work."""
    worked: bool = False
    """Whether a node has handed on anything yet."""

    @property
    def hopeless(self) -> bool:
        """Whether nodes do not reach each other, as far as two of them can tell."""
        return not self.worked and len({giver for giver, _ in self.failed}) >= TRIES

    def may_give(self, giver: Host, receiver: Host) -> bool:
        """Whether it makes sense to try."""
        return (
            giver != receiver
            and (giver, receiver) not in self.failed
            and sum(each == giver for each, _ in self.failed) < TRIES
            and sum(each == receiver for _, each in self.failed) < TRIES
        )


def plan_wave(state: State) -> tuple[Transfer, ...]:
    """The next wave; empty when every node has what it lacked."""
    waiting = {host: lacks for host, lacks in state.lacks.items() if lacks}
    if state.hopeless:
        return tuple(Transfer(host, None, frozenset(lacks)) for host, lacks in waiting.items())
    wave = _from_here(state, waiting)
    served = {each.receiver for each in wave}
    places = {host: number for number, host in enumerate({**state.lacks, **state.holds})}
    free = [host for host, files in state.holds.items() if files]
    for host, lacks in waiting.items():
        if host in served:
            continue
        # A neighbour in the inventory is likely to be one in the network.
        near = sorted(free, key=lambda giver: abs(places[giver] - places[host]))
        if found := _giver(state, host, lacks, near):
            wave.append(found)
            free = [each for each in free if each != found.giver]
    return tuple(wave)


def _from_here(state: State, waiting: Mapping[Host, Mapping[str, int]]) -> list[Transfer]:
    """What nobody can give to them, each file to one node."""
    wave = []
    under_way: set[str] = set()
    for host, lacks in waiting.items():
        givers = [state.holds[each] for each in state.holds if state.may_give(each, host)]
        given = frozenset[str]().union(*givers)
        files = frozenset(lacks) - given - under_way
        if files:
            wave.append(Transfer(host, None, files))
            under_way |= files
    return wave


def _giver(
    state: State, receiver: Host, lacks: Mapping[str, int], free: Sequence[Host]
) -> Transfer | None:
    """The one that has most of what the node lacks; the first that has all."""
    best: Transfer | None = None
    most = -1
    for giver in free:
        files = state.holds[giver].intersection(lacks)
        size = sum(lacks[each] for each in files)
        if files and size > most and state.may_give(giver, receiver):
            best, most = Transfer(receiver, giver, files), size
        if best and len(best.files) == len(lacks):
            break
    return best
