"""status and prune, the verbs: what each node keeps, and what of it nobody needs any more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from envsync.census import Census, census, clean, parse, remove
from envsync.errors import HostError
from envsync.events import Ended, Outcome, Phase
from envsync.flavours import Conda
from envsync.hold import Held, Ticket, holding
from envsync.model import Host
from envsync.node import Node
from envsync.observation import Observation
from envsync.runner import Fleet
from envsync.survey import observe


@dataclass(frozen=True)
class Kept:
    """One node: what is there, and which generation is current."""

    envs_dir: str
    conda: Conda
    current: str | None
    history: tuple[str, ...]
    """Generations in the order in which they became current; the last time counts."""
    census: Census

    def state(self, generation: str) -> str:
        """What a table says of a generation."""
        if generation == self.current:
            return "current"
        return "in use" if any(p.generation == generation for p in self.census.processes) else ""


@dataclass(frozen=True)
class Pruned:
    """What was, or would be, removed from one node. `freed` is bytes."""

    generations: tuple[str, ...]
    kept_for: str = ""
    """Why nothing may go, if so."""
    freed: int = 0


def status(fleet: Fleet, hosts: Sequence[Host], name: str) -> Mapping[Host, Kept]:
    """Count on every host; failures are events."""

    def count(node: Node) -> Kept:
        kept = _count(node, _observe(node, name), name)
        node.emit(Ended(node.host, Outcome.PROBED))
        return kept

    return fleet.each(hosts, count, last=True)


def prune(
    fleet: Fleet,
    hosts: Sequence[Host],
    name: str,
    keep: int,
    ticket: Ticket,
    *,
    dry_run: bool = False,
    clean_cache: bool = False,
) -> Mapping[Host, Pruned]:
    """Remove what `decide` gives free on every host; failures are events.

    While the environments are held, so that nobody switches to what is being removed, and so
    that hosts with one file system are known: who runs on any of them counts for all.
    """
    seen = fleet.each(hosts, lambda node: _observe(node, name))
    places = {host: each.envs_dir for host, (each, _) in seen.items()}
    with holding(fleet, places, name, ticket) as held:
        kept = fleet.each(held.hosts, lambda node: _count(node, seen[node.host], name))
        plans = {
            host: decide(_together(host, kept, held), keep)
            if host in held.owners
            else Pruned((), f"its file system is that of {held.shares[host]}")
            for host in kept
        }

        def clear(node: Node) -> Pruned:
            plan, place = plans[node.host], kept[node.host]
            if dry_run or node.host not in held.owners:
                return plan
            freed = 0
            if plan.generations:
                done = node.must(Phase.PRUNE, remove(place.envs_dir, name, plan.generations))
                freed += int(done.text) * 1024
            if clean_cache:
                done = node.must(Phase.PRUNE, clean(place.envs_dir, place.conda.clean()))
                freed += int(done.text) * 1024
            return replace(plan, freed=freed)

        done = fleet.each(plans, clear)
    for host in done:
        fleet.emit(Ended(host, Outcome.PROBED))
    return done


def _together(host: Host, kept: Mapping[Host, Kept], held: Held) -> Kept:
    """What a host keeps, with the processes of all that share its file system."""
    group = [other for other in kept if held.shares.get(other, other) == host]
    processes = tuple(each for other in group for each in kept[other].census.processes)
    return replace(kept[host], census=replace(kept[host].census, processes=processes))


def decide(kept: Kept, keep: int) -> Pruned:
    """Which generations may go: not the current one, none in use, not the `keep` latest. Pure."""
    if any(not process.generation for process in kept.census.processes):
        return Pruned((), "a process runs by the link, and may be in any of them")
    latest = dict.fromkeys(reversed(kept.history))
    # Nobody is building, since the environment is held: what is not whole never will be.
    half = [each.id for each in kept.census.generations if each.built is None]
    there = [each.id for each in kept.census.generations if each.built is not None]
    ordered = [each for each in latest if each in there]
    ordered += [each for each in there if each not in latest]
    return Pruned(tuple(each for each in ordered[keep:] + half if not kept.state(each)))


def _observe(node: Node, name: str) -> tuple[Observation, Conda]:
    seen = observe(node, name)
    if seen.conda is None:
        raise HostError(
            "no-environment",
            f"there is no environment {name}, since there is no conda",
            hint="`envsync bootstrap` installs one, and `envsync push` makes the environment",
        )
    return seen, seen.conda


def _count(node: Node, observed: tuple[Observation, Conda], name: str) -> Kept:
    seen, conda = observed
    found = parse(node.run(Phase.COUNT, census(seen.envs_dir, name)))
    history = tuple(each.generation for each in seen.history)
    return Kept(seen.envs_dir, conda, seen.current(name), history, found)
