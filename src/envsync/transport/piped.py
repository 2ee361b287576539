"""One command over the three pipes of a child of this process."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO

from envsync.ports import Completed
from envsync.transport.shell import Exchange
from envsync.transport.streams import Feed

_CHUNK = 65536
_TICK = 0.2


@dataclass(frozen=True)
class Program:
    """A child that takes an exchange to the shell that is meant to have it."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str | None = None


class Pipe:
    """Runs one program after the other; `cut` ends the one that runs, from any thread."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._cut = False

    def carry(self, exchange: Exchange, program: Program) -> Completed:
        """Run `program`, and the exchange through it. Raises as `Connection.run` does."""
        if self._cut:
            raise exchange.lost("it was closed")
        with subprocess.Popen(
            program.argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=program.env,
            cwd=program.cwd,
            start_new_session=True,  # a ^C is ours to pass on
        ) as process:
            self._process = process
            try:
                if self._cut:
                    raise exchange.lost("it was closed")
                _pump(process, exchange)
                if exchange.overdue:
                    raise exchange.timed_out()
                return exchange.finish(process.wait())
            except BaseException:
                end(process)
                raise
            finally:
                self._process = None
                exchange.feed.close()

    def close(self) -> None:
        """Nothing is carried from now on."""
        self._cut = True

    def cut(self) -> None:
        """The same, and what runs is ended."""
        self.close()
        if (process := self._process) is not None:
            end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask a process, and all of its session that it leads, to end."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGTERM)


def _pump(process: subprocess.Popen[bytes], exchange: Exchange) -> None:
    """Move bytes both ways until the far side has closed both streams or is overdue."""
    assert process.stdin is not None  # noqa: S101 (Popen was given PIPE)
    assert process.stdout is not None  # noqa: S101
    assert process.stderr is not None  # noqa: S101
    feed = exchange.feed
    os.set_blocking(process.stdin.fileno(), False)
    feeds = {process.stdout: exchange.feed_stdout, process.stderr: exchange.feed_stderr}
    with selectors.DefaultSelector() as selector:
        for stream in feeds:
            selector.register(stream, selectors.EVENT_READ)
        selector.register(process.stdin, selectors.EVENT_WRITE)
        open_streams = len(feeds)
        while open_streams and not exchange.overdue:
            for key, _ in selector.select(_TICK):
                if key.fileobj is process.stdin:
                    write_some(process.stdin, feed)
                    if not feed.pending:
                        selector.unregister(process.stdin)
                        if exchange.close_input:
                            process.stdin.close()
                    continue
                data = os.read(key.fd, _CHUNK)
                if data:
                    feeds[key.fileobj](data)  # type: ignore[index]  # only our own streams
                else:
                    selector.unregister(key.fileobj)
                    open_streams -= 1


def write_some(stream: IO[bytes], feed: Feed) -> None:
    """Write as much as a pipe that does not block takes; a reader that has gone takes it all."""
    try:
        feed.sent(os.write(stream.fileno(), feed.pending[:_CHUNK]))
    except BlockingIOError:
        pass  # it polls writable from a page on
    except BrokenPipeError:
        feed.close()
