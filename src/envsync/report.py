"""What a run came to: a pure fold over its events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from envsync.events import Ended, Event, Failed, Observed, Outcome, Phase, Probed, Progress
from envsync.model import Facts, Host
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

    @property
    def over(self) -> bool:
        return self.failure is not None or self.outcome is not None


def apply(report: HostReport, event: Event) -> HostReport:
    """One step of the fold; later events only add to or replace what earlier ones said."""
    match event:
        case Progress(phase=phase, line=line):
            return replace(report, phase=phase, line=line)
        case Observed(observation=observation):
            return replace(report, observation=observation)
        case Probed(facts=facts):
            return replace(report, facts=facts)
        case Failed():
            return replace(report, failure=event)
        case Ended(outcome=outcome):
            return replace(report, outcome=outcome)
        case _:
            return report


def fold(hosts: Sequence[Host], events: Iterable[Event]) -> tuple[HostReport, ...]:
    """The reports of all hosts, in the given order."""
    reports = {host: HostReport(host) for host in hosts}
    for event in events:
        reports[event.host] = apply(reports[event.host], event)
    return tuple(reports.values())
