"""A connected host, as the worker that does something on it sees it."""

from __future__ import annotations

import time

from envsync.diagnose import failure
from envsync.events import EventSink, Phase, Progress
from envsync.model import Host
from envsync.ports import Command, Completed, Connection, Reached
from envsync.redact import redact

_LINE_EVERY = 0.1
"""Seconds between two lines of a host that are passed on: nobody reads faster."""


class Node:
    """A connected host, as a worker sees it: runs commands and says what it is doing."""

    def __init__(
        self, host: Host, connection: Connection, emit: EventSink, connecting: float = 0.0
    ) -> None:
        self.host = host
        self.emit = emit
        self.connecting = connecting
        """Seconds that it took to get here."""
        self.phase = Phase.CONNECT
        self._connection = connection

    @property
    def reached(self) -> Reached:
        return self._connection.reached

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
