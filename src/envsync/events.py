"""What happens during a run, as a stream of facts: the run's whole state, in order.

Workers put events into a queue; the main thread alone takes them out, writes them down and
shows them. Everything a report says can be computed from them again (`envsync.report.fold`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from envsync.model import Host


class Phase(StrEnum):
    """What is being done on a host; also the words of the live view."""

    CONNECT = "connecting"
    OBSERVE = "looking"
    HOLD = "taking"
    SOLVE = "solving"
    FETCH = "fetching the installer"
    GATHER = "waiting for packages"
    UPLOAD = "uploading"
    BUILD = "building"
    INSTALL = "installing conda"
    PROBE = "probing"
    MEET = "meeting"
    SEAL = "sealing"
    SWITCH = "switching"
    COUNT = "counting"
    PRUNE = "removing"


class Outcome(StrEnum):
    """How a host ended; what the result column says."""

    IN_SYNC = "in sync"
    INSTALLED = "installed"
    SWITCHED = "switched"
    PREPARED = "prepared, not switched"
    SOLVED = "solved"
    WOULD_SOLVE = "would solve and install"
    WOULD_INSTALL = "would install"
    WOULD_SWITCH = "would switch"
    PROBED = "ok"
    THERE = "already there"
    UPGRADED = "upgraded"
    REMOVED = "removed"
    WOULD_UPGRADE = "would upgrade"
    WOULD_REMOVE = "would remove"
    LEFT_ALONE = "left alone"
    NEVER_INSTALLED = "left alone, never installed"


@dataclass(frozen=True)
class Event:
    """Base: which host it happened on."""

    host: Host


@dataclass(frozen=True)
class Progress(Event):
    """A phase begins, or the host printed `line` in it."""

    phase: Phase
    line: str = ""


@dataclass(frozen=True)
class Noted(Event):
    """Something about this host that its user should know; it goes on."""

    message: str


@dataclass(frozen=True)
class Failed(Event):
    """This host is out of the run. `cause` is a stable word; `output` is the host's own."""

    phase: Phase
    cause: str
    message: str
    hint: str = ""
    output: str = ""


@dataclass(frozen=True)
class Ended(Event):
    outcome: Outcome


EventSink = Callable[[Event], None]
