"""bootstrap, the verb: a conda on nodes that have none, and off them again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from envsync.census import Process, processes, read_processes
from envsync.errors import HostError
from envsync.events import Ended, Noted, Outcome, Phase, Progress
from envsync.findings import Busy
from envsync.hold import Held, Ticket, holding
from envsync.installers import Installer, condarc
from envsync.model import Host
from envsync.node import Node
from envsync.observation import Observation
from envsync.provision import (
    Installation,
    Plan,
    Step,
    Wishes,
    decide,
    look,
    parse,
    supplied,
)
from envsync.runner import Fleet, failed
from envsync.survey import observe

_NOBODYS = "envsync-bootstrap"
"""The name of an environment to look for, since looking needs one."""
Tell = Callable[[str], None]
Supply = Callable[[Collection[str], Tell], Mapping[str, Installer]]
"""Gets installers for these platforms, telling what it waits for; may know of fewer."""

_ENDS = {Step.INSTALL: Outcome.INSTALLED, Step.UPGRADE: Outcome.UPGRADED}
_INTENTIONS = {
    Step.INSTALL: Outcome.WOULD_INSTALL,
    Step.UPGRADE: Outcome.WOULD_UPGRADE,
    Step.REMOVE: Outcome.WOULD_REMOVE,
}


@dataclass(frozen=True)
class Provided:
    """One node's conda, in the end."""

    prefix: str
    """Its root prefix; empty when there is none."""
    conda: str = ""
    """Flavour and version, or what of it is still to come."""
    installer: str = ""
    """What envsync made it with; empty when that was somebody else."""


@dataclass(frozen=True)
class _Look:
    """One node before anything is done to it."""

    seen: Observation
    there: Installation

    def provided(self) -> Provided:
        conda = self.seen.conda
        ours = conda is not None and conda.root_prefix == self.there.prefix
        return Provided(
            conda.root_prefix if conda else "",
            str(conda or ""),
            self.there.label if ours else "",
        )


@dataclass(frozen=True)
class _Work:
    """What is about to be done on one node."""

    look: _Look
    plan: Plan
    installer: Installer | None = None


def bootstrap(
    fleet: Fleet, hosts: Sequence[Host], wishes: Wishes, supply: Supply, ticket: Ticket
) -> Mapping[Host, Provided]:
    """Look, get the installers that are needed, and do what `decide` says on every host.

    The hosts that ended well; failures are events.
    """
    looks = fleet.each(hosts, lambda node: _look(node, wishes))
    works = _planned(fleet, looks, wishes)
    idle = {host: looks[host] for host, work in works.items() if work.plan.step is Step.NOTHING}
    done = _leave(fleet, idle, works, wishes)
    works = {host: work for host, work in works.items() if host not in idle}
    if wishes.dry_run:
        for host, work in works.items():
            fleet.emit(Ended(host, _INTENTIONS[work.plan.step]))
            done[host] = work.look.provided()
        return done
    works = _supplied(fleet, works, supply)
    current = {
        host: work.look
        for host, work in works.items()
        if work.plan.step is Step.UPGRADE
        and work.installer
        and work.look.seen.conda
        and work.installer.sha256 == work.look.there.sha256
    }
    done |= _leave(fleet, current, works, wishes)
    groups: dict[str, dict[Host, _Work]] = {}
    for host, work in works.items():
        if host not in current:
            groups.setdefault(work.look.there.name, {})[host] = work
    for name, group in groups.items():
        done |= _carry_out(fleet, name, group, wishes, ticket)
    return done


def _look(node: Node, wishes: Wishes) -> _Look:
    seen = observe(node, _NOBODYS)
    found = seen.conda.root_prefix if seen.conda else ""
    return _Look(seen, parse(node.must(Phase.OBSERVE, look(wishes.prefix, found))))


def _planned(fleet: Fleet, looks: Mapping[Host, _Look], wishes: Wishes) -> dict[Host, _Work]:
    works = {}
    for host, each in looks.items():
        try:
            works[host] = _Work(each, decide(each.seen, each.there, wishes))
        except HostError as error:
            fleet.emit(failed(host, Phase.OBSERVE, error))
    return works


def _leave(
    fleet: Fleet, looks: Mapping[Host, _Look], works: Mapping[Host, _Work], wishes: Wishes
) -> dict[Host, Provided]:
    """Nothing is to be done there, but perhaps to let the shell know of it."""

    def task(node: Node) -> Provided:
        each = looks[node.host]
        provided = each.provided()
        if wishes.init and provided.installer and not wishes.dry_run:
            _initialise(node, each.there)
        if note := works[node.host].plan.note:
            node.emit(Noted(node.host, note))
        alone = wishes.remove or (wishes.upgrade and not provided.installer)
        node.emit(Ended(node.host, Outcome.LEFT_ALONE if alone else Outcome.THERE))
        return provided

    return fleet.each(looks, task)


def _supplied(fleet: Fleet, works: Mapping[Host, _Work], supply: Supply) -> dict[Host, _Work]:
    """With the installers, brought to this machine once; hosts without one drop out."""
    needing = {host: work for host, work in works.items() if work.plan.step is not Step.REMOVE}
    if not needing:
        return dict(works)

    def tell(line: str) -> None:
        for host in needing:
            fleet.emit(Progress(host, Phase.FETCH, line))

    installers = supply({work.look.seen.subdir for work in needing.values()}, tell)
    ready = dict(works)
    for host, work in needing.items():
        try:
            installer = supplied(work.look.seen, work.look.there, installers)
            ready[host] = replace(work, installer=installer)
        except HostError as error:
            del ready[host]
            fleet.emit(failed(host, Phase.FETCH, error))
    return ready


def _carry_out(
    fleet: Fleet, name: str, works: Mapping[Host, _Work], wishes: Wishes, ticket: Ticket
) -> dict[Host, Provided]:
    """On all hosts whose prefixes have one name; those with one file system are served once."""
    places = {host: work.look.there.place for host, work in works.items()}
    with holding(fleet, places, name, ticket) as held:
        busy = _busy(fleet, held, works, wishes)
        owners = [host for host in held.owners if not _told(fleet, host, held, busy)]

        def task(node: Node) -> Step:
            return _change(node, works[node.host], wishes, ticket)

        changed = fleet.each(owners, task)
        steps = dict(changed)
        for host, owner in held.shares.items():
            if works[host].installer and (
                error := _unshared(works[host].look.seen, works[owner].look.seen)
            ):
                fleet.emit(failed(host, Phase.INSTALL, error))
            elif owner in changed:
                steps[host] = changed[owner]
            elif owner not in busy:
                fleet.emit(failed(host, Phase.INSTALL, _with(owner)))

    def end(node: Node) -> Provided:
        host = node.host
        return _ended(node, steps[host], works[host], wishes, shared=host in held.shares)

    return fleet.each(steps, end)


def _busy(
    fleet: Fleet, held: Held, works: Mapping[Host, _Work], wishes: Wishes
) -> dict[Host, tuple[Process, ...]]:
    """By the host that would remove it: who runs there, on any host that shares it."""
    removals = [host for host in held.hosts if works[host].plan.step is Step.REMOVE]
    if wishes.force or not removals:
        return {}

    def task(node: Node) -> tuple[Process, ...]:
        there = works[node.host].look.there
        name = there.prefix.removeprefix(f"{there.place}/")
        return read_processes(node.must(Phase.COUNT, processes(there.place, name)))

    found: dict[Host, tuple[Process, ...]] = {}
    for host, running in fleet.each(removals, task).items():
        if running:
            fleet.emit(Busy(host, running))
            owner = held.shares.get(host, host)
            found[owner] = found.get(owner, ()) + running
    return found


def _told(fleet: Fleet, host: Host, held: Held, busy: Mapping[Host, tuple[Process, ...]]) -> bool:
    """Whether the removal there is off, since somebody runs in it; all who share it fail."""
    if host not in busy:
        return False
    error = HostError(
        "in-use",
        "processes run in what is to be removed",
        hint="let them end, or --force",
    )
    for each in (host, *(other for other, owner in held.shares.items() if owner == host)):
        fleet.emit(failed(each, Phase.COUNT, error))
    return True


def _change(node: Node, work: _Work, wishes: Wishes, ticket: Ticket) -> Step:
    """Do it, unless somebody else has done it since the look. Raises HostError."""
    now = _look(node, wishes)
    there = now.there
    if (there.state, there.begun, there.sha256) != (
        work.look.there.state,
        work.look.there.begun,
        work.look.there.sha256,
    ):
        plan = decide(now.seen, there, wishes)
        if plan.step is not work.plan.step:
            return Step.NOTHING
    if work.plan.note:
        node.emit(Noted(node.host, work.plan.note))
    if work.installer is None:
        node.must(Phase.PRUNE, there.uninstall(wishes.timeout))
        return Step.REMOVE
    node.must(Phase.UPLOAD, there.upload(work.installer))
    made = node.must(Phase.INSTALL, there.install(work.installer, work.plan.step, wishes.timeout))
    try:
        settings = condarc(made.text, wishes.channels)
    except ValueError as error:
        raise HostError(
            "not-whole", str(error), hint="is it a usual installer?", output=made.text
        ) from error
    node.must(Phase.INSTALL, there.settle(settings, work.installer, ticket.operator))
    return work.plan.step


def _ended(node: Node, step: Step, work: _Work, wishes: Wishes, *, shared: bool) -> Provided:
    """See what every other command will see. Raises HostError where that is not the conda."""
    if step is Step.REMOVE:
        node.emit(Ended(node.host, Outcome.REMOVED))
        return Provided("")
    if shared:
        node.must(Phase.INSTALL, work.look.there.make_known())
    after = _look(node, wishes)
    provided = after.provided()
    if not provided.prefix:
        raise HostError(
            "no-conda",
            f"{work.look.there.prefix} was installed, and is not found",
            hint="does this user's ~/.conda/environments.txt name it, and may it be read?",
        )
    if wishes.init and provided.installer:
        _initialise(node, after.there)
    node.emit(Ended(node.host, _ENDS.get(step, Outcome.THERE)))
    return provided


def _initialise(node: Node, there: Installation) -> None:
    """A failure is told and is no reason to call the installation failed."""
    try:
        node.must(Phase.INSTALL, there.initialise())
    except HostError as error:
        node.emit(Noted(node.host, f"--init was not done: {error.message}"))


def _unshared(mine: Observation, theirs: Observation) -> HostError | None:
    """Why one installation does not serve two hosts with one file system."""
    if mine.subdir == theirs.subdir:
        return None
    return HostError(
        "wrong-architecture",
        f"it is {mine.subdir}, and shares its file system with a host that is {theirs.subdir}",
        hint="give each architecture a place of its own: --limit and --prefix",
    )


def _with(owner: Host) -> HostError:
    return HostError(
        "shared", f"it shares its file system with {owner}, which failed", hint="see to that one"
    )
