"""Doing things on many hosts at once: bounded threads, one connection a host, one event stream.

Workers only put events into a queue. The thread that called takes them out and hands them to
the sink, so nothing downstream needs a lock.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable
from queue import Empty, SimpleQueue
from typing import Self, TypeVar

from envsync.diagnose import failure
from envsync.errors import HostError, LinkLostError
from envsync.events import Event, EventSink, Failed, Observed, Phase, Probed, Progress
from envsync.model import Facts, Host
from envsync.observation import Observation, observe
from envsync.observation import parse as parse_observation
from envsync.ports import Command, Completed, Connection, Transport
from envsync.probes import facts
from envsync.redact import redact

Result = TypeVar("Result")

_LINE_EVERY = 0.1
"""Seconds between two lines of a host that are passed on: nobody reads faster."""


class Node:
    """A connected host, as a worker sees it: runs commands and says what it is doing."""

    def __init__(self, host: Host, connection: Connection, emit: EventSink) -> None:
        self.host = host
        self.emit = emit
        self.phase = Phase.CONNECT
        self._connection = connection

    def close(self) -> None:
        self._connection.close()

    def run(self, phase: Phase, command: Command) -> Completed:
        """Run `command` as part of `phase`, passing lines on as they come."""
        self.enter(phase)
        shown = 0.0

        def show(line: str) -> None:
            nonlocal shown
            # For the eye; all that was printed is in the result.
            if time.monotonic() - shown > _LINE_EVERY:
                shown = time.monotonic()
                self.emit(Progress(self.host, phase, redact(line)))

        return self._connection.run(command, show)

    def must(self, phase: Phase, command: Command) -> Completed:
        """Run `command`, for which a nonzero exit code is a failure and no answer."""
        done = self.run(phase, command)
        if done.exit_code:
            raise failure(phase, done.exit_code, done.log)
        return done

    def enter(self, phase: Phase) -> None:
        self.phase = phase
        self.emit(Progress(self.host, phase))

    def observe(self, name: str) -> Observation:
        """What the node has; emits it as well."""
        observation = parse_observation(self.run(Phase.OBSERVE, observe(name)))
        self.emit(Observed(self.host, observation))
        return observation

    def probe(self, prefix: str, *, wide: bool = False) -> Facts:
        """What `prefix` holds; emits it as well. Raises HostError where there is none.

        With `wide` the wider facts as well, which takes longer.
        """
        command = facts.wide_probe(prefix) if wide else facts.probe(prefix)
        asked = time.time()
        found = facts.parse(self.run(Phase.PROBE, command), asked)
        self.emit(Probed(self.host, found))
        return found


class _Finished:
    """A worker's last word on a host: its result, or an exception that is a fault of ours."""

    def __init__(self, host: Host, result: object, fault: BaseException | None = None) -> None:
        self.host = host
        self.result = result
        self.fault = fault


class Fleet:
    """The hosts of a run. A host that fails is named in an event and left out from then on."""

    def __init__(self, transport: Transport, sink: EventSink, fan_out: int) -> None:
        self._transport = transport
        self._sink = sink
        self._fan_out = fan_out
        self._nodes: dict[Host, Node] = {}
        self._inbox: SimpleQueue[Event | _Finished] = SimpleQueue()

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
                    self._sink(item)
        for node in list(self._nodes.values()):
            node.close()

    def emit(self, event: Event) -> None:
        """An event of the calling thread's own, such as a decision about a host."""
        self._sink(event)

    def each(
        self,
        hosts: Iterable[Host],
        task: Callable[[Node], Result],
        blame: Callable[[HostError], HostError] = lambda error: error,
    ) -> dict[Host, Result]:
        """Run `task` on every host, `fan_out` at once; the results of those that succeeded.

        Connects where there is no connection yet. `blame` may say more of a host's failure than
        the failure itself. Re-raises an exception that is no HostError.
        """
        order = list(hosts)
        waiting: SimpleQueue[Host] = SimpleQueue()
        for host in order:
            waiting.put(host)

        def work() -> None:
            with contextlib.suppress(Empty):
                while True:
                    self._inbox.put(self._attempt(waiting.get_nowait(), task, blame))

        for number in range(min(self._fan_out, len(order))):
            # Daemons: an interrupted run must not wait for a host that does not answer.
            threading.Thread(target=work, name=f"envsync-{number}", daemon=True).start()
        results = self._collect(len(order))
        return {host: results[host] for host in order if host in results}  # type: ignore[misc]

    def _collect(self, outstanding: int) -> dict[Host, object]:
        results: dict[Host, object] = {}
        while outstanding:
            item = self._inbox.get()
            if isinstance(item, Event):
                self._sink(item)
                continue
            outstanding -= 1
            if item.fault is not None:
                raise item.fault
            if item.result is not _FAILED:
                results[item.host] = item.result
        return results

    def _attempt(
        self,
        host: Host,
        task: Callable[[Node], Result],
        blame: Callable[[HostError], HostError],
    ) -> _Finished:
        try:
            return _Finished(host, task(self._node(host)))
        except HostError as error:
            phase = self._nodes[host].phase if host in self._nodes else Phase.CONNECT
            if isinstance(error, LinkLostError):
                self.forget(host)
            self._inbox.put(failed(host, phase, blame(error)))
            return _Finished(host, _FAILED)
        except BaseException as error:  # noqa: BLE001 (raised again in the calling thread)
            return _Finished(host, _FAILED, error)

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
            self._nodes[host] = Node(host, self._transport.connect(host), self._inbox.put)
        return self._nodes[host]


_FAILED = object()


def failed(host: Host, phase: Phase, error: HostError) -> Failed:
    """The event that says so; secrets in what the host printed are left out."""
    return Failed(
        host, phase, error.cause, redact(error.message), redact(error.hint), redact(error.output)
    )
