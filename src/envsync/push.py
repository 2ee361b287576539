"""push, the verb: observe, plan, prepare the new generation everywhere, then switch to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from envsync import __version__
from envsync.errors import HostError
from envsync.events import Ended, EventSink, Failed, Outcome, Phase
from envsync.generations import generation_id
from envsync.model import Facts, Host
from envsync.observation import markers
from envsync.pins import Unmet, unmet
from envsync.plan import Action, Plan, Step, make_plan
from envsync.runner import Fleet, Node
from envsync.spec import EnvironmentSpec


@dataclass(frozen=True)
class PushOptions:
    """`timeout` is seconds for one host's build."""

    timeout: float = 3600.0
    dry_run: bool = False
    rebuild: bool = False
    """Build anew even where the generation is there and looks whole."""
    operator: str = ""
    """Who pushes, for the nodes' history."""


@dataclass(frozen=True)
class Pushed:
    """What a push did: the plan, and which hosts ended up with the generation."""

    generation: str
    plan: Plan
    facts: Mapping[Host, Facts]
    """Empty when nothing had to be changed."""


def push(
    fleet: Fleet,
    hosts: Sequence[Host],
    spec: EnvironmentSpec,
    options: PushOptions,
    emit: EventSink,
) -> Pushed:
    """Bring every host to the generation that `spec` defines; failures are events.

    `emit` is for this thread's own events; those of the hosts come through `fleet`.
    """
    generation = generation_id(spec.raw)
    observations = fleet.each(hosts, lambda node: node.observe(spec.name))
    plan = make_plan(spec.name, generation, observations, rebuild=options.rebuild)
    for no in plan.refusals:
        emit(Failed(no.host, Phase.OBSERVE, no.cause, no.message, no.hint))
    steps = {step.host: step for step in plan.steps}
    if options.dry_run or not plan.changes:
        for step in plan.steps:
            emit(Ended(step.host, _INTENDED[step.action] if options.dry_run else Outcome.IN_SYNC))
        return Pushed(generation, plan, {})
    facts = fleet.each(steps, lambda node: prepare(node, steps[node.host], spec, options))
    done = fleet.each(vote(plan, facts), lambda node: switch(node, steps[node.host], options))
    return Pushed(generation, plan, {host: facts[host] for host in done})


_INTENDED = {
    Action.KEEP: Outcome.IN_SYNC,
    Action.SWITCH: Outcome.WOULD_SWITCH,
    Action.BUILD: Outcome.WOULD_INSTALL,
}


def prepare(node: Node, step: Step, spec: EnvironmentSpec, options: PushOptions) -> Facts:
    """Build, check and seal, without touching what is current; the new prefix's facts."""
    slot = step.slot
    if step.action is not Action.BUILD:
        return node.probe(slot.prefix)
    node.must(Phase.UPLOAD, slot.put(spec.raw))
    build = slot.build(step.conda.create(slot.prefix, slot.file), options.timeout)
    done = node.must(Phase.BUILD, build)
    facts = node.probe(slot.prefix)
    if facts.blind and (spec.pip or any(each.name == "python" for each in spec.conda)):
        node.run(Phase.BUILD, slot.discard())
        raise HostError(
            "broken",
            f"the new environment's python is {dict(facts.runtime)['python']}",
            hint="start it there by hand and see what it says",
            output=done.log,
        )
    # Some conda versions exit 0 although pip failed: the prefix decides, not the exit code.
    if lacking := unmet(spec, facts, markers(step.subdir)):
        node.run(Phase.BUILD, slot.discard())
        raise _incomplete(spec, lacking, done.log)
    node.must(Phase.SEAL, slot.seal(f"envsync {__version__}"))
    return facts


def vote(plan: Plan, prepared: Mapping[Host, Facts]) -> tuple[Host, ...]:
    """Who switches: every host that has prepared."""
    return tuple(step.host for step in plan.steps if step.host in prepared)


def switch(node: Node, step: Step, options: PushOptions) -> Outcome:
    """Make the prepared generation current, and say so at once: a ^C may come any moment."""
    if step.action is not Action.KEEP:
        node.must(Phase.SWITCH, step.slot.switch(step.expected, options.operator))
    node.emit(Ended(step.host, _DONE[step.action]))
    return _DONE[step.action]


_DONE = {
    Action.KEEP: Outcome.IN_SYNC,
    Action.SWITCH: Outcome.SWITCHED,
    Action.BUILD: Outcome.INSTALLED,
}


def _incomplete(spec: EnvironmentSpec, lacking: Sequence[Unmet], log: str) -> HostError:
    wanted = ", ".join(f"{each.text} ({spec.source}:{each.line})" for each in lacking)
    return HostError(
        "incomplete",
        f"conda reported success, but the environment lacks {wanted}",
        hint="pip's own words are in the output below",
        output=log,
    )
