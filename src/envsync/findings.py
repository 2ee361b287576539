"""Events that carry what was found out about a host."""

from __future__ import annotations

from dataclasses import dataclass

from envsync.census import Process
from envsync.events import Event
from envsync.facts import Facts
from envsync.model import Host
from envsync.observation import Observation


@dataclass(frozen=True)
class Observed(Event):
    """What was there before anything was done."""

    observation: Observation


@dataclass(frozen=True)
class Probed(Event):
    """What an environment holds."""

    facts: Facts


@dataclass(frozen=True)
class Shared(Event):
    """This host's environments are those of `owner`: one file system, so one build for both."""

    owner: Host


@dataclass(frozen=True)
class Supplied(Event):
    """Bytes of packages have come to this host."""

    giver: Host | None
    """The node that handed them on; None: they were sent from this machine."""
    size: int


@dataclass(frozen=True)
class Busy(Event):
    """Processes that would get another generation's files if the environment was switched."""

    processes: tuple[Process, ...]
