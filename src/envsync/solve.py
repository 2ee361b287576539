"""Solving, once a platform: one canary runs `conda env create`, and its result is the lock."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from envsync.access import Access
from envsync.check import check
from envsync.errors import HostError, InputError
from envsync.events import Ended, Failed, Noted, Outcome, Phase
from envsync.generations import SOLVING, Slot
from envsync.hold import Ticket, holding
from envsync.lock import Lock, Section
from envsync.model import Host, Platform
from envsync.node import Node
from envsync.observation import Observation
from envsync.plan import refusals
from envsync.recipe import unlocked
from envsync.runner import Fleet
from envsync.solution import hashes, parse_hashes, parse_solution, solved
from envsync.spec import EnvironmentSpec
from envsync.survey import observe, probe

NOT_THE_HOSTS_FAULT = frozenset(
    {"mapped-channel", "package-missing", "conflict", "pip", "lock", "terms-of-service"}
)
"""Causes for which another canary would fail as well, so that none is tried."""


@dataclass(frozen=True)
class Solving:
    """How one canary solves."""

    timeout: float
    """Seconds for the creation."""
    access: Access = field(default_factory=Access)


@dataclass(frozen=True)
class Canaries:
    """For each platform that is not in the lock, the hosts on which it could be solved."""

    candidates: Mapping[Platform, Sequence[Host]]

    @classmethod
    def of(cls, lock: Lock, observations: Mapping[Host, Observation]) -> Canaries:
        """From what the hosts are; those without conda cannot solve, and need no lock."""
        groups: dict[Platform, list[Host]] = {}
        for host, seen in observations.items():
            if seen.conda and seen.subdir and lock.section(seen.platform) is None:
                groups.setdefault(seen.platform, []).append(host)
        return cls(groups)

    @property
    def hosts(self) -> tuple[Host, ...]:
        """Every host that has no lock yet."""
        return tuple(host for hosts in self.candidates.values() for host in hosts)


def make_lock(
    fleet: Fleet,
    hosts: Sequence[Host],
    spec: EnvironmentSpec,
    lock: Lock,
    ticket: Ticket,
    solving: Solving,
) -> Lock:
    """`lock` with a section for each platform among `hosts`; installs nothing."""
    observations = fleet.each(hosts, lambda node: observe(node, spec.name))
    for no in refusals(spec.name, observations, replace_plain=True):
        fleet.emit(Failed(no.host, Phase.OBSERVE, no.cause, no.message, no.hint))
    canaries = Canaries.of(lock, observations)
    places = {host: observations[host].envs_dir for host in canaries.hosts}
    solved: tuple[Section, ...] = ()
    if places:
        with holding(fleet, places, spec.name, ticket) as held:
            seen = {host: observations[host] for host in held.owners}
            canaries = Canaries.of(lock, seen)
            solved = solve_all(fleet, canaries, seen, spec, solving)
    both = lock.extended(solved)
    for host, seen_there in observations.items():
        if both.section(seen_there.platform):
            fleet.emit(Ended(host, Outcome.SOLVED))
    return both


def solve_all(
    fleet: Fleet,
    canaries: Canaries,
    observations: Mapping[Host, Observation],
    spec: EnvironmentSpec,
    solving: Solving,
) -> tuple[Section, ...]:
    """A section for each platform that could be solved, all at the same time.

    Where a canary fails for reasons of its own, the next host of the platform is tried.
    """
    sections: list[Section] = []
    waiting = {platform: list(hosts) for platform, hosts in canaries.candidates.items()}
    while waiting:
        chosen = {hosts.pop(0): platform for platform, hosts in waiting.items()}
        hopeless: set[Platform] = set()

        def task(node: Node) -> Section:
            try:
                return solve(node, observations[node.host], spec, solving)
            except HostError as error:
                if error.cause in NOT_THE_HOSTS_FAULT:
                    hopeless.add(chosen[node.host])  # noqa: B023 (run before the next round)
                raise

        found = fleet.each(chosen, task)
        sections += found.values()
        for host, platform in chosen.items():
            if host in found or platform in hopeless or not waiting[platform]:
                left = waiting.pop(platform)
                if host not in found:
                    _leave(fleet, left, host, platform)
    return tuple(sections)


def _leave(fleet: Fleet, hosts: Sequence[Host], canary: Host, platform: Platform) -> None:
    for host in hosts:
        fleet.emit(Noted(host, f"nothing was solved for {platform}: see {canary}"))
        fleet.emit(Ended(host, Outcome.LEFT_ALONE))


def solve(node: Node, seen: Observation, spec: EnvironmentSpec, solving: Solving) -> Section:
    """Let this node's conda solve, read the result, and throw the environment away.

    Raises HostError. The environment is on nobody's way: its place is one that no link ever
    points to.
    """
    if seen.conda is None:
        raise HostError(
            "no-conda",
            "no conda, mamba or micromamba was found",
            hint="`envsync bootstrap` installs one",
        )
    way = solving.access.way(spec)
    try:
        way.must_be_solvable()
    except InputError as error:  # a new platform; without any lock it is told before
        raise HostError("mapped-channel", str(error), hint=error.hint) from error
    recipe, loan = solving.access.lent(unlocked(spec), spec)
    slot = Slot(seen.envs_dir, spec.name, SOLVING)
    node.must(Phase.SOLVE, slot.discard())
    node.must(Phase.UPLOAD, slot.put(recipe.files))
    try:
        argv, folder = recipe.argv(seen.conda, slot), recipe.folder(slot)
        build = slot.build(argv, solving.timeout, folder, loan=loan)
        done = node.must(Phase.SOLVE, build)
        facts = probe(node, slot.prefix)
        check(spec, facts, seen.subdir, done.log)
        answer = node.run(Phase.SOLVE, solved(slot.prefix))
        solution = parse_solution(answer, facts, spec.luggage)
        pip = solution.pip
        if pip:
            lines = way.requirements(pip)
            asked = hashes(slot.prefix, lines, solving.timeout, folder, loan)
            pip = parse_hashes(node.must(Phase.SOLVE, asked), pip)
    finally:
        # Whatever went wrong is the news; what is left there goes with the next attempt.
        with contextlib.suppress(HostError):
            node.run(Phase.SOLVE, slot.discard())
    pip = tuple(sorted((*pip, *solution.archives)))
    return Section(seen.platform, str(seen.conda), solution.conda, pip, solution.direct)
