"""What a run came to: a pure fold over its events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from envsync.census import Process
from envsync.events import Ended, Event, Failed, Noted, Outcome, Phase, Progress
from envsync.facts import Facts
from envsync.findings import Busy, Observed, Probed, Shared, Supplied
from envsync.model import Host
from envsync.observation import Observation


@dataclass(frozen=True)
class HostReport:
    """All that is known about one host at some moment of a run."""

    host: Host
    phase: Phase | None = None
    line: str = ""
    """The last line the host printed in this phase."""
    observation: Observation | None = None
    facts: Facts | None = None
    failure: Failed | None = None
    outcome: Outcome | None = None
    notes: tuple[str, ...] = ()
    shares: Host | None = None
    """The host whose environments this one has, through a shared file system."""
    busy: tuple[Process, ...] = ()
    """Processes that keep this host from being switched."""
    supplied: tuple[tuple[Host | None, int], ...] = ()
    """From whom packages came (None: this machine), and how many bytes; empty: none were sent."""

    @property
    def over(self) -> bool:
        return self.failure is not None or self.outcome is not None


def apply(report: HostReport, event: Event) -> HostReport:
    """One step of the fold; later events only add to or replace what earlier ones said."""
    match event:
        case Progress(phase=phase, line=line):
            report = replace(report, phase=phase, line=line)
        case Observed(observation=observation):
            report = replace(report, observation=observation)
        case Probed(facts=facts):
            report = replace(report, facts=facts)
        case Noted(message=message):
            report = replace(report, notes=(*report.notes, message))
        case Shared(owner=owner):
            report = replace(report, shares=owner)
        case Supplied(giver=giver, size=size):
            supplied = dict(report.supplied)
            supplied[giver] = supplied.get(giver, 0) + size
            report = replace(report, supplied=tuple(supplied.items()))
        case Busy(processes=processes):
            report = replace(report, busy=processes)
        case Failed():
            report = replace(report, failure=event)
        case Ended(outcome=outcome):
            report = replace(report, outcome=outcome)
    return report


def fold(hosts: Sequence[Host], events: Iterable[Event]) -> tuple[HostReport, ...]:
    """The reports of all hosts, in the given order."""
    reports = {host: HostReport(host) for host in hosts}
    for event in events:
        reports[event.host] = apply(reports[event.host], event)
    return tuple(reports.values())


@dataclass(frozen=True)
class Traffic:
    """Bytes of packages that went to hosts."""

    sent: int
    """From this machine."""
    handed_on: int
    """From node to node."""


def traffic(reports: Iterable[HostReport]) -> Traffic | None:
    """What went to all of them; None where the hosts fetch for themselves, or lacked nothing."""
    pairs = [pair for report in reports for pair in report.supplied]
    if not pairs:
        return None
    sent = sum(size for giver, size in pairs if giver is None)
    return Traffic(sent, sum(size for _, size in pairs) - sent)


@dataclass(frozen=True)
class Entry:
    """One push or rollback from this folder, as `envsync log` tells it."""

    at: str
    """ISO 8601, with the zone."""
    operator: str
    command: str
    name: str
    generations: tuple[str, ...]
    """What was to become current: one for each platform."""
    lock: str
    """Digest of the lock; empty when there was none."""
    hosts: str
    """Folded: gpu[01-16]."""
    outcome: str
