"""rollback, the verb: make an earlier generation current again, on all nodes or on none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from envsync.events import Ended, EventSink, Failed, Outcome, Phase
from envsync.generations import Slot, contents
from envsync.model import Host
from envsync.observation import Observation
from envsync.plan import Refusal
from envsync.runner import Fleet, Node


@dataclass(frozen=True)
class Return:
    """One host's way back."""

    host: Host
    slot: Slot
    expected: str
    """Where the link points now."""


@dataclass(frozen=True)
class RolledBack:
    """What a rollback did; `generation` is empty when no node was switched."""

    generation: str
    raw: bytes
    """The environment file that the generation was built from."""


def decide(host: Host, seen: Observation, name: str, wanted: str | None) -> Return | Refusal:
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
        fitting = [each for each in reversed(seen.sealed) if contents(each) == wanted]
    if not fitting:
        return Refusal(
            host,
            "no-generation",
            f"generation {wanted} is not there" if wanted else "there is no earlier generation",
            f"it has {', '.join(seen.sealed) or 'none that is whole'};"
            " push the file that you want back",
        )
    return Return(host, Slot(seen.envs_dir, name, fitting[0]), seen.link or "")


def rollback(
    fleet: Fleet,
    hosts: Sequence[Host],
    name: str,
    wanted: str | None,
    operator: str,
    emit: EventSink,
) -> RolledBack:
    """Switch every host back, or none: all must be reached and have the same generation."""
    seen = fleet.each(hosts, lambda node: node.observe(name))
    decisions = [decide(host, each, name, wanted) for host, each in seen.items()]
    ways = {each.host: each for each in decisions if isinstance(each, Return)}
    for no in decisions:
        if isinstance(no, Refusal):
            emit(Failed(no.host, Phase.OBSERVE, no.cause, no.message, no.hint))
    targets = {contents(way.slot.generation) for way in ways.values()}
    if len(targets) > 1:
        for way in ways.values():
            emit(_different(way))
    elif len(ways) < len(hosts):
        for host in ways:
            emit(Ended(host, Outcome.LEFT_ALONE))
    elif ways:
        return _switch_all(fleet, ways, operator)
    return RolledBack("", b"")


def _different(way: Return) -> Failed:
    return Failed(
        way.host,
        Phase.OBSERVE,
        "different-generations",
        f"it would go back to {way.slot.generation}, and others to another generation",
        "say which one with --to",
    )


def _switch_all(fleet: Fleet, ways: Mapping[Host, Return], operator: str) -> RolledBack:
    def read(node: Node) -> bytes:
        return node.must(Phase.OBSERVE, ways[node.host].slot.read()).stdout

    def back(node: Node) -> None:
        way = ways[node.host]
        node.must(Phase.SWITCH, way.slot.switch(way.expected, operator))
        node.emit(Ended(node.host, Outcome.SWITCHED))

    # The file first: without it `verify` would not know what the nodes should hold.
    first = next(iter(ways))
    raw = fleet.each([first], read)
    if not raw:
        return RolledBack("", b"")
    fleet.each(ways, back)
    return RolledBack(contents(ways[first].slot.generation), raw[first])
