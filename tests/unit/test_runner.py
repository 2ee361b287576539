"""Fan-out over fake connections: failures stay with their host, events stay in order."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from envsync.errors import ConnectError, HostError, LinkLostError
from envsync.events import Event, Failed, Phase, Progress
from envsync.limits import Limits
from envsync.model import Host
from envsync.node import Node
from envsync.ports import Command, Completed, Connection, LineSink
from envsync.runner import Fleet

HOSTS = [Host(f"n{number}") for number in range(8)]
ECHO = Command("echo")


@dataclass
class FakeConnection:
    answer: Callable[[Command], Completed]
    closed: bool = False

    def run(self, command: Command, on_line: LineSink | None = None) -> Completed:
        if on_line:
            on_line("a line with https://user:secret@host.test/x")
        return self.answer(command)

    def close(self) -> None:
        self.closed = True


@dataclass
class FakeTransport:
    answer: Callable[[Command], Completed] = lambda _: Completed(0)
    down: frozenset[Host] = frozenset()
    made: dict[Host, FakeConnection] = field(default_factory=dict)

    def connect(self, host: Host) -> Connection:
        if host in self.down:
            raise ConnectError("refused", "nothing listens on port 22", hint="start sshd")
        assert host not in self.made, "one connection a host for the whole command"
        return self.made.setdefault(host, FakeConnection(self.answer))

    def close(self) -> None:
        """Nothing is shared."""

    @property
    def unread(self) -> tuple[str, ...]:
        return ()


def echo(node: Node) -> str:
    node.run(Phase.PROBE, ECHO)
    return node.host.name


def test_results_come_in_the_order_of_the_hosts() -> None:
    with Fleet(FakeTransport(), lambda _: None, Limits(3)) as fleet:
        assert list(fleet.each(HOSTS, echo).values()) == [host.name for host in HOSTS]


def test_host_that_fails_is_an_event_and_the_others_go_on() -> None:
    events: list[Event] = []
    with Fleet(FakeTransport(down=frozenset(HOSTS[2:3])), events.append, Limits(4)) as fleet:
        results = fleet.each(HOSTS, echo)
    assert set(HOSTS) - set(results) == {HOSTS[2]}
    (failure,) = [event for event in events if isinstance(event, Failed)]
    assert (failure.host, failure.phase, failure.cause) == (HOSTS[2], Phase.CONNECT, "refused")
    assert failure.hint == "start sshd"


def test_failure_names_the_phase_and_keeps_the_output() -> None:
    events: list[Event] = []
    transport = FakeTransport(lambda _: Completed(1, b"", b"No space left on device\n"))
    with Fleet(transport, events.append, Limits(1)) as fleet:
        assert fleet.each(HOSTS[:1], lambda node: node.must(Phase.UPLOAD, ECHO)) == {}
    (failure,) = [event for event in events if isinstance(event, Failed)]
    assert (failure.phase, failure.cause) == (Phase.UPLOAD, "disk-full")
    assert failure.output == "No space left on device\n"


def test_connection_is_kept_between_rounds_and_closed_at_the_end() -> None:
    transport = FakeTransport()
    with Fleet(transport, lambda _: None, Limits(4)) as fleet:
        fleet.each(HOSTS, echo)
        fleet.each(HOSTS, echo)
        assert not any(connection.closed for connection in transport.made.values())
    assert all(connection.closed for connection in transport.made.values())


def test_never_more_at_once_than_the_fan_out() -> None:
    lock, now, most = threading.Lock(), [0], [0]

    def answer(_: Command) -> Completed:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.02)
        with lock:
            now[0] -= 1
        return Completed(0)

    with Fleet(FakeTransport(answer), lambda _: None, Limits(3)) as fleet:
        fleet.each(HOSTS, echo)
    assert most[0] == 3


def test_events_are_handed_over_in_the_calling_thread_and_without_secrets() -> None:
    threads: set[int] = set()
    lines: list[str] = []

    def sink(event: Event) -> None:
        threads.add(threading.get_ident())
        if isinstance(event, Progress) and event.line:
            lines.append(event.line)

    with Fleet(FakeTransport(), sink, Limits(8)) as fleet:
        fleet.each(HOSTS, echo)
    assert threads == {threading.get_ident()}
    assert len(lines) == len(HOSTS)
    assert not any("secret" in line for line in lines)


def test_fault_of_our_own_is_not_taken_for_a_failing_host() -> None:
    def broken(node: Node) -> None:
        raise ZeroDivisionError(node.host.name)

    with (
        Fleet(FakeTransport(), lambda _: None, Limits(2)) as fleet,
        pytest.raises(ZeroDivisionError),
    ):
        fleet.each(HOSTS, broken)


def test_host_errors_raised_by_a_task_are_failures() -> None:
    def refuse(node: Node) -> None:
        node.enter(Phase.BUILD)
        raise HostError("incomplete", "numpy is missing")

    events: list[Event] = []
    with Fleet(FakeTransport(), events.append, Limits(2)) as fleet:
        assert fleet.each(HOSTS[:2], refuse) == {}
    assert {e.phase for e in events if isinstance(e, Failed)} == {Phase.BUILD}


def test_what_has_happened_is_handed_over_before_the_end() -> None:
    """A ^C may fall between an event and the thread that takes it out."""
    events: list[Event] = []
    fleet = Fleet(FakeTransport(), events.append, Limits(1))
    fleet.each(HOSTS[:1], echo)
    seen = len(events)
    fleet._inbox.put(Progress(HOSTS[0], Phase.SWITCH))  # noqa: SLF001 (what a worker would do)
    fleet.close()
    assert events[seen:] == [Progress(HOSTS[0], Phase.SWITCH)]


def test_hosts_are_spared_when_too_many_others_have_failed() -> None:
    events: list[Event] = []
    limits = Limits(1, max_failures=1)
    with Fleet(FakeTransport(down=frozenset(HOSTS[:2])), events.append, limits) as fleet:
        assert not fleet.each(HOSTS, echo)
    failures = [event for event in events if isinstance(event, Failed)]
    causes = {event.host: event.cause for event in failures}
    assert list(map(causes.get, HOSTS)) == ["refused"] * 2 + ["not-tried"] * 6


def test_run_ends_at_its_deadline_and_late_answers_are_not_heard() -> None:
    events: list[Event] = []
    go_on = threading.Event()

    def answer(_: Command) -> Completed:
        go_on.wait(30)
        return Completed(0)

    limits = Limits(2, deadline=time.monotonic() + 0.3)
    with Fleet(FakeTransport(answer), events.append, limits) as fleet:
        started = time.monotonic()
        assert not fleet.each(HOSTS[:3], echo)
        assert time.monotonic() - started < 5
        go_on.set()
        assert not fleet.each(HOSTS[:1], echo), "the time of the whole run is over"
    failures = [event for event in events if isinstance(event, Failed)]
    assert [event.cause for event in failures] == ["deadline"] * 4
    assert isinstance(events[-1], Failed)


def test_patient_tasks_run_on_more_hosts_at_once() -> None:
    together = threading.Barrier(3, timeout=10)

    def meet(node: Node) -> str:
        together.wait()
        return node.host.name

    with Fleet(FakeTransport(), lambda _: None, Limits(1, waiting=3)) as fleet:
        assert len(fleet.each(HOSTS[:3], meet, patient=True)) == 3


def test_kept_connection_that_is_lost_is_made_anew_once_if_that_is_wanted() -> None:
    lost = LinkLostError("link-lost", "the connection broke")
    broken = False

    def answer(_: Command) -> Completed:
        nonlocal broken
        if broken:
            broken = False
            raise lost
        return Completed(0)

    for renew, failures in ((True, 0), (False, 1)):
        transport, events = FakeTransport(answer), list[Event]()
        with Fleet(transport, events.append, Limits(1)) as fleet:
            assert fleet.each(HOSTS[:1], echo, renew=renew)
            transport.made.clear()
            broken = True
            fleet.each(HOSTS[:1], echo, renew=renew)
            assert len(transport.made) == 1 - failures
        assert sum(isinstance(event, Failed) for event in events) == failures


def test_new_connection_that_is_lost_is_not_tried_again() -> None:
    def answer(_: Command) -> Completed:
        raise LinkLostError("link-lost", "the connection broke")

    transport, events = FakeTransport(answer), list[Event]()
    with Fleet(transport, events.append, Limits(1)) as fleet:
        assert fleet.each(HOSTS[:1], echo, renew=True) == {}
    assert sum(isinstance(event, Failed) for event in events) == 1


def test_tasks_that_wait_for_each_other_are_all_begun() -> None:
    all_of_them = threading.Barrier(len(HOSTS), timeout=10)

    def meet(node: Node) -> str:
        all_of_them.wait()
        return node.host.name

    with Fleet(FakeTransport(), lambda _: None, Limits(1)) as fleet:
        assert len(fleet.each(HOSTS, meet, together=True)) == len(HOSTS)
