"""Jump hosts: one connection to each, shared by all hosts behind it (ssh_config(5): ProxyJump)."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import paramiko
from paramiko.common import cMSG_CHANNEL_CLOSE

from envsync.errors import ConnectError
from envsync.transport.settings import Settings

Route = tuple[Settings, ...]

AT_ONCE = 16
"""Hosts that are being reached through one jump host at a time: it does the work for all."""

_REMEMBERED = 30.0
"""Seconds for which a jump host that failed is not tried again for the next host behind it."""


class _InOrder:
    """A transport as one of its channels sees it: nothing of the channel is sent after its end.

    paramiko may send data of one thread after another has answered the server's closing of the
    channel; sshd then ends the whole connection, and with it those of all other hosts.
    """

    def __init__(self, transport: paramiko.Transport) -> None:
        self._transport = transport
        self._lock = threading.Lock()
        self._ended = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def _send_user_message(self, message: paramiko.Message) -> None:
        with self._lock:
            if not self._ended:
                self._ended = message.asbytes()[:1] == cMSG_CHANNEL_CLOSE
                self._transport._send_user_message(message)  # type: ignore[attr-defined]  # noqa: SLF001


@dataclass
class _Shared:
    """The connection to a jump host, and who may use it now."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    gate: threading.BoundedSemaphore = field(
        default_factory=lambda: threading.BoundedSemaphore(AT_ONCE)
    )
    transport: paramiko.Transport | None = None
    failure: ConnectError | None = None
    failed_at: float = 0.0


class Bastions:
    """The jump hosts of this run. Safe to share between threads."""

    def __init__(self, reach: Callable[[Settings, Route], paramiko.Transport]) -> None:
        """`reach` logs in to a host by way of others."""
        self._reach = reach
        self._shared: dict[Route, _Shared] = {}
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def passing(self, route: Route) -> Iterator[None]:
        """Hold one of the places on the way through `route`."""
        with self._of(route).gate if route else contextlib.nullcontext():
            yield

    def channel(self, route: Route, way: Settings, timeout: float) -> paramiko.Channel:
        """A way to the port of `way` from the last of `route`. `timeout` is in seconds."""
        try:
            shared = self._transport(route)
            channel = shared.open_channel(
                "direct-tcpip", (way.address, way.port), ("127.0.0.1", 0), timeout=timeout
            )
        except paramiko.ChannelException as error:
            raise _refused(route[-1], way, error) from error
        except (paramiko.SSHException, OSError, EOFError) as error:
            raise ConnectError(
                "jump",
                f"the jump host {route[-1].name} gave no way to {way.address}:{way.port}"
                f" within {timeout:.0f} s: {str(error) or type(error).__name__}",
                hint=f"see `ssh -J {route[-1].name} {way.name} true`",
            ) from error
        channel.transport = _InOrder(shared)  # type: ignore[assignment]  # all it uses of it
        return channel

    def close(self) -> None:
        """End the connections to all jump hosts, those behind others first."""
        for route in sorted(self._shared, key=len, reverse=True):
            if transport := self._shared[route].transport:
                transport.close()

    def _of(self, route: Route) -> _Shared:
        with self._lock:
            return self._shared.setdefault(route, _Shared())

    def _transport(self, route: Route) -> paramiko.Transport:
        shared = self._of(route)
        with shared.lock:
            if shared.transport is not None and shared.transport.is_active():
                return shared.transport
            if shared.failure and time.monotonic() - shared.failed_at < _REMEMBERED:
                raise shared.failure
            try:
                shared.transport = self._reach(route[-1], route[:-1])
            except ConnectError as error:
                shared.failure, shared.failed_at = _blamed(route[-1], error), time.monotonic()
                raise shared.failure from error
            return shared.transport


def _blamed(jump: Settings, error: ConnectError) -> ConnectError:
    message = (
        error.message
        if "jump host" in error.message
        else (f"the jump host {jump.name} was not reached: {error.message}")
    )
    return ConnectError(error.cause, message, hint=error.hint, output=error.output)


def _refused(jump: Settings, way: Settings, error: paramiko.ChannelException) -> ConnectError:
    place = f"{way.address}:{way.port}"
    if error.code == paramiko.common.OPEN_FAILED_CONNECT_FAILED:
        return ConnectError(
            "unreachable",
            f"the jump host {jump.name} does not reach {place}: {error.text}",
            hint=f"is the host up, and does {jump.name} know it by that name?",
        )
    return ConnectError(
        "jump",
        f"the jump host {jump.name} lets nobody through to {place}: {error.text}",
        hint=f"AllowTcpForwarding and PermitOpen in its sshd_config decide that ({jump.name})",
    )
