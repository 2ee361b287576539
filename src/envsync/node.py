"""A connected host, as the worker that does something on it sees it."""

from __future__ import annotations

import time

from envsync.diagnose import failure
from envsync.events import EventSink, Observed, Phase, Probed, Progress
from envsync.model import Facts, Host
from envsync.observation import Observation, observe
from envsync.observation import parse as parse_observation
from envsync.ports import Command, Completed, Connection, Reached
from envsync.probes import facts
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
