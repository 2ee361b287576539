"""A host over SSH, once it has been reached: one connection, a channel for each command."""

from __future__ import annotations

import contextlib
import select
import threading
import time

import paramiko

from envsync.ports import Command, Completed, Handed, LineSink, Reached
from envsync.transport import agent
from envsync.transport.shell import Exchange
from envsync.transport.streams import Feed

_CHUNK = 65536
_PACKET = 32768 - 64
"""What paramiko puts into one packet of the size that OpenSSH takes."""
_TICK = 0.25
"""Seconds between looks at the clock while the host is silent."""


class Heartbeat:
    """Asks the server now and then whether it is there; says how long it has been silent.

    A dead network shows up as a request without an answer. paramiko's own keepalive only
    sends and never notices, and a request that waits has no timeout: hence a thread.
    """

    def __init__(self, transport: paramiko.Transport, interval: float) -> None:
        self._transport = transport
        self._interval = interval
        self._answered = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="envsync-heartbeat", daemon=True)
        self._thread.start()

    @property
    def silent_for(self) -> float:
        """Seconds since the server's last answer."""
        return time.monotonic() - self._answered

    def stop(self) -> None:
        self._stop.set()

    def _beat(self) -> None:
        while not self._stop.wait(self._interval) and self._transport.is_active():
            with contextlib.suppress(paramiko.SSHException, OSError, EOFError):
                # Refused or granted does not matter: any answer is a sign of life.
                self._transport.global_request("keepalive@openssh.com", wait=True)
                if self._transport.is_active():
                    self._answered = time.monotonic()


class SshConnection:
    """An authenticated connection, given up after `silence` unanswered keepalives."""

    def __init__(
        self,
        transport: paramiko.Transport,
        reached: Reached,
        keepalive: float,
        silence: int,
        *,
        lend_agent: bool = False,
    ) -> None:
        """`keepalive` is the seconds from one to the next.

        With `lend_agent` commands that go on to another host may use this machine's agent.
        """
        self.reached = reached
        self._transport = transport
        self._keepalive = keepalive
        self._patience = keepalive * silence
        self._lend_agent = lend_agent

    def run(self, command: Command, on_line: LineSink | None = None) -> Completed:
        exchange = Exchange(command, on_line)
        try:
            channel = self._transport.open_session(timeout=self._patience)
            lent: agent.Lent | None = None
            try:
                if self._lend_agent and isinstance(command.stdin, Handed) and agent.is_there():
                    lent = agent.Lent(channel)
                channel.exec_command(exchange.wire)
                exit_code = self._pump(channel, exchange)
            finally:
                exchange.feed.close()
                if lent is not None:
                    lent.close()
                # The answer is here already: a link that breaks now takes nothing with it.
                with contextlib.suppress(paramiko.SSHException, OSError, EOFError):
                    channel.close()
        except (paramiko.SSHException, OSError, EOFError) as error:
            raise exchange.lost(str(error) or type(error).__name__) from error
        if exit_code < 0:  # closed without an exit status
            why = "the server ended the session" if self._transport.is_active() else "cut off"
            raise exchange.lost(why)
        return exchange.finish(exit_code)

    def close(self) -> None:
        self._transport.close()

    def _pump(self, channel: paramiko.Channel, exchange: Exchange) -> int:
        """Move bytes both ways, both output streams at once; the exit code, or -1 if cut off."""
        poller = select.poll()
        poller.register(channel.fileno(), select.POLLIN)
        feed = exchange.feed
        channel.settimeout(_TICK)
        heartbeat: Heartbeat | None = None
        try:
            while not channel.closed or _readable(channel):
                if feed.pending:
                    _send(channel, feed)
                    if not feed.pending and exchange.close_input:
                        channel.shutdown_write()
                moved = _drain(channel, exchange)
                if _finished(channel):
                    return channel.recv_exit_status()
                if not moved and not feed.pending:
                    _wait(channel, poller)
                if heartbeat is None and exchange.seconds > self._keepalive:
                    heartbeat = Heartbeat(self._transport, self._keepalive)
                self._check(exchange, heartbeat)
        finally:
            if heartbeat is not None:
                heartbeat.stop()
        return channel.exit_status

    def _check(self, exchange: Exchange, heartbeat: Heartbeat | None) -> None:
        if exchange.overdue:
            raise exchange.timed_out()
        if heartbeat is not None and heartbeat.silent_for > self._patience:
            silent = heartbeat.silent_for
            # Closing also frees the heartbeat, which waits for an answer without a limit.
            self._transport.close()
            raise exchange.lost(f"no answer from the host for {silent:.0f} s")


def _readable(channel: paramiko.Channel) -> bool:
    return channel.recv_ready() or channel.recv_stderr_ready()


def _send(channel: paramiko.Channel, feed: Feed) -> None:
    """Send a packet, waiting a moment for room in the window; who has ended takes it all."""
    try:
        feed.sent(channel.send(bytes(feed.pending[:_PACKET])))
    except OSError as error:
        if channel.closed or channel.exit_status_ready():
            feed.close()
        elif not isinstance(error, TimeoutError):
            raise


def _drain(channel: paramiko.Channel, exchange: Exchange) -> bool:
    """Take what has arrived on either stream, never waiting; True if there was anything."""
    moved = False
    if channel.recv_ready():
        exchange.feed_stdout(channel.recv(_CHUNK))
        moved = True
    if channel.recv_stderr_ready():
        exchange.feed_stderr(channel.recv_stderr(_CHUNK))
        moved = True
    return moved


def _wait(channel: paramiko.Channel, poller: select.poll) -> None:
    """Until something arrives, or a moment is over."""
    # Once the output has ended the poller would be ready for ever, and wait for nothing.
    if channel.eof_received:
        channel.status_event.wait(_TICK)
    else:
        poller.poll(_TICK * 1000)


def _finished(channel: paramiko.Channel) -> bool:
    """Both streams ended and the exit status is here; a grandchild may hold them open."""
    return bool(channel.eof_received) and channel.exit_status_ready() and not _readable(channel)
