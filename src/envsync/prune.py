"""status and prune, the verbs: what each node keeps, and what of it nobody needs any more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from envsync.census import Census, census, parse, remove
from envsync.errors import HostError
from envsync.events import Ended, Outcome, Phase
from envsync.model import Host
from envsync.observation import Observation
from envsync.runner import Fleet, Node


@dataclass(frozen=True)
class Kept:
    """One node: what is there, and which generation is current."""

    envs_dir: str
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
        kept = _count(node, name)
        node.emit(Ended(node.host, Outcome.PROBED))
        return kept

    return fleet.each(hosts, count)


def prune(
    fleet: Fleet, hosts: Sequence[Host], name: str, keep: int, *, dry_run: bool
) -> Mapping[Host, Pruned]:
    """Remove what `decide` gives free on every host; failures are events."""

    def clear(node: Node) -> Pruned:
        kept = _count(node, name)
        plan = decide(kept, keep)
        if plan.generations and not dry_run:
            done = node.must(Phase.PRUNE, remove(kept.envs_dir, name, plan.generations))
            plan = Pruned(plan.generations, freed=int(done.text) * 1024)
        node.emit(Ended(node.host, Outcome.PROBED))
        return plan

    return fleet.each(hosts, clear)


def decide(kept: Kept, keep: int) -> Pruned:
    """Which generations may go: not the current one, none in use, not the `keep` latest. Pure."""
    if any(not process.generation for process in kept.census.processes):
        return Pruned((), "a process runs by the link, and may be in any of them")
    latest = dict.fromkeys(reversed(kept.history))
    there = [each.id for each in kept.census.generations if each.built is not None]
    ordered = [each for each in latest if each in there]
    ordered += [each for each in there if each not in latest]
    return Pruned(tuple(each for each in ordered[keep:] if not kept.state(each)))


def _count(node: Node, name: str) -> Kept:
    seen: Observation = node.observe(name)
    if seen.conda is None:
        raise HostError(
            "no-environment",
            f"there is no environment {name}, since there is no conda",
            hint="`envsync push` makes it where conda is",
        )
    found = parse(node.run(Phase.COUNT, census(seen.envs_dir, name)))
    history = tuple(each.generation for each in seen.history)
    return Kept(seen.envs_dir, seen.current(name), history, found)
