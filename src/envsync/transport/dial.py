"""The way to a host's SSH port: a TCP connection, or a program that carries the bytes."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
from typing import IO

from envsync.errors import ConnectError
from envsync.transport.settings import Settings

_CHUNK = 65536
_SILENCE = 20.0
"""Seconds after which bytes that nobody acknowledges end a connection: a switch that starts anew
takes some of them."""
_LONGEST_STATEMENT = 2000
"""Bytes of what a ProxyCommand says when it fails."""


class Wire(socket.socket):
    """A TCP socket on which no small packet waits for an acknowledgement.

    paramiko reads a few bytes at a time, and sends in pieces. Nagle's algorithm and delayed
    acknowledgements would then cost 40 ms for many of them (tcp(7): TCP_NODELAY, TCP_QUICKACK).
    """

    _held = b""
    _quick: int = getattr(socket, "TCP_QUICKACK", 0)

    def recv(self, size: int, flags: int = 0) -> bytes:
        """At most `size` bytes, from what one read of the system has brought."""
        held = self._held or self._read(flags)
        self._held = held[size:]
        return held[:size]

    def _read(self, flags: int) -> bytes:
        data = super().recv(_CHUNK, flags)
        if self._quick:
            # Linux goes back to delaying by itself; so it is said after each read.
            self.setsockopt(socket.IPPROTO_TCP, self._quick, 1)
        return data

    def close(self) -> None:
        """End it for a thread as well that waits for bytes."""
        with contextlib.suppress(OSError):
            self.shutdown(socket.SHUT_RDWR)
        super().close()


class Program(Wire):
    """One end of a socket pair; at the other one runs a ProxyCommand."""

    process: subprocess.Popen[bytes]
    errors: IO[bytes]
    """What the program writes to standard error."""
    words = ""
    _quick = 0
    closing: threading.Lock

    def close(self) -> None:
        """End the program with the connection, as ssh does."""
        super().close()
        with self.closing:  # paramiko's thread closes it, too
            if self.errors.closed:
                return
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGHUP)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(0.5)
            self.errors.seek(0)
            self.words = self.errors.read(_LONGEST_STATEMENT).decode("utf-8", "replace")
            self.errors.close()

    def failure(self, command: str) -> ConnectError | None:
        """What the program ended with, if it has ended by itself."""
        self.close()
        code = self.process.returncode
        if code is None or code == -signal.SIGHUP:
            return None
        return ConnectError(
            "proxy",
            f"its ProxyCommand ended with exit code {code}: {command}",
            hint="run it by hand: it must bring an SSH server's greeting",
            output=self.words,
        )


def dial(way: Settings, timeout: float) -> socket.socket:
    """A connection to the host's port. `timeout` is in seconds and for each of its addresses.

    Raises ConnectError, as often as ssh_config's ConnectionAttempts says only at the end.
    """
    if way.command:
        return _by_program(way)
    for last in range(way.attempts - 1, -1, -1):
        try:
            return _connect(way, timeout)
        except OSError as error:
            if not last or isinstance(error, socket.gaierror):
                raise _unreached(way, error, timeout) from error
            time.sleep(1)  # as ssh does between two attempts
    raise AssertionError("there is at least one attempt")


def _connect(way: Settings, timeout: float) -> socket.socket:
    # As bytes: Python would take milliseconds to get ready for names that are not ASCII.
    name = way.address.encode() if way.address.isascii() else way.address
    found = socket.getaddrinfo(name, way.port, way.family, socket.SOCK_STREAM)
    failure = OSError("it has no address")
    for family, kind, protocol, _, place in found:
        wire = Wire(family, kind, protocol)
        try:
            wire.settimeout(timeout)
            if way.bind:
                wire.bind((way.bind, 0))
            wire.connect(place)
        except OSError as error:
            wire.close()
            failure = error
            continue
        _tune(wire, timeout)
        return wire
    raise failure


def _tune(wire: socket.socket, timeout: float) -> None:
    wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # Bytes that nobody acknowledges end the connection, where the system can do that (Linux).
    with contextlib.suppress(AttributeError, OSError):
        limit = int(max(timeout, _SILENCE) * 1000)
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, limit)


def _by_program(way: Settings) -> socket.socket:
    ours, theirs = socket.socketpair()
    with theirs:
        wire = Program(ours.family, ours.type, ours.proto, fileno=ours.detach())
        wire.closing = threading.Lock()
        wire.errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the wire)
        # What ssh does with it: the user's own shell, in whose place the program then runs.
        wire.process = subprocess.Popen(
            [os.environ.get("SHELL") or "/bin/sh", "-c", f"exec {way.command}"],
            stdin=theirs.fileno(),
            stdout=theirs.fileno(),
            stderr=wire.errors,
            start_new_session=True,
        )
    return wire


def _unreached(way: Settings, error: OSError, timeout: float) -> ConnectError:
    if isinstance(error, socket.gaierror):
        return ConnectError(
            "no-address",
            f"the name {way.address} has no address: {error.strerror}",
            hint="check the spelling, or use the address",
        )
    if isinstance(error, TimeoutError):
        return ConnectError(
            "timeout",
            f"no answer on port {way.port} within {timeout:.0f} s",
            hint="is the host up, and does a firewall let port"
            f" {way.port} through? --connect-timeout sets the limit",
        )
    if isinstance(error, ConnectionRefusedError):
        return ConnectError(
            "refused",
            f"nothing listens on port {way.port}",
            hint="is sshd running there, and is this its port?",
        )
    return ConnectError(
        "unreachable",
        f"port {way.port} cannot be reached: {error.strerror or error}",
        hint="check the network between here and the host",
    )
