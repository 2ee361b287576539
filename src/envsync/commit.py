"""The second phase: decide, write the decision down, then move every link.

Until the decision is on disk nothing has changed on any node; after it the run, or the next
one, goes forward. A host that falls silent in between is *in doubt*, and named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from envsync.census import Process, processes, read_processes
from envsync.errors import CommandTimeoutError, ConnectError, HostError, LinkLostError
from envsync.events import Ended, Failed, Outcome, Phase
from envsync.findings import Busy
from envsync.generations import Slot
from envsync.model import Host
from envsync.node import Node
from envsync.report import HostReport
from envsync.runner import Fleet

_HOLDS_IT = frozenset({Outcome.SWITCHED, Outcome.INSTALLED, Outcome.IN_SYNC})

IN_DOUBT = "in-doubt"
"""The cause of a failure after the decision: nobody knows whether the host has switched."""


@dataclass(frozen=True)
class Flip:
    """One host's switch."""

    host: Host
    slot: Slot
    """The generation that becomes current."""
    expected: str
    """Where the link points now; empty: there is none; PLAIN: an environment to rename aside."""
    outcome: Outcome = Outcome.SWITCHED
    """What is said of the host when it has switched."""


@dataclass(frozen=True)
class Decision:
    """That these hosts switch: written before the first link moves, kept until all have."""

    name: str
    operator: str
    flips: tuple[Flip, ...]

    @property
    def hosts(self) -> tuple[Host, ...]:
        return tuple(flip.host for flip in self.flips)


Write = Callable[[Decision], None]
"""Keeps a decision where it survives this process."""


def busy(fleet: Fleet, flips: Sequence[Flip]) -> frozenset[Host]:
    """Hosts on which a process looks for its files behind the link that is to move; says who."""

    def look(node: Node) -> tuple[Process, ...]:
        slot = places[node.host]
        found = read_processes(node.must(Phase.SWITCH, processes(slot.envs_dir, slot.name)))
        return tuple(each for each in found if each.by_link)

    places = {flip.host: flip.slot for flip in flips if flip.expected}
    found = fleet.each(places, look)
    held = {host: there for host, there in found.items() if there}
    for host, there in held.items():
        fleet.emit(Busy(host, there))
        fleet.emit(
            Failed(
                host,
                Phase.SWITCH,
                "in-use",
                "a process there runs through the environment's link, and would import from the"
                " new generation from then on"
                if len(there) == 1
                else f"{len(there)} processes there run through the environment's link, and would"
                " import from the new generation from then on",
                "let it end and run this again, or switch all the same with --force",
            )
        )
    return frozenset({*held, *(places.keys() - found.keys())})


def commit(
    fleet: Fleet, decision: Decision, shares: Mapping[Host, Host], write: Write
) -> frozenset[Host]:
    """Write the decision and carry it out; the hosts that have switched. Others are events."""
    write(decision)
    return carry_out(fleet, decision, shares)


def carry_out(fleet: Fleet, decision: Decision, shares: Mapping[Host, Host]) -> frozenset[Host]:
    """Move the links of a decision; to do it twice does no harm.

    Hosts that share a file system have one link: it is moved once, and is the same for all.
    No limit of the run ends it half-way: --max-failures and --deadline are for what comes before.
    """
    flips = {flip.host: flip for flip in decision.flips}
    own = [host for host in flips if shares.get(host) not in flips]

    def attempt(node: Node) -> bool:
        try:
            switch(node)
        except (LinkLostError, CommandTimeoutError):
            return False  # perhaps it has switched: ask once more, over a new connection
        return True

    def switch(node: Node) -> None:
        flip = flips[node.host]
        node.must(Phase.SWITCH, flip.slot.switch(flip.expected, decision.operator))
        # At once: a ^C may come any moment, and says which hosts have switched.
        node.emit(Ended(node.host, flip.outcome))

    answered = fleet.each(own, attempt, blame=in_doubt, bounded=False)
    silent = [host for host, known in answered.items() if not known]
    for host in silent:
        fleet.forget(host)
    again = fleet.each(silent, switch, blame=in_doubt, bounded=False)
    done = {host for host, known in answered.items() if known} | set(again)
    for host, owner in shares.items():
        if host in flips and owner in done:
            fleet.emit(Ended(host, flips[host].outcome))
            done.add(host)
    return frozenset(done)


def is_settled(pending: Decision, reports: Iterable[HostReport], made: Decision | None) -> bool:
    """Whether a run has told of every host of `pending` what became of it.

    A host has switched, holds it already, or has answered a switch that this run decided
    (`made`) with a no, which another try would not change. A host that was not reached, was
    held by somebody else or was not asked keeps the decision pending.
    """
    ends = {report.host: report for report in reports}
    asked = made.hosts if made else ()

    def is_told(host: Host) -> bool:
        report = ends.get(host)
        if report is None or report.failure is None:
            return report is not None and report.outcome in _HOLDS_IT
        failure = report.failure
        return host in asked and failure.phase is Phase.SWITCH and failure.cause != IN_DOUBT

    return all(map(is_told, pending.hosts))


def in_doubt(error: HostError) -> HostError:
    """What is said of a host that falls silent after the decision; an answer is no silence."""
    if not isinstance(error, ConnectError | LinkLostError | CommandTimeoutError):
        return error
    return HostError(
        IN_DOUBT,
        f"it fell silent after the decision, and may or may not have switched: {error.message}",
        hint="when it is back, `envsync resume` completes the switch (so does a push)",
        output=error.output,
    )


def not_asked(error: HostError) -> HostError:
    """What is said of a host of an earlier decision that could not even be asked again."""
    if isinstance(error, ConnectError | LinkLostError | CommandTimeoutError):
        return in_doubt(error)
    return HostError(
        IN_DOUBT,
        f"it was not asked to complete the switch: {error.message}",
        hint=f"{error.hint}; then `envsync resume` completes it",
        output=error.output,
    )


def doubtful(failures: Iterable[Failed | None]) -> bool:
    """Whether any host is neither surely switched nor surely not."""
    return any(each is not None and each.cause == IN_DOUBT for each in failures)
