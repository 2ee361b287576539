"""The agent of this machine, lent to a host for one command: ssh_config's ForwardAgent.

The messages are those of draft-ietf-sshm-ssh-agent: a length of four bytes, a type, the rest.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable

import paramiko

_ASKED = frozenset((11, 13, 27))
"""Which keys there are; a signature; an extension, such as which session a signature is for."""
_FAILURE = b"\0\0\0\1\5"
_MOST = 256 * 1024
"""Bytes of a message, as in OpenSSH's agent."""
_PATIENCE = 60.0
"""Seconds; whoever has to touch a key needs some of them."""


class Lent:
    """What a host's commands ask goes to the agent, until `close`; it cannot change the agent."""

    def __init__(self, channel: paramiko.Channel) -> None:
        """To be made before `channel` is told its command."""
        self._lock = threading.Lock()
        self._open: list[paramiko.Channel] = []
        self._over = False
        channel.request_forward_agent(self._begin)

    def close(self) -> None:
        with self._lock:
            self._over = True
            for channel in self._open:
                channel.close()

    def _begin(self, channel: paramiko.Channel) -> None:
        with self._lock:
            if self._over:
                channel.close()
                return
            self._open.append(channel)
        threading.Thread(target=_serve, args=(channel,), name="envsync-agent", daemon=True).start()


def is_there() -> bool:
    """Whether this machine has an agent to lend."""
    return bool(os.environ.get("SSH_AUTH_SOCK"))


def _serve(channel: paramiko.Channel) -> None:
    with (
        contextlib.suppress(OSError, EOFError, paramiko.SSHException),
        channel,
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as agent,
    ):
        agent.settimeout(_PATIENCE)
        agent.connect(os.environ["SSH_AUTH_SOCK"])
        while True:
            question = _message(channel.recv)
            if question[4] not in _ASKED:
                channel.sendall(_FAILURE)
                continue
            agent.sendall(question)
            channel.sendall(_message(agent.recv))


def _message(recv: Callable[[int], bytes]) -> bytes:
    """A whole one, with its length. Raises EOFError at the end, and for what is none."""
    head = _exactly(recv, 4)
    size = int.from_bytes(head)
    if not 0 < size <= _MOST:
        raise EOFError
    return head + _exactly(recv, size)


def _exactly(recv: Callable[[int], bytes], size: int) -> bytes:
    found = b""
    while len(found) < size:
        data = recv(size - len(found))
        if not data:
            raise EOFError
        found += data
    return found
