"""This machine as a host: the same wire, carried by a pipe instead of SSH."""

from __future__ import annotations

import contextlib
import getpass
import os
import selectors
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO

from envsync.model import Host
from envsync.ports import Command, Completed, Connection, LineSink, Reached
from envsync.transport.shell import Exchange, Feed

_CHUNK = 65536
_TICK = 0.2


class LocalConnection:
    """Runs commands in a child of this process, in a process group of its own."""

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self._env = dict(os.environ if env is None else env)
        self._closed = False

    @property
    def reached(self) -> Reached:
        return Reached("this machine", getpass.getuser())

    def run(self, command: Command, on_line: LineSink | None = None) -> Completed:
        exchange = Exchange(command, on_line)
        if self._closed:
            raise exchange.lost("it was closed")
        with subprocess.Popen(
            ["/bin/sh", "-c", exchange.wire],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._env,
            cwd=self._env.get("HOME"),
            start_new_session=True,
        ) as process:
            try:
                _pump(process, exchange)
                if exchange.overdue:
                    raise exchange.timed_out()
                return exchange.finish(process.wait())
            except BaseException:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGTERM)
                raise
            finally:
                exchange.feed.close()

    def close(self) -> None:
        self._closed = True


@dataclass(frozen=True)
class LocalTransport:
    """Reaches just one host: this one. `env` replaces the environment, HOME included."""

    env: Mapping[str, str] | None = None

    def connect(self, host: Host) -> Connection:  # noqa: ARG002 (there is just this one)
        return LocalConnection(self.env)

    def close(self) -> None:
        """Nothing is shared between connections."""

    @property
    def unread(self) -> tuple[str, ...]:
        return ()


def _pump(process: subprocess.Popen[bytes], exchange: Exchange) -> None:
    """Move bytes both ways until the far side has closed both streams or is overdue."""
    assert process.stdin is not None  # noqa: S101 (Popen was given PIPE)
    assert process.stdout is not None  # noqa: S101
    assert process.stderr is not None  # noqa: S101
    feed = exchange.feed
    feeds = {process.stdout: exchange.feed_stdout, process.stderr: exchange.feed_stderr}
    with selectors.DefaultSelector() as selector:
        for stream in feeds:
            selector.register(stream, selectors.EVENT_READ)
        selector.register(process.stdin, selectors.EVENT_WRITE)
        open_streams = len(feeds)
        while open_streams and not exchange.overdue:
            for key, _ in selector.select(_TICK):
                if key.fileobj is process.stdin:
                    _write(process.stdin, feed)
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


def _write(stream: IO[bytes], feed: Feed) -> None:
    """Write as much as a pipe surely takes; a reader that has gone away takes it all."""
    try:
        # A pipe that polls writable has room for at least PIPE_BUF (4096 on Linux) bytes.
        feed.sent(os.write(stream.fileno(), feed.pending[:4096]))
    except BrokenPipeError:
        feed.close()
