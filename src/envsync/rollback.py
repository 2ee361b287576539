"""rollback, the verb: make an earlier generation current again, on all nodes or on none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from envsync.commit import Decision, Flip, Write, busy, commit
from envsync.events import Ended, Failed, Outcome, Phase
from envsync.generations import Slot, contents
from envsync.hold import Ticket, holding
from envsync.model import Host
from envsync.node import Node
from envsync.observation import Observation
from envsync.plan import Refusal
from envsync.runner import Fleet
from envsync.survey import observe


@dataclass(frozen=True)
class Origin:
    """What a generation was made from, as its node keeps it."""

    environment: bytes
    lock: bytes
    """Empty when it was not made from a lock."""


@dataclass(frozen=True)
class RolledBack:
    """What a rollback did: the generations that are current now, and what they were made from.

    Empty when no node was switched. Nodes of several platforms have several generations.
    """

    origins: Mapping[str, Origin]
    switched: frozenset[Host] = frozenset()


def decide(host: Host, seen: Observation, name: str, wanted: str | None) -> Flip | Refusal:
    """Where this host goes back to: `wanted`, or the whole generation it had before. Pure."""
    current = seen.current(name)
    if current is None:
        return Refusal(
            host,
            "no-environment",
            f"{name} is not an environment of envsync's there",
            "`envsync push` makes it",
        )
    if wanted is None:
        earlier = [each.generation for each in seen.history if each.generation != current]
        fitting = [each for each in reversed(earlier) if each in seen.sealed]
    else:
        fitting = [each for each in reversed(seen.sealed) if wanted in (each, contents(each))]
    if not fitting:
        return Refusal(
            host,
            "no-generation",
            f"generation {wanted} is not there" if wanted else "there is no earlier generation",
            f"it has {', '.join(seen.sealed) or 'none that is whole'};"
            " push the file that you want back",
        )
    return Flip(host, Slot(seen.envs_dir, name, fitting[0]), seen.link or "")


def astray(flips: Sequence[Flip]) -> tuple[Flip, ...]:
    """Those that are alike now and would not be any more: all of each such group. Pure."""
    targets: dict[str, set[str]] = {}
    for flip in flips:
        targets.setdefault(_now(flip), set()).add(contents(flip.slot.generation))
    return tuple(flip for flip in flips if len(targets[_now(flip)]) > 1)


def _now(flip: Flip) -> str:
    return contents(flip.expected.rpartition("/")[2])


def rollback(
    fleet: Fleet,
    hosts: Sequence[Host],
    name: str,
    wanted: str | None,
    ticket: Ticket,
    write: Write,
    *,
    force: bool = False,
) -> RolledBack:
    """Switch every host back, or none: all must be reached, and alike afterwards if they are."""
    seen = fleet.each(hosts, lambda node: observe(node, name))
    decisions = [decide(host, each, name, wanted) for host, each in seen.items()]
    flips = tuple(each for each in decisions if isinstance(each, Flip))
    for no in decisions:
        if isinstance(no, Refusal):
            fleet.emit(Failed(no.host, Phase.OBSERVE, no.cause, no.message, no.hint))
    odd = astray(flips)
    for flip in odd:
        fleet.emit(_different(flip))
    places = {flip.host: flip.slot.envs_dir for flip in flips}
    if len(flips) == len(hosts) and not odd:
        with holding(fleet, places, name, ticket) as held:
            ready = len(held.hosts) == len(hosts) and (force or not busy(fleet, flips))
            # Without its file `verify` would not know what a node should hold.
            if ready and (origins := _origins(fleet, flips)):
                decision = Decision(name, ticket.operator, flips)
                return RolledBack(origins, commit(fleet, decision, held.shares, write))
    for host in places:
        fleet.emit(Ended(host, Outcome.LEFT_ALONE))
    return RolledBack({})


def _different(flip: Flip) -> Failed:
    return Failed(
        flip.host,
        Phase.OBSERVE,
        "different-generations",
        f"it would go back to {flip.slot.generation}, and others to another generation",
        "say which one with --to",
    )


def _origins(fleet: Fleet, flips: Sequence[Flip]) -> Mapping[str, Origin]:
    """What `verify` needs afterwards to know what the nodes should hold; all of it, or nothing."""
    slots = {flip.host: flip.slot for flip in flips}
    first = {contents(slot.generation): host for host, slot in reversed(slots.items())}

    def read(node: Node) -> Origin:
        slot = slots[node.host]
        return Origin(
            node.must(Phase.OBSERVE, slot.read("yml")).stdout,
            node.must(Phase.OBSERVE, slot.read("lock")).stdout,
        )

    found = fleet.each(first.values(), read)
    if len(found) < len(first):
        return {}
    return {generation: found[host] for generation, host in first.items()}
