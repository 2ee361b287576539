"""An SSH server for the demo's nodes, on paramiko's server side: needs no sshd and no root.

It serves from threads of the demo's own process, so that nothing of it can outlive the demo.
Every command runs with its node's home and environment, in a session of its own that ends
with the connection.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

import paramiko
from paramiko.common import (
    AUTH_FAILED,
    AUTH_SUCCESSFUL,
    OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED,
    OPEN_SUCCEEDED,
)

# paramiko logs what ends a connection; for a server that is everyday life.
logging.getLogger("paramiko").addHandler(logging.NullHandler())
logging.getLogger("paramiko").propagate = False

_CHUNK = 32768
_GONE = (OSError, EOFError, paramiko.SSHException)
"""What paramiko raises when the other side is no longer there."""
_GRACE = 1.0
"""Seconds for each way of ending a command: by itself, by TERM, by KILL."""


class DemoNode:
    """One node: listens on 127.0.0.1 at `port` and lets one key in."""

    def __init__(
        self, env: Mapping[str, str], host_key: paramiko.PKey, client_key: paramiko.PKey
    ) -> None:
        self._env = dict(env)
        self._host_key = host_key
        self._client_key = client_key
        self._served: list[tuple[_Transport, threading.Thread]] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        # As sshd tells the programs of a session who talks to whom.
        self._env["SSH_CONNECTION"] = f"127.0.0.1 0 127.0.0.1 {self.port}"
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()

    def close(self) -> None:
        """Stop listening, end every connection and what runs in it: in seconds at most."""
        # Closing alone would leave a thread in accept(), and the port open, on Linux.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._acceptor.join()
        for transport, _ in self._served:
            transport.close()
            transport.sock.close()  # also of one that has not begun to talk
        for _, thread in self._served:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            transport = _Transport(connection)
            transport.add_server_key(self._host_key)
            thread = threading.Thread(target=self._serve, args=(transport,), daemon=True)
            self._served.append((transport, thread))
            thread.start()

    def _serve(self, transport: _Transport) -> None:
        door = _Door(self._client_key, self._env, transport)
        with contextlib.suppress(*_GONE):
            transport.start_server(server=door)
            transport.join()
        transport.close()
        door.end_commands()


class _Transport(paramiko.Transport):
    """Knows when a request has been answered.

    A command may end sooner than the answer to its request is sent, and a client that sees
    the channel close first takes the request for refused.
    """

    def __init__(self, connection: socket.socket) -> None:
        super().__init__(connection)
        self._unanswered: list[threading.Event] = []

    def expect_answer(self) -> threading.Event:
        """For a request that is being answered in this thread: set when the answer is out."""
        event = threading.Event()
        self._unanswered.append(event)
        return event

    def _send_user_message(self, data: paramiko.Message) -> None:
        super()._send_user_message(data)  # type: ignore[misc]
        if threading.current_thread() is self:
            while self._unanswered:
                self._unanswered.pop().set()


class _Door(paramiko.ServerInterface):
    """Says who may come in and what may be asked for: one key, and commands."""

    def __init__(
        self, client_key: paramiko.PKey, env: Mapping[str, str], transport: _Transport
    ) -> None:
        self._client_key = client_key
        self._env = env
        self._transport = transport
        self._running: set[int] = set()

    def get_allowed_auths(self, username: str) -> str:  # noqa: ARG002 (anybody)
        return "publickey"

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:  # noqa: ARG002
        fits = key == self._client_key
        return AUTH_SUCCESSFUL if fits else AUTH_FAILED

    def check_channel_request(self, kind: str, chanid: int) -> int:  # noqa: ARG002
        if kind == "session":
            return OPEN_SUCCEEDED
        return OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        # Started here, in the connection's own thread, so that none starts after its end.
        try:
            process = _start(command, self._env)
        except OSError:
            return False
        self._running.add(process.pid)
        answered = self._transport.expect_answer()
        attend = threading.Thread(
            target=self._attend, args=(channel, process, answered), daemon=True
        )
        attend.start()
        return True

    def end_commands(self) -> None:
        """End what still runs, children included, after a moment to end by itself.

        A command whose input is its tether tidies up first; a signal to all at once would
        end the part of it that does so.
        """
        sessions = tuple(self._running)
        for how in (signal.SIGTERM, signal.SIGKILL):
            if _ended(sessions):
                return
            for group in _groups(sessions):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(group, how)
        _ended(sessions)

    def _attend(
        self,
        channel: paramiko.Channel,
        process: subprocess.Popen[bytes],
        answered: threading.Event,
    ) -> None:
        answered.wait(_GRACE)
        _relay(channel, process)
        self._running.discard(process.pid)


def _start(command: bytes, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ["/bin/sh", "-c", command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
        cwd=Path(env["HOME"]),
        start_new_session=True,
    )


def _groups(sessions: tuple[int, ...]) -> set[int]:
    """The process groups that live in `sessions`; `timeout` makes one of its own.

    Field 6 of /proc/PID/stat is the session (proc(5)). Without /proc only the group that
    each session began with is known.
    """
    if not sessions:
        return set()
    if not Path("/proc/self/stat").exists():
        return {session for session in sessions if _group_lives(session)}
    found = set()
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, group, session = file.read_text("latin-1").rpartition(")")[2].split()[:4]
            if int(session) in sessions and state not in "ZX":
                found.add(int(group))
    return found


def _ended(sessions: tuple[int, ...]) -> bool:
    """Wait a moment for all of `sessions` to end; whether they did."""
    deadline = time.monotonic() + _GRACE
    while _groups(sessions):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _relay(channel: paramiko.Channel, process: subprocess.Popen[bytes]) -> None:
    """Carry the three streams, all at once, until `process` has ended, then its exit code."""
    pairs = ((process.stdout, channel.sendall), (process.stderr, channel.sendall_stderr))
    readers = [threading.Thread(target=_drain, args=pair, daemon=True) for pair in pairs]
    for thread in (threading.Thread(target=_feed, args=(channel, process), daemon=True), *readers):
        thread.start()
    for reader in readers:
        reader.join()
    exit_code = process.wait()
    with contextlib.suppress(*_GONE):
        channel.send_exit_status(exit_code if exit_code >= 0 else 128 - exit_code)
    with contextlib.suppress(*_GONE):
        channel.close()


def _feed(channel: paramiko.Channel, process: subprocess.Popen[bytes]) -> None:
    """Hand over what the client sends, to the end of its input or of the connection."""
    assert process.stdin is not None  # noqa: S101 (Popen was given PIPE)
    with contextlib.suppress(*_GONE):
        while data := channel.recv(_CHUNK):
            process.stdin.write(data)
            process.stdin.flush()
    with contextlib.suppress(OSError):
        process.stdin.close()


def _drain(stream: IO[bytes] | None, send: Callable[[bytes], object]) -> None:
    """Send what `stream` yields; closed when nobody listens, so that its writer notices."""
    assert stream is not None  # noqa: S101 (Popen was given PIPE)
    with stream, contextlib.suppress(*_GONE):
        while data := os.read(stream.fileno(), _CHUNK):
            send(data)
