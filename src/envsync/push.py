"""push, the verb: observe, lock, prepare the new generation everywhere, then all switch or none."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from envsync.access import Access
from envsync.commit import Decision, Flip, Write, busy, commit
from envsync.deliver import Supplies, gather, refuse_unsolved, say_deliveries
from envsync.errors import HostError
from envsync.events import Ended, Failed, Noted, Outcome, Phase
from envsync.facts import Facts
from envsync.hold import Held, Ticket, holding, tidy
from envsync.lock import Lock
from envsync.model import Host
from envsync.node import Node
from envsync.observation import Observation
from envsync.parcels import Source
from envsync.plan import Action, Plan, Standing, Step, make_plan, notes, refusals, standing
from envsync.prepare import Builders, leave_alone, prepare_all
from envsync.recipe import Recipe, locked, unlocked
from envsync.room import ask_cache, parse_cached
from envsync.runner import Fleet
from envsync.solve import Canaries, Solving, solve_all
from envsync.spec import EnvironmentSpec
from envsync.survey import observe


@dataclass(frozen=True)
class PushOptions:
    """`timeout` is seconds for one host's build."""

    ticket: Ticket
    timeout: float = 3600.0
    dry_run: bool = False
    rebuild: bool = False
    """Build anew even where the generation is there and looks whole."""
    best_effort: bool = False
    """Switch the hosts that are ready, although others are not."""
    canary: int = 0
    """Prepare so many hosts first, and the others only if that went well; 0: all at once."""
    force: bool = False
    """Switch although processes run through the environment's link."""
    replace: bool = False
    """Rename an environment aside that envsync did not make."""
    only_drifted: bool = False
    """Leave hosts alone that never had the environment, and do not even hold those in sync."""
    source: Source | None = None
    """Where files come from that are sent to the hosts; None: they fetch them themselves."""
    relay: bool = False
    """The hosts hand on to others what was sent to them."""
    access: Access = field(default_factory=Access)
    """How they do that."""


@dataclass(frozen=True)
class Keep:
    """Where a push puts what must survive it."""

    lock: Callable[[Lock], None]
    decision: Write


@dataclass(frozen=True)
class Pushed:
    """What a push did: the plan, and which hosts switched or were there already."""

    plan: Plan
    facts: Mapping[Host, Facts]
    """Of the hosts that were prepared; empty when nothing had to be changed."""
    switched: frozenset[Host] = frozenset()
    lock: Lock | None = None

    @property
    def generations(self) -> tuple[str, ...]:
        """What the hosts hold or were to hold: one for each platform."""
        return tuple(sorted({step.recipe.generation for step in self.plan.steps}))


@dataclass(frozen=True)
class _Job:
    """What stays the same during one push."""

    fleet: Fleet
    spec: EnvironmentSpec
    options: PushOptions
    keep: Keep
    hosts: Sequence[Host]
    observations: Mapping[Host, Observation]
    supplies: Supplies | None = None
    """What is sent; None: the hosts fetch everything themselves."""


def push(
    fleet: Fleet,
    hosts: Sequence[Host],
    spec: EnvironmentSpec,
    lock: Lock | None,
    options: PushOptions,
    keep: Keep,
) -> Pushed:
    """Bring every host to what `lock` says, solving what it lacks; failures are events.

    Without a lock (None) each node solves for itself.
    """
    observations: Mapping[Host, Observation]
    observations = fleet.each(hosts, lambda node: observe(node, spec.name))
    for host, seen in observations.items():
        for message in notes(seen, spec.name):
            fleet.emit(Noted(host, message))
    if options.only_drifted:
        hosts, observations = _drifted(fleet, hosts, observations, spec, lock)
    job = _Job(fleet, spec, options, keep, hosts, observations)
    canaries = Canaries.of(lock, _able(job, observations)) if lock else Canaries({})
    plan = _plan(job, lock)
    if options.source:
        refuse_unsolved(fleet, canaries)
        canaries = Canaries({})
        job = replace(job, supplies=gather(fleet, plan, spec, options.source))
    if options.dry_run:
        plan = _close_plan(job, lock)
        _say_intentions(job, plan, canaries)
        return Pushed(plan, {}, lock=lock)
    if not plan.changes and not canaries.hosts:
        _refuse(job, plan)
        left = {host: seen.envs_dir for host, seen in observations.items() if seen.taken}
        tidy(fleet, left, spec.name, options.ticket)
        for step in plan.steps:
            fleet.emit(Ended(step.host, Outcome.IN_SYNC))
        return Pushed(plan, {}, lock=lock)
    places = {host: seen.envs_dir for host, seen in observations.items() if seen.envs_dir}
    with holding(fleet, places, spec.name, options.ticket) as held:
        if len(held.hosts) < len(places) and not options.best_effort:
            leave_alone(fleet, held.hosts)
            return Pushed(plan, {}, lock=lock)
        return _push_held(job, lock, canaries, held)


def _drifted(
    fleet: Fleet,
    hosts: Sequence[Host],
    observations: Mapping[Host, Observation],
    spec: EnvironmentSpec,
    lock: Lock | None,
) -> tuple[Sequence[Host], Mapping[Host, Observation]]:
    """Those to bring back; of the others their end is said.

    A host that was not reached stays among them: it may have drifted, so it has a vote.
    """
    wanted = recipes(spec, lock, observations)
    ends = {Standing.IN_SYNC: Outcome.IN_SYNC, Standing.NEVER: Outcome.NEVER_INSTALLED}
    out = set()
    for host, seen in observations.items():
        if end := ends.get(standing(seen, spec.name, wanted.get(host))):
            fleet.emit(Ended(host, end))
            out.add(host)
    left = {host: seen for host, seen in observations.items() if host not in out}
    return [host for host in hosts if host not in out], left


def _push_held(job: _Job, lock: Lock | None, canaries: Canaries, held: Held) -> Pushed:
    """The push proper, while nobody else is at work on these hosts."""
    if lock and canaries.hosts:
        observations = _able(job, {host: job.observations[host] for host in held.owners})
        canaries = Canaries.of(lock, observations)
        solving = Solving(job.options.timeout, job.options.access)
        lock = lock.extended(solve_all(job.fleet, canaries, observations, job.spec, solving))
        if lock.sections:
            job.keep.lock(lock)
    plan = _close_plan(job, lock, held)
    _refuse(job, plan)
    planned = {step.host for step in plan.steps}
    leave_alone(job.fleet, [host for host in held.hosts if host not in planned])
    options = job.options
    builders = Builders(
        job.spec, options.timeout, options.canary, job.supplies, options.relay, options.access
    )
    prepared = prepare_all(job.fleet, plan, job.observations, held, builders)
    switched = _switch_all(job, plan, held, prepared)
    return Pushed(plan, prepared, switched, lock)


def _close_plan(job: _Job, lock: Lock | None, held: Held | None = None) -> Plan:
    """The plan, for which hosts where room may be short were asked what their caches hold.

    Only those that have to build are asked: the answer takes a start of conda.
    """
    plan = _plan(job, lock, held)
    short = {
        step.host: (step.conda, step.recipe.locked)
        for step in plan.changes
        if step.remark and step.recipe.locked
    }
    if not short:
        return plan

    def ask(node: Node) -> frozenset[str] | None:
        with contextlib.suppress(HostError):  # whoever is gone now will be missed soon enough
            return parse_cached(node.run(Phase.OBSERVE, ask_cache(*short[node.host])))
        return None

    found = job.fleet.each(short, ask)
    seen = {host: replace(job.observations[host], cached=each) for host, each in found.items()}
    return _plan(replace(job, observations={**job.observations, **seen}), lock, held)


def _able(job: _Job, observations: Mapping[Host, Observation]) -> Mapping[Host, Observation]:
    """Those on which something can be done."""
    no = refusals(job.spec.name, observations, replace_plain=job.options.replace)
    refused = {each.host for each in no}
    return {host: seen for host, seen in observations.items() if host not in refused}


def _plan(job: _Job, lock: Lock | None, held: Held | None = None) -> Plan:
    """What to do on every host, or on those that are held and those on which nothing can be."""
    seen = job.observations
    if held:
        seen = {h: each for h, each in seen.items() if h in held.owners or not each.envs_dir}
    plan = make_plan(
        job.spec.name,
        recipes(job.spec, lock, seen),
        seen,
        rebuild=job.options.rebuild,
        replace_plain=job.options.replace,
    )
    return plan.shared(held.shares) if held else plan


def recipes(
    spec: EnvironmentSpec, lock: Lock | None, observations: Mapping[Host, Observation]
) -> Mapping[Host, Recipe]:
    """What each host is to hold; a host is left out when the lock does not know its platform."""
    if lock is None:
        return dict.fromkeys(observations, unlocked(spec))
    made = {section.platform: locked(spec, section) for section in lock.sections}
    found = {host: lock.section(seen.platform) for host, seen in observations.items()}
    return {host: made[section.platform] for host, section in found.items() if section}


def _say_intentions(job: _Job, plan: Plan, canaries: Canaries) -> None:
    _refuse(job, plan)
    if job.supplies is not None:
        say_deliveries(job.fleet, plan, job.supplies, relay=job.options.relay)
    for step in plan.steps:
        job.fleet.emit(Ended(step.host, _INTENDED[step.action]))
    for host in canaries.hosts:
        job.fleet.emit(Ended(host, Outcome.WOULD_SOLVE))


_INTENDED = {
    Action.KEEP: Outcome.IN_SYNC,
    Action.SWITCH: Outcome.WOULD_SWITCH,
    Action.BUILD: Outcome.WOULD_INSTALL,
}


def _refuse(job: _Job, plan: Plan) -> None:
    for step in plan.steps:
        if step.remark:
            job.fleet.emit(Noted(step.host, step.remark))
    for no in plan.refusals:
        job.fleet.emit(Failed(no.host, Phase.OBSERVE, no.cause, no.message, no.hint))


def vote(
    hosts: Sequence[Host], plan: Plan, prepared: Mapping[Host, Facts], *, best_effort: bool
) -> tuple[Host, ...]:
    """Who switches: all that have to, if every host of the inventory is ready; else nobody.

    With `best_effort` those that are ready. Pure.
    """
    if not best_effort and any(host not in prepared for host in hosts):
        return ()
    return tuple(step.host for step in plan.changes if step.host in prepared)


def _switch_all(
    job: _Job, plan: Plan, held: Held, prepared: Mapping[Host, Facts]
) -> frozenset[Host]:
    """Let the hosts vote, and do what they decide; the hosts that hold the generation then."""
    fleet, options = job.fleet, job.options
    steps = {step.host: step for step in plan.steps}
    for host in prepared:
        if steps[host].action is Action.KEEP:
            fleet.emit(Ended(host, Outcome.IN_SYNC))
    voters = vote(job.hosts, plan, prepared, best_effort=options.best_effort)
    flips = {host: _flip(steps[host]) for host in voters}
    if not options.force:
        in_use = busy(fleet, tuple(flips.values()))
        if in_use and not options.best_effort:
            flips = {}
        flips = {host: flip for host, flip in flips.items() if host not in in_use}
    for step in plan.changes:
        if step.host in prepared and step.host not in flips:
            fleet.emit(Ended(step.host, Outcome.PREPARED))
    kept = {host for host in prepared if steps[host].action is Action.KEEP}
    if not flips:
        return frozenset(kept)
    decision = Decision(job.spec.name, options.ticket.operator, tuple(flips.values()))
    return commit(fleet, decision, held.shares, job.keep.decision) | kept


def _flip(step: Step) -> Flip:
    outcome = Outcome.INSTALLED if step.action is Action.BUILD else Outcome.SWITCHED
    return Flip(step.host, step.slot, step.expected, outcome)
