"""An SSH server for the demo's nodes, on paramiko's server side: needs no sshd and no root.

It serves from threads of the demo's own process, so that nothing of it can outlive the demo.
Every command runs with its node's home and environment, in a process group of its own that
ends with the connection.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
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


class DemoNode:
    """One node: listens on 127.0.0.1 at `port` and lets one key in."""

    def __init__(
        self, env: Mapping[str, str], host_key: paramiko.PKey, client_key: paramiko.PKey
    ) -> None:
        self._env = dict(env)
        self._host_key = host_key
        self._client_key = client_key
        self._transports: list[paramiko.Transport] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Stop listening and end every connection and what runs in it."""
        self._listener.close()
        for transport in self._transports:
            transport.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        transport = paramiko.Transport(connection)
        transport.add_server_key(self._host_key)
        self._transports.append(transport)
        with contextlib.suppress(paramiko.SSHException, EOFError, OSError):
            transport.start_server(server=_Door(self._client_key, self._env))


class _Door(paramiko.ServerInterface):
    """Says who may come in and what may be asked for: one key, and commands."""

    def __init__(self, client_key: paramiko.PKey, env: Mapping[str, str]) -> None:
        self._client_key = client_key
        self._env = env

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
        threading.Thread(target=_run, args=(channel, command, self._env), daemon=True).start()
        return True


@contextlib.contextmanager
def _closing(channel: paramiko.Channel) -> Iterator[None]:
    """Close the channel at the end, also when the client has gone away."""
    try:
        yield
    finally:
        with contextlib.suppress(OSError, EOFError):
            channel.close()


def _run(channel: paramiko.Channel, command: bytes, env: Mapping[str, str]) -> None:
    """Run `command` for the channel to its end; streams flow both ways at once."""
    with (
        _closing(channel),
        subprocess.Popen(
            ["/bin/sh", "-c", command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            cwd=Path(env["HOME"]),
            start_new_session=True,
        ) as process,
    ):
        feeder = threading.Thread(target=_feed, args=(channel, process), daemon=True)
        feeder.start()
        readers = [
            threading.Thread(target=_drain, args=(stream, send), daemon=True)
            for stream, send in (
                (process.stdout, channel.sendall),
                (process.stderr, channel.sendall_stderr),
            )
        ]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        exit_code = process.wait()
        with contextlib.suppress(OSError):
            channel.send_exit_status(exit_code if exit_code >= 0 else 128 - exit_code)


def _feed(channel: paramiko.Channel, process: subprocess.Popen[bytes]) -> None:
    """Hand over what the client sends; end the process when the client is gone."""
    assert process.stdin is not None  # noqa: S101 (Popen was given PIPE)
    with contextlib.suppress(OSError):
        while data := channel.recv(_CHUNK):
            process.stdin.write(data)
            process.stdin.flush()
    with contextlib.suppress(OSError):
        process.stdin.close()
    if not channel.get_transport().is_active() and process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)


def _drain(stream: IO[bytes] | None, send: Callable[[bytes], object]) -> None:
    assert stream is not None  # noqa: S101 (Popen was given PIPE)
    with contextlib.suppress(OSError):
        while data := os.read(stream.fileno(), _CHUNK):
            send(data)
