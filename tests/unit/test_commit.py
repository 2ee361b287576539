"""Decide and switch, over connections that break at the worst moments."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from envsync.commit import (
    IN_DOUBT,
    Decision,
    Flip,
    busy,
    commit,
    doubtful,
    in_doubt,
    is_settled,
    not_asked,
)
from envsync.errors import CommandTimeoutError, ConnectError, HostError, LinkLostError
from envsync.events import Ended, Event, Failed, Outcome, Phase
from envsync.findings import Busy
from envsync.generations import Slot
from envsync.limits import Limits
from envsync.model import Host
from envsync.ports import Command, Completed, Connection, LineSink
from envsync.report import HostReport
from envsync.runner import Fleet

A, B, C = Host("a"), Host("b"), Host("c")
LOST = LinkLostError("link-lost", "the network broke")
SLOW = CommandTimeoutError("timeout", "no answer")
DOWN = ConnectError("refused", "nothing listens")
Answer = Callable[[Host, int], Completed]
"""What a host says to its n-th command; may raise."""


@dataclass
class Fake:
    """A transport whose hosts answer as told; counts connections and commands."""

    answer: Answer
    down_after: tuple[Host, ...] = ()
    """Hosts that cannot be reached a second time."""

    def __post_init__(self) -> None:
        self.commands: list[Host] = []
        self.connected: list[Host] = []

    def connect(self, host: Host) -> Connection:
        if host in self.connected and host in self.down_after:
            raise DOWN
        self.connected.append(host)
        return FakeConnection(self, host)

    def close(self) -> None:
        """Nothing is shared."""

    @property
    def unread(self) -> tuple[str, ...]:
        return ()


@dataclass
class FakeConnection:
    fake: Fake
    host: Host

    def run(self, command: Command, on_line: LineSink | None = None) -> Completed:  # noqa: ARG002
        self.fake.commands.append(self.host)
        return self.fake.answer(self.host, self.fake.commands.count(self.host))

    def close(self) -> None:
        pass


def decision(*hosts: Host) -> Decision:
    flips = (Flip(host, Slot("/e", "train", "new"), "old", Outcome.INSTALLED) for host in hosts)
    return Decision("train", "me@here", tuple(flips))


def carried_out(
    fake: Fake,
    *hosts: Host,
    shares: dict[Host, Host] | None = None,
    limits: Limits = Limits(1),  # noqa: B008 (it is frozen)
) -> tuple[frozenset[Host], list[Event]]:
    events: list[Event] = []
    written: list[Decision] = []

    def write(made: Decision) -> None:
        assert not fake.commands, "a link may not move before the decision is written"
        written.append(made)

    with Fleet(fake, events.append, limits) as fleet:
        done = commit(fleet, decision(*hosts), shares or {}, write)
    assert written == [decision(*hosts)]
    return done, events


def test_all_hosts_switch() -> None:
    done, events = carried_out(Fake(lambda *_: Completed(0)), A, B)
    assert done == {A, B}
    ended = [event for event in events if isinstance(event, Ended)]
    assert ended == [Ended(A, Outcome.INSTALLED), Ended(B, Outcome.INSTALLED)]


@pytest.mark.parametrize("silence", [LOST, SLOW])
def test_host_that_falls_silent_is_asked_once_more(silence: Exception) -> None:
    def answer(host: Host, number: int) -> Completed:
        if host == B and number == 1:
            raise silence
        return Completed(0)

    fake = Fake(answer)
    done, events = carried_out(fake, A, B)
    assert done == {A, B}
    assert not [event for event in events if isinstance(event, Failed)]
    assert fake.connected.count(B) == 2


@pytest.mark.parametrize("down", [(), (B,)])
def test_host_that_stays_silent_is_in_doubt(down: tuple[Host, ...]) -> None:
    def answer(host: Host, _: int) -> Completed:
        if host == B:
            raise LOST
        return Completed(0)

    done, events = carried_out(Fake(answer, down), A, B)
    assert done == {A}
    (failure,) = [event for event in events if isinstance(event, Failed)]
    assert (failure.host, failure.cause) == (B, "in-doubt")
    assert "resume" in failure.hint
    assert doubtful([failure, None])


def test_host_that_says_no_is_not_in_doubt() -> None:
    no = Completed(1, b"", b"train was changed by somebody else in the meantime\n")
    done, events = carried_out(Fake(lambda host, _: no if host == B else Completed(0)), A, B)
    assert done == {A}
    (failure,) = [event for event in events if isinstance(event, Failed)]
    assert failure.cause == "changed-meanwhile"
    assert not doubtful([failure])


@pytest.mark.parametrize(
    "limits", [Limits(1, max_failures=0), Limits(1, deadline=time.monotonic() - 1)]
)
def test_what_is_decided_is_carried_out_whatever_limits_the_run_has(limits: Limits) -> None:
    no = Completed(1, b"", b"train was changed by somebody else in the meantime\n")
    fake = Fake(lambda host, _: no if host == A else Completed(0))
    done, events = carried_out(fake, A, B, C, limits=limits)
    assert done == {B, C}
    causes = [event.cause for event in events if isinstance(event, Failed)]
    assert causes == ["changed-meanwhile"]


def test_link_of_a_shared_file_system_is_moved_once() -> None:
    fake = Fake(lambda *_: Completed(0))
    done, _ = carried_out(fake, A, B, C, shares={B: A, C: A})
    assert (done, fake.commands) == ({A, B, C}, [A])


def test_host_whose_owner_does_not_switch_is_switched_by_itself() -> None:
    fake = Fake(lambda *_: Completed(0))
    done, _ = carried_out(fake, B, shares={B: A})
    assert (done, fake.commands) == ({B}, [B])


RUNNING = b"""\
process\t7\tjo\tabc\tby link\tpython train.py
process\t8\tjo\tabc\tdirectly\tpython eval.py
"""


def test_processes_by_the_link_hold_a_switch_and_others_do_not() -> None:
    events: list[Event] = []
    fake = Fake(lambda host, _: Completed(0, RUNNING if host == A else b""))
    with Fleet(fake, events.append, Limits(1)) as fleet:
        assert busy(fleet, decision(A, B).flips) == {A}
    (found,) = [event for event in events if isinstance(event, Busy)]
    assert [process.pid for process in found.processes] == [7]
    (failure,) = [event for event in events if isinstance(event, Failed)]
    assert failure.cause == "in-use"


def test_where_there_is_no_link_nobody_can_run_by_it() -> None:
    fake = Fake(lambda *_: Completed(0, RUNNING))
    with Fleet(fake, lambda _: None, Limits(1)) as fleet:
        first = Flip(A, Slot("/e", "train", "new"), "")
        assert busy(fleet, [first]) == frozenset()
    assert fake.commands == []


def test_host_that_cannot_say_who_runs_there_holds_the_switch() -> None:
    def answer(*_: object) -> Completed:
        raise LOST

    with Fleet(Fake(answer), lambda _: None, Limits(1)) as fleet:
        assert busy(fleet, decision(A).flips) == {A}


def ended(host: Host, outcome: Outcome) -> HostReport:
    return HostReport(host, outcome=outcome)


def refused(host: Host, phase: Phase, cause: str) -> HostReport:
    return HostReport(host, failure=Failed(host, phase, cause, "no", "see to it"))


@pytest.mark.parametrize(
    ("second", "asked", "settled"),
    [
        (ended(B, Outcome.SWITCHED), True, True),
        (ended(B, Outcome.IN_SYNC), False, True),
        (refused(B, Phase.SWITCH, "changed-meanwhile"), True, True),
        # In another push, before it has decided anything.
        (refused(B, Phase.SWITCH, "in-use"), False, False),
        (refused(B, Phase.SWITCH, IN_DOUBT), True, False),
        (refused(B, Phase.HOLD, "held"), True, False),
        (refused(B, Phase.CONNECT, "not-tried"), True, False),
        (ended(B, Outcome.LEFT_ALONE), False, False),
        (ended(B, Outcome.PREPARED), False, False),
        (HostReport(B), True, False),
        (HostReport(C), True, False),
    ],
)
def test_decision_stays_pending_until_every_host_has_said_its_end(
    second: HostReport, *, asked: bool, settled: bool
) -> None:
    pending = decision(A, B)
    reports = [ended(A, Outcome.SWITCHED), second]
    assert is_settled(pending, reports, pending if asked else None) is settled


def test_host_of_an_earlier_decision_that_somebody_else_has_stays_in_doubt() -> None:
    held = HostError("held", "somebody else is at work there", hint="wait until that is done")
    error = not_asked(held)
    assert error.cause == IN_DOUBT
    assert "somebody else" in error.message
    assert "wait" in error.hint
    assert "envsync resume" in error.hint
    assert not_asked(LOST).message == in_doubt(LOST).message
