"""paramiko's SSH session, without what it does for every connection and nobody here looks at.

Where a thousand hosts are reached from two processors, each of these counts: a thread only for
the seconds of the handshake, looks every 0.1 s at an answer that wakes us anyway, and the text
of messages for a log.
"""

from __future__ import annotations

import socket
import threading
import time

import paramiko
from paramiko.packet import Packetizer

_LOOK = 1.0
"""Seconds between two looks at whether there still is a connection, while waiting for an answer."""


class _Untimed(Packetizer):
    """Starts no thread for the time of the handshake: `start_client` has a limit for it."""

    def start_handshake(self, timeout: float) -> None:
        """Leave the time to who waits."""


class Session(paramiko.Transport):
    """The client's end of a connection."""

    def __init__(self, wire: socket.socket | paramiko.Channel) -> None:
        super().__init__(wire, packetizer_class=_Untimed)

    def start_client(
        self, event: threading.Event | None = None, timeout: float | None = None
    ) -> None:
        """As paramiko's: returns silently after `timeout` seconds; raises what it failed of."""
        done = event or threading.Event()
        super().start_client(done)
        if event is None:
            self._await(done, timeout)
            if not self.is_active():
                raise self.get_exception() or paramiko.SSHException("the negotiation failed")

    def auth_publickey(
        self, username: str, key: paramiko.PKey, event: threading.Event | None = None
    ) -> list[str]:
        """As paramiko's: raises AuthenticationException; gives back what the server still asks."""
        done = event or threading.Event()
        super().auth_publickey(username, key, done)
        if event is not None or self.auth_handler is None:
            return []
        self._await(done, self.auth_timeout)
        return self.auth_handler.wait_for_response(done)

    def _await(self, done: threading.Event, limit: float | None) -> None:
        end = time.monotonic() + (limit if limit is not None else threading.TIMEOUT_MAX)
        while self.is_active() and (left := end - time.monotonic()) > 0:
            if done.wait(min(left, _LOOK)):
                return

    def _log(self, level: int, msg: object, *args: object) -> None:
        """Say nothing: what went wrong reaches the caller as an exception."""

    def _parse_debug(self, m: paramiko.Message) -> None:
        """Leave a server's SSH_MSG_DEBUG unread (RFC 4253, 11.3): paramiko would spell it out."""

    def _filter_algorithm(self, type_: str) -> tuple[str, ...]:
        """Those that were chosen; none is disabled besides."""
        chosen: tuple[str, ...] = getattr(self, f"_preferred_{type_}")
        return chosen
