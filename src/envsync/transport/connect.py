"""Reaching a host over SSH: socket, key exchange, host key, login, and trying again."""

from __future__ import annotations

import contextlib
import getpass
import logging
import random
import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import paramiko

from envsync.errors import ConnectError, InputError
from envsync.model import Host
from envsync.ports import Connection
from envsync.transport.hostkeys import KnownHosts, known_name
from envsync.transport.identities import Identities
from envsync.transport.ssh import SshConnection
from envsync.transport.sshconfig import Settings, settings

# paramiko logs tracebacks of its own threads; what went wrong reaches us as an exception.
logging.getLogger("paramiko").addHandler(logging.NullHandler())
logging.getLogger("paramiko").propagate = False

UNAUTHENTICATED = 8
"""Logins under way at once: below the 10 where sshd starts to drop some (MaxStartups
10:30:100, sshd_config(5)), since many names of an inventory may be one machine."""

DROP_PATIENCE = 30.0
"""Seconds during which a connection dropped before the login is tried again."""


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
    connect_timeout: float = 10.0
    keepalive: float = 5.0


class _DroppedError(Exception):
    """The server hung up before the login: it is busy, not unwilling."""


class SshTransport:
    """Connects to hosts; known_hosts and keys are read once for all of them.

    Raises InputError for options that name a file which is not there or no key.
    """

    def __init__(self, options: SshOptions) -> None:
        if options.config is not None and not options.config.expanduser().exists():
            raise InputError(f"there is no ssh_config {options.config}", hint="check the path")
        self._options = options
        self._known: dict[tuple[Path, ...], KnownHosts] = {}
        self._identities = Identities(options.identity_files)
        self._lock = threading.Lock()
        self._gate = threading.BoundedSemaphore(UNAUTHENTICATED)

    def connect(self, host: Host) -> Connection:
        """Reach and log in; drops before the login are tried again with growing jitter."""
        way = settings(host, self._options.config)
        deadline = time.monotonic() + DROP_PATIENCE
        delay = 0.2
        while True:
            try:
                with self._gate:
                    return self._attempt(way)
            except _DroppedError as dropped:
                if time.monotonic() + delay > deadline:
                    raise ConnectError(
                        "dropped",
                        f"the SSH server hung up before the login: {dropped}",
                        hint="lower --fan-out, or raise MaxStartups in its sshd_config",
                    ) from dropped
            # Jitter, so that hosts dropped together do not come back together.
            time.sleep(delay * random.uniform(0.5, 1.5))  # noqa: S311 (not a secret)
            delay = min(delay * 2, 3.0)

    def _attempt(self, way: Settings) -> Connection:
        sock = _dial(way.address, way.port, self._options.connect_timeout)
        transport = paramiko.Transport(sock)
        known = self._known_hosts(way)
        name = way.key_name or known_name(way.address, way.port)
        try:
            self._handshake(transport, known.key_types(name))
            known.check(name, transport.get_remote_server_key())
            self._log_in(transport, way)
        except BaseException:
            transport.close()
            raise
        return SshConnection(transport, self._options.keepalive)

    def _known_hosts(self, way: Settings) -> KnownHosts:
        files = self._options.known_hosts or way.known_hosts
        with self._lock:
            if files not in self._known:
                self._known[files] = KnownHosts(files, accept_new=self._options.accept_new)
            return self._known[files]

    def _handshake(self, transport: paramiko.Transport, key_types: list[str]) -> None:
        timeout = self._options.connect_timeout
        transport.banner_timeout = timeout
        transport.auth_timeout = max(timeout, 30.0)
        options = transport.get_security_options()
        options.key_types = _first(options.key_types, key_types)
        # The cheapest on today's processors; everything else stays behind as a fallback.
        options.kex = _first(options.kex, ["curve25519-sha256@libssh.org"])
        options.ciphers = _first(options.ciphers, ["aes128-gcm@openssh.com"])
        try:
            transport.start_client(timeout=timeout + 1)  # after the banner's own timeout
            transport.get_remote_server_key()  # start_client returns silently when time is up
        except (EOFError, ConnectionError) as error:
            raise _DroppedError(str(error) or "connection closed") from error
        except (paramiko.SSHException, OSError) as error:
            raise _handshake_error(error, timeout) from error

    def _log_in(self, transport: paramiko.Transport, way: Settings) -> None:
        user = way.user or getpass.getuser()
        tried = []
        with self._identities.keys(way.identity_files, use_agent=way.use_agent) as keys:
            for key in keys:
                tried.append(key.get_name())
                try:
                    if not transport.auth_publickey(user, key):
                        self._identities.remember(key)
                        return
                except paramiko.BadAuthenticationType as error:
                    raise _denied(user, f"the server takes {error.allowed_types}") from error
                except (paramiko.SSHException, OSError, EOFError):
                    if not transport.is_active():
                        break  # too many keys: the server hung up
        offered = f"tried {', '.join(tried)}" if tried else "no key to try"
        raise _denied(user, "; ".join([offered, *self._identities.skipped]))


def _dial(name: str, port: int, timeout: float) -> socket.socket:
    try:
        sock = socket.create_connection((name, port), timeout)
    except socket.gaierror as error:
        raise ConnectError(
            "no-address",
            f"the name {name} has no address: {error.strerror}",
            hint="check the spelling, or use the address",
        ) from error
    except TimeoutError as error:
        raise ConnectError(
            "timeout",
            f"no answer on port {port} within {timeout:.0f} s",
            hint="is the host up, and does a firewall let port"
            f" {port} through? --connect-timeout sets the limit",
        ) from error
    except ConnectionRefusedError as error:
        raise ConnectError(
            "refused",
            f"nothing listens on port {port}",
            hint="is sshd running there, and is this its port?",
        ) from error
    except OSError as error:
        raise ConnectError(
            "unreachable",
            f"port {port} cannot be reached: {error.strerror or error}",
            hint="check the network between here and the host",
        ) from error
    # Without it small packets wait for the other side's delayed acknowledgement: 40 ms each.
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # Bytes that nobody acknowledges end the connection, where the system can do that (Linux).
    with contextlib.suppress(AttributeError, OSError):
        limit = int(max(timeout, 10.0) * 1000)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, limit)
    return sock


def _first(available: Sequence[str], wanted: list[str]) -> tuple[str, ...]:
    """`available` with the wanted ones moved to the front; `ssh-rsa` means its SHA-2 forms."""
    names = [
        name
        for want in wanted
        for name in (("rsa-sha2-512", "rsa-sha2-256") if want == "ssh-rsa" else (want,))
        if name in available
    ]
    return tuple(dict.fromkeys([*names, *available]))


def _handshake_error(error: Exception, timeout: float) -> Exception:
    text = str(error) or type(error).__name__
    cause = error.__cause__ or error.__context__
    if "banner" in text:
        # A server over its limit closes at once; one that hangs lets the time run out.
        if isinstance(cause, EOFError | ConnectionError):
            return _DroppedError("closed before its banner")
        return ConnectError(
            "no-banner",
            f"connected, but no SSH server said hello within {timeout:.0f} s",
            hint="is this the port of an SSH server, and is the host overloaded?",
        )
    return ConnectError(
        "handshake",
        f"the SSH key exchange failed: {text}",
        hint="compare with `ssh -vv HOST`: the server may offer only outdated algorithms",
    )


def _denied(user: str, why: str) -> ConnectError:
    return ConnectError(
        "authentication",
        f"login as {user} was refused ({why})",
        hint="name the key with -i, or add it to the agent; `ssh HOST true` must work without"
        " a password",
    )
