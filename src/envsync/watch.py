"""What has changed since the last look at the nodes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from envsync.judge import Finding
from envsync.model import Host
from envsync.report import HostReport
from envsync.rules import Level

Key = tuple[str, str, Level]
"""What a finding is about: cause, subject, level."""


class Turn(StrEnum):
    """What happened to a host or a finding."""

    LOST = "lost"
    """The host could be looked at, and no longer can."""
    BACK = "back"
    NEW = "new"
    CHANGED = "changed"
    """The same thing is still not as it should be, but otherwise."""
    GONE = "gone"


@dataclass(frozen=True)
class Change:
    """One thing that is not as it was at the last look."""

    turn: Turn
    host: Host
    message: str
    """What is found, or was found; of a lost host, why."""
    level: Level
    cause: str
    what: str = ""


@dataclass(frozen=True)
class Look:
    """What is remembered of one look: nothing, before the first."""

    lost: Mapping[Host, str] = field(default_factory=dict)
    """Why a host could not be looked at."""
    found: Mapping[Host, Mapping[Key, str]] = field(default_factory=dict)
    """What was found on each host when it was last seen."""


def take(before: Look, reports: Sequence[HostReport], findings: Sequence[Finding]) -> Look:
    """This look. Of a host that is lost, what was found last is kept for when it comes back."""
    lost = {each.host: each.failure.cause for each in reports if each.failure}
    found: dict[Host, Mapping[Key, str]] = {}
    for report in reports:
        own = [each for each in findings if each.host == report.host]
        if report.host not in lost:
            found[report.host] = _table(own)
        elif report.host in before.found:
            found[report.host] = before.found[report.host]
    return Look(lost, found)


def _table(findings: Sequence[Finding]) -> Mapping[Key, str]:
    """Several findings of one kind about one thing count as one, whatever their order."""
    table: dict[Key, list[str]] = {}
    for each in findings:
        table.setdefault((each.cause, each.what, each.level), []).append(each.message)
    return {key: "; ".join(sorted(messages)) for key, messages in table.items()}


def changes(before: Look, after: Look, reports: Sequence[HostReport]) -> tuple[Change, ...]:
    """What has changed: hosts first, then findings, in the order of the hosts."""
    hosts = [each for report in reports for each in _host(before, after, report)]
    findings = [
        each
        for report in reports
        if report.host not in after.lost
        for each in _findings(
            report.host, before.found.get(report.host, {}), after.found[report.host]
        )
    ]
    return (*hosts, *findings)


def _host(before: Look, after: Look, report: HostReport) -> Iterator[Change]:
    host = report.host
    was, cause = before.lost.get(host), after.lost.get(host)
    if cause and report.failure and cause != was:
        yield Change(Turn.LOST, host, report.failure.message, Level.ERROR, cause)
    if was and not cause:
        yield Change(Turn.BACK, host, "it can be looked at again", Level.INFO, was)


def _findings(host: Host, was: Mapping[Key, str], now: Mapping[Key, str]) -> Iterator[Change]:
    for key, message in now.items():
        cause, what, level = key
        if key not in was:
            yield Change(Turn.NEW, host, message, level, cause, what)
        elif was[key] != message:
            yield Change(Turn.CHANGED, host, message, level, cause, what)
    for key, message in was.items():
        if key not in now:
            cause, what, level = key
            yield Change(Turn.GONE, host, message, level, cause, what)
