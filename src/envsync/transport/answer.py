"""What a far side answers to a command: its own bytes, how it ended, and whether in time."""

from __future__ import annotations

import time
from collections.abc import Callable

from envsync.errors import CommandTimeoutError, HostError, LinkLostError
from envsync.ports import Completed, LineSink
from envsync.transport.streams import Frame, Lines

REFUSED = "login-shell"
"""The cause of a failure in which the script never began, as far as one can see."""

KILL_GRACE = 10
"""Seconds between the polite end of a command past its limit (TERM) and KILL."""


class Answer:
    """What comes back of one command from one far side, from this moment on."""

    def __init__(
        self,
        mark: str,
        limit: float,
        on_line: LineSink | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`limit` is the command's, in seconds."""
        self.limit = limit
        self._clock = clock
        self._started = clock()
        self._out, self._err = Frame(mark.encode()), Frame(mark.encode())
        self._stdout, self._stderr = bytearray(), bytearray()
        self._lines = Lines(on_line)

    @property
    def seconds(self) -> float:
        return self._clock() - self._started

    @property
    def overdue(self) -> bool:
        """True when even the far side's KILL should have happened: time for the backstop."""
        return self.seconds > self.limit + KILL_GRACE + 5

    def feed_stdout(self, data: bytes) -> None:
        self._stdout += self._out.feed(data)

    def feed_stderr(self, data: bytes) -> None:
        inside = self._err.feed(data)
        self._stderr += inside
        self._lines.feed(inside)

    def finish(self, exit_code: int) -> Completed:
        """The result of a far side that ended with `exit_code`.

        Raises CommandTimeoutError, and HostError when the login shell never ran the script.
        """
        self._stdout += self._out.rest()
        self._stderr += self._err.rest()
        if not self._out.opened:
            raise self._refused(exit_code)
        if exit_code in (124, 137) and self.seconds >= self.limit:
            raise self.timed_out()
        if self._out.closed:
            return Completed(exit_code, bytes(self._stdout), bytes(self._stderr), self.seconds)
        raise self.lost(f"the remote shell was ended (exit code {exit_code})")

    def timed_out(self) -> CommandTimeoutError:
        return CommandTimeoutError(
            "timeout",
            f"the command ran past its limit of {self.limit:.0f} s and was ended",
            hint="see what the host printed; raise the limit with --timeout if it was just slow",
            output=self._log(),
        )

    def lost(self, why: str) -> LinkLostError:
        return LinkLostError(
            "link-lost",
            f"the connection was lost after {self.seconds:.0f} s: {why}",
            hint="run the same command again: finished work is kept, half-built work is redone",
            output=self._log(),
        )

    def _log(self) -> str:
        return self._stderr.decode("utf-8", "replace")

    def _refused(self, exit_code: int) -> HostError:
        noise = bytes(self._out.noise + self._err.noise).decode("utf-8", "replace").strip()
        return HostError(
            REFUSED,
            f"the login shell ended with exit code {exit_code} before it ran anything",
            hint="check that `ssh HOST timeout 1 /bin/sh -c true` works for this user",
            output=noise,
        )
