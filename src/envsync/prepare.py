"""The first phase: build the new generation beside the current one, and judge it, everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from envsync import __version__
from envsync.access import Access
from envsync.check import check, check_lock
from envsync.deliver import Supplies, deliver
from envsync.diagnose import failure
from envsync.errors import HostError
from envsync.events import Ended, Outcome, Phase
from envsync.facts import Facts
from envsync.hold import Held
from envsync.loan import NOTHING
from envsync.model import Host
from envsync.node import Node
from envsync.observation import Observation
from envsync.parcels import Place
from envsync.plan import Action, Plan, Step
from envsync.relay import hand_round
from envsync.runner import Fleet
from envsync.spec import EnvironmentSpec
from envsync.survey import probe


@dataclass(frozen=True)
class Builders:
    """How a push prepares."""

    spec: EnvironmentSpec
    timeout: float
    """Seconds for one host's build."""
    canary: int = 0
    """How many hosts go first; 0: all at once."""
    supplies: Supplies | None = None
    """What is sent to the hosts; None: they fetch everything themselves."""
    relay: bool = False
    """Nodes hand on to others what was sent to them."""
    access: Access = field(default_factory=Access)
    """How they do that."""


def prepare_all(
    fleet: Fleet,
    plan: Plan,
    observations: Mapping[Host, Observation],
    held: Held,
    builders: Builders,
) -> Mapping[Host, Facts]:
    """Prepare the hosts in their waves; the facts of each that is ready."""
    steps = {step.host: step for step in plan.steps}
    own = [host for host in steps if host not in held.shares]
    shared = [host for host in steps if host in held.shares]
    first = own[: builders.canary] if builders.canary else own

    facts: dict[Host, Facts] = {}

    def build(hosts: Sequence[Host]) -> dict[Host, Facts]:
        ready: Mapping[Host, Step] = {host: steps[host] for host in hosts}
        if builders.relay and builders.supplies is not None:
            others = [steps[host] for host in own if host in facts or _is_whole(steps[host])]
            others = [step for step in others if step.host not in ready]
            ready = hand_round(fleet, ready, others, builders.supplies)
        return fleet.each(
            ready, lambda node: prepare(node, ready[node.host], builders), patient=True
        )

    def look(node: Node) -> Facts:
        envs_dir = observations[node.host].envs_dir
        return _prepare_shared(node, envs_dir, steps[node.host], held.shares[node.host])

    facts |= build(first)
    rest = [host for host in own if host not in first]
    if len(facts) < len(first):
        leave_alone(fleet, rest)
    else:
        facts |= build(rest)
    leave_alone(fleet, [host for host in shared if held.shares[host] not in facts])
    facts |= fleet.each([host for host in shared if held.shares[host] in facts], look)
    return {host: facts[host] for host in steps if host in facts}


def _is_whole(step: Step) -> bool:
    """Whether its host was built before this push."""
    return step.action is not Action.BUILD


def prepare(node: Node, step: Step, builders: Builders) -> Facts:
    """Build, check and seal, without touching what is current; the new prefix's facts."""
    slot, recipe = step.slot, step.recipe
    if step.action is not Action.BUILD:
        return probe(node, slot.prefix)
    loan = NOTHING
    if builders.supplies is None:
        recipe, loan = builders.access.lent(recipe, builders.spec)
    elif not recipe.offline:
        recipe = deliver(node, step, builders.supplies)
    node.must(Phase.UPLOAD, slot.put(recipe.files))
    argv, folder = recipe.argv(step.conda, slot), recipe.folder(slot)
    build = slot.build(argv, builders.timeout, folder, offline=recipe.offline, loan=loan)
    done = node.run(Phase.BUILD, build)
    secrets = recipe.secrets(slot)
    if recipe.passes or secrets:  # whatever came of the build
        node.must(Phase.UPLOAD, slot.put(recipe.kept))
        node.must(Phase.BUILD, slot.strip(secrets))
    if done.exit_code:
        raise failure(Phase.BUILD, done.exit_code, done.log)
    facts = probe(node, slot.prefix)
    try:
        if recipe.locked:
            check_lock(recipe.locked, facts, done.log)
        else:
            check(builders.spec, facts, step.subdir, done.log)
    except HostError:
        node.run(Phase.BUILD, slot.discard())
        raise
    node.must(Phase.SEAL, slot.seal(f"envsync {__version__}"))
    if recipe.offline:
        node.must(Phase.SEAL, Place.of(step).discard())
    return facts


def _prepare_shared(node: Node, envs_dir: str, step: Step, owner: Host) -> Facts:
    """What `owner` has built on the file system of both, as this host sees it."""
    if envs_dir != step.slot.envs_dir:
        raise HostError(
            "shared-elsewhere",
            f"it has the environments of {owner}, but under {envs_dir} and not under"
            f" {step.slot.envs_dir}: a conda prefix works under one path alone",
            hint="mount it under the same path, or take the host out of the inventory",
        )
    return probe(node, step.slot.prefix)


def leave_alone(fleet: Fleet, hosts: Sequence[Host]) -> None:
    """Say of these hosts that nothing was done to them."""
    for host in hosts:
        fleet.emit(Ended(host, Outcome.LEFT_ALONE))
