"""Reaching a host over SSH: the way there, key exchange, host key, login, and trying again."""

from __future__ import annotations

import base64
import logging
import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import paramiko

from envsync.errors import ConnectError, InputError
from envsync.model import Host
from envsync.ports import Reached
from envsync.transport.bastions import Bastions, Route
from envsync.transport.certificates import plain_type
from envsync.transport.dial import dial
from envsync.transport.handshake import DroppedError, shake_hands
from envsync.transport.hostkeys import KnownHosts, Strictness, fingerprint
from envsync.transport.identities import Ask, Identities
from envsync.transport.login import MOST_CONNECTIONS, Login
from envsync.transport.session import Session
from envsync.transport.settings import Settings
from envsync.transport.ssh import SshConnection
from envsync.transport.sshconfig import SshConfig

# paramiko logs tracebacks of its own threads; what went wrong reaches us as an exception.
logging.getLogger("paramiko").addHandler(logging.NullHandler())
logging.getLogger("paramiko").propagate = False

UNAUTHENTICATED = 8
"""Logins under way at once at one address: below the 10 where sshd starts to drop some
(MaxStartups 10:30:100, sshd_config(5)), since many names of an inventory may be one machine."""

DROP_PATIENCE = 30.0
"""Seconds during which a connection dropped before the login is tried again."""

CONNECT_TIMEOUT = 10.0
KEEPALIVE = 5.0
SILENCE = 3
"""Unanswered questions after which a host is gone."""


@dataclass(frozen=True)
class SshOptions:
    """What the user may set. Times are in seconds."""

    identity_files: tuple[Path, ...] = ()
    """Tried before those that ssh_config names."""
    known_hosts: tuple[Path, ...] = ()
    """Instead of those that ssh_config names."""
    config: Path | None = None
    """Instead of the user's and the system's ssh_config."""
    accept_new: bool = False
    connect_timeout: float | None = None
    """None: what ssh_config says, or CONNECT_TIMEOUT."""
    keepalive: float | None = None
    """None: what ssh_config says (ServerAliveInterval), or KEEPALIVE."""
    password: str | None = None
    ask: Ask | None = None
    """Gets passphrases from the user."""


class SshTransport:
    """Connects to hosts; known_hosts and keys are read once for all of them.

    Raises InputError for options that name a file which is not there or no key.
    """

    def __init__(self, options: SshOptions) -> None:
        if options.config is not None and not options.config.expanduser().exists():
            raise InputError(f"there is no ssh_config {options.config}", hint="check the path")
        self._options = options
        self._config = SshConfig(options.config)
        self._known: dict[tuple[Path, ...], KnownHosts] = {}
        self._identities = Identities(options.identity_files, options.ask)
        self._bastions = Bastions(self._reach)
        self._lock = threading.Lock()
        self._gates: dict[tuple[str, Route], threading.BoundedSemaphore] = {}
        self._unread: dict[str, None] = dict.fromkeys(self._config.unread)

    def connect(self, host: Host) -> SshConnection:
        """Reach and log in; drops before the login are tried again with growing jitter."""
        way = self._config.settings(host)
        self._unread |= dict.fromkeys(way.unread)
        route = self._config.route(way)
        with self._bastions.passing(route):
            transport, login = self._log_in(way, route)
        key = transport.get_remote_server_key()
        kind, blob = plain_type(key.get_name()), key.asbytes()
        reached = Reached(
            f"{way.address}:{way.port}",
            login.user,
            login.made_with,
            fingerprint(kind, blob),
            f"{kind} {base64.b64encode(blob).decode()}",
            tuple(hop.name for hop in route),
        )
        interval = self._options.keepalive or way.alive_interval or KEEPALIVE
        silence = way.alive_count if way.alive_interval else SILENCE
        return SshConnection(transport, reached, interval, silence, lend_agent=way.forward_agent)

    def close(self) -> None:
        """End what hosts share."""
        self._bastions.close()

    @property
    def unread(self) -> Sequence[str]:
        """Settings of ssh_config that were met, would make a difference, and are not followed."""
        return tuple(self._unread)

    def _reach(self, way: Settings, route: Route) -> paramiko.Transport:
        """An authenticated connection to `way`, by way of the jump hosts of `route`."""
        return self._log_in(way, route)[0]

    def _log_in(self, way: Settings, route: Route) -> tuple[paramiko.Transport, Login]:
        login = Login(way, self._identities, self._options.password, self._options.ask)
        for _ in range(MOST_CONNECTIONS):
            transport = self._retrying(way, route, login)
            if transport is not None:
                return transport, login
        raise login.denied()

    def _retrying(self, way: Settings, route: Route, login: Login) -> paramiko.Transport | None:
        deadline = time.monotonic() + DROP_PATIENCE
        delay = 0.2
        while True:
            try:
                with self._gate(way, route):
                    return self._attempt(way, route, login)
            except DroppedError as dropped:
                if time.monotonic() + delay > deadline:
                    raise ConnectError(
                        "dropped",
                        f"the SSH server hung up before the login: {dropped}",
                        hint="lower --fan-out, or raise MaxStartups in its sshd_config",
                    ) from dropped
            # Jitter, so that hosts dropped together do not come back together.
            time.sleep(delay * random.uniform(0.5, 1.5))  # noqa: S311 (not a secret)
            delay = min(delay * 2, 3.0)

    def _attempt(self, way: Settings, route: Route, login: Login) -> paramiko.Transport | None:
        """One connection; None when the server hung up on a login that has more to try."""
        timeout = self._options.connect_timeout or way.connect_timeout or CONNECT_TIMEOUT
        wire = self._bastions.channel(route, way, timeout) if route else dial(way, timeout)
        transport = Session(wire)
        try:
            known = self._known_hosts(way)
            shake_hands(transport, way, known.key_types(way.asked), timeout)
            key = transport.get_remote_server_key()
            trusted = known.check(way.asked, key, self._strictness(way))
            if login.attempt(transport, trusted=trusted):
                return transport
        except BaseException:
            transport.close()
            wire.close()  # paramiko leaves it open where nothing was begun
            raise
        transport.close()
        return None

    def _strictness(self, way: Settings) -> Strictness:
        if self._options.accept_new and way.strictness is Strictness.STRICT:
            return Strictness.ACCEPT_NEW
        return way.strictness

    def _known_hosts(self, way: Settings) -> KnownHosts:
        files = self._options.known_hosts or way.known_hosts
        with self._lock:
            if files not in self._known:
                self._known[files] = KnownHosts(files, hashed=way.hash_names)
            return self._known[files]

    def _gate(self, way: Settings, route: Route) -> threading.BoundedSemaphore:
        with self._lock:
            return self._gates.setdefault(
                (way.address, route), threading.BoundedSemaphore(UNAUTHENTICATED)
            )
