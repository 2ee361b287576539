"""Doing things on many hosts at once: bounded threads, one connection a host, one event stream.

Workers only put events into a queue. The thread that called takes them out and hands them to
the sink, so nothing downstream needs a lock.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import Self, TypeVar

from envsync.errors import HostError, LinkLostError
from envsync.events import Event, EventSink, Failed, Phase, Progress
from envsync.limits import Limits, not_tried, out_of_time
from envsync.model import Host
from envsync.node import Node
from envsync.ports import Transport
from envsync.redact import redact

Result = TypeVar("Result")
Blame = Callable[[HostError], HostError]


class _Finished:
    """A worker's last word on a host: its result, or an exception that is a fault of ours."""

    def __init__(
        self, host: Host, round_: int, result: object, fault: BaseException | None = None
    ) -> None:
        self.host = host
        self.round = round_
        self.result = result
        self.fault = fault


class Fleet:
    """The hosts of a run. A host that fails is named in an event and left out from then on."""

    def __init__(self, transport: Transport, sink: EventSink, limits: Limits) -> None:
        self._transport = transport
        self._sink = sink
        self._limits = limits
        self._bounds = limits
        """Those of the task that is under way."""
        self._nodes: dict[Host, Node] = {}
        self._inbox: SimpleQueue[Event | _Finished] = SimpleQueue()
        self._round = 0
        self._failures: set[Host] = set()
        self._given_up: set[Host] = set()
        """Hosts that the run did not wait for any longer: what they still say is not heard."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hand over what has happened, then end all connections.

        What still runs on a host ends with its connection.
        """
        with contextlib.suppress(Empty):
            while True:
                item = self._inbox.get_nowait()
                if isinstance(item, Event):
                    self._pass_on(item)
        for node in list(self._nodes.values()):
            node.close()
        self._transport.close()

    def emit(self, event: Event) -> None:
        """An event of the calling thread's own, such as a decision about a host."""
        self._sink(event)

    def each(
        self,
        hosts: Iterable[Host],
        task: Callable[[Node], Result],
        blame: Blame = lambda error: error,
        *,
        patient: bool = False,
        together: bool = False,
        last: bool = False,
        bounded: bool = True,
        renew: bool = False,
    ) -> dict[Host, Result]:
        """Run `task` on every host, many at once; the results of those that succeeded.

        Connects where there is no connection yet. `blame` may say more of a host's failure than
        the failure itself. `patient` is for tasks that keep the hosts busy and not us, `together`
        for those that wait for each other: all are begun, whatever the fan-out. After the `last`
        one a host's connection is closed at once. `bounded=False` is for what must be carried out
        or tidied up, whatever limits the run has. `renew` is for what may be done twice: a
        connection that was kept and turns out to be lost is made anew, once. Re-raises an
        exception that is no HostError.
        """
        order = list(hosts)
        self._bounds = self._limits if bounded else self._limits.lifted()
        self._round += 1
        self._failures.clear()  # a round that tidies up is not to be spared for an earlier one
        current = self._round
        waiting: SimpleQueue[Host] = SimpleQueue()
        for host in order:
            waiting.put(host)

        def work() -> None:
            with contextlib.suppress(Empty):
                while not self._is_enough:
                    host = waiting.get_nowait()
                    done = self._attempt(current, host, task, blame, renew=renew)
                    if last:
                        self.forget(host)
                    self._inbox.put(done)

        at_once = self._limits.waiting if patient else self._limits.fan_out
        at_once = len(order) if together else at_once
        if self._time_left() == 0.0:
            at_once = 0  # nothing is begun any more
        for number in range(min(at_once, len(order))):
            # Daemons: an interrupted run must not wait for a host that does not answer.
            threading.Thread(target=work, name=f"envsync-{number}", daemon=True).start()
        results = self._collect(order, waiting, blame)
        return {host: results[host] for host in order if host in results}  # type: ignore[misc]

    def _collect(
        self, order: Sequence[Host], waiting: SimpleQueue[Host], blame: Blame
    ) -> dict[Host, object]:
        results: dict[Host, object] = {}
        outstanding = dict.fromkeys(order)
        while outstanding:
            try:
                item = self._inbox.get(timeout=self._time_left())
            except Empty:
                self._give_up(outstanding, waiting, blame)
                break
            if isinstance(item, Event):
                self._pass_on(item)
            elif item.round == self._round:
                del outstanding[item.host]
                if item.fault is not None:
                    raise item.fault
                if item.result is not _FAILED:
                    results[item.host] = item.result
                for host in self._spared(waiting):
                    del outstanding[host]
                    self._sink(failed(host, Phase.CONNECT, blame(not_tried())))
        return results

    def _pass_on(self, event: Event) -> None:
        if event.host in self._given_up:
            return
        self._sink(event)

    @property
    def _is_enough(self) -> bool:
        limit = self._bounds.max_failures
        return limit is not None and len(self._failures) > limit

    def _spared(self, waiting: SimpleQueue[Host]) -> Iterator[Host]:
        """The hosts that are not tried any more, since too many others have failed."""
        if self._is_enough:
            with contextlib.suppress(Empty):
                while True:
                    yield waiting.get_nowait()

    def _time_left(self) -> float | None:
        if self._bounds.deadline is None:
            return None
        return max(0.0, self._bounds.deadline - time.monotonic())

    def _give_up(
        self, outstanding: Iterable[Host], waiting: SimpleQueue[Host], blame: Blame
    ) -> None:
        """The run's time is over: end what still runs, and say so of each host."""
        with contextlib.suppress(Empty):
            while True:
                waiting.get_nowait()
        for host in outstanding:
            phase = self._nodes[host].phase if host in self._nodes else Phase.CONNECT
            self._given_up.add(host)
            self.forget(host)
            self._sink(failed(host, phase, blame(out_of_time())))

    def _attempt(
        self,
        current: int,
        host: Host,
        task: Callable[[Node], Result],
        blame: Blame,
        *,
        renew: bool,
    ) -> _Finished:
        try:
            return _Finished(host, current, self._perform(host, task, renew=renew))
        except HostError as error:
            phase = self._nodes[host].phase if host in self._nodes else Phase.CONNECT
            if isinstance(error, LinkLostError):
                self.forget(host)
            self._failures.add(host)
            self._inbox.put(failed(host, phase, blame(error)))
            return _Finished(host, current, _FAILED)
        except BaseException as error:  # noqa: BLE001 (raised again in the calling thread)
            return _Finished(host, current, _FAILED, error)

    def _perform(self, host: Host, task: Callable[[Node], Result], *, renew: bool) -> Result:
        kept = host in self._nodes
        try:
            return task(self._node(host))
        except LinkLostError:
            if not (renew and kept):
                raise
            self.forget(host)
            return task(self._node(host))

    def connected(self, host: Host) -> bool:
        """Whether there is a connection, as far as is known without using it."""
        return host in self._nodes

    def forget(self, host: Host) -> None:
        """Close the host's connection, which is of no use any more; the next task makes one."""
        if node := self._nodes.pop(host, None):
            node.close()

    def _node(self, host: Host) -> Node:
        if host not in self._nodes:
            self._inbox.put(Progress(host, Phase.CONNECT))
            started = time.monotonic()
            connection = self._transport.connect(host)
            self._nodes[host] = Node(host, connection, self._inbox.put, time.monotonic() - started)
        return self._nodes[host]


_FAILED = object()


def failed(host: Host, phase: Phase, error: HostError) -> Failed:
    """The event that says so; secrets in what the host printed are left out."""
    return Failed(
        host, phase, error.cause, redact(error.message), redact(error.hint), redact(error.output)
    )
