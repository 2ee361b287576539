"""Key exchange with a server: the cheapest algorithms first, its host key checked."""

from __future__ import annotations

from collections.abc import Sequence

import paramiko

from envsync.errors import ConnectError
from envsync.transport.dial import Program
from envsync.transport.settings import Settings

FASTEST_KEX = ("curve25519-sha256@libssh.org",)
FASTEST_CIPHERS = ("aes128-gcm@openssh.com",)
"""The cheapest on today's processors; everything else stays behind as a fallback."""


_PATIENCE = 5.0
"""Seconds between two looks of a connection's thread at whether there is more to do than to wait
for bytes. paramiko's 0.1 keep a processor busy with some hundred idle connections; their end is
heard of at once anyway."""


class DroppedError(Exception):
    """The server hung up before the login: it is busy, not unwilling."""


def shake_hands(
    transport: paramiko.Transport, way: Settings, key_types: Sequence[str], timeout: float
) -> None:
    """Agree on keys with the server. `timeout` is seconds for its greeting, and for the rest.

    Raises DroppedError, which is worth another try, and ConnectError.
    """
    transport.banner_timeout = timeout
    transport.auth_timeout = max(timeout, 30.0)
    options = transport.get_security_options()
    options.kex = _chosen("KexAlgorithms", options.kex, way.kex, FASTEST_KEX)
    options.ciphers = _chosen("Ciphers", options.ciphers, way.ciphers, FASTEST_CIPHERS)
    options.digests = _chosen("MACs", options.digests, way.macs, ())
    types = _chosen("HostKeyAlgorithms", transport.preferred_keys, way.host_key_types, key_types)
    # Not through `options`, which knows no certificates.
    transport._preferred_keys = types  # type: ignore[attr-defined]  # noqa: SLF001
    try:
        transport.start_client(timeout=timeout + 1)  # after the banner's own timeout
        transport.get_remote_server_key()  # start_client returns silently when time is up
        transport.sock.settimeout(_PATIENCE)
    except (EOFError, ConnectionError) as error:
        raise _ended(transport, way) or DroppedError(str(error) or "connection closed") from error
    except (paramiko.SSHException, OSError) as error:
        raise _failure(error, timeout, _ended(transport, way)) from error


def _ended(transport: paramiko.Transport, way: Settings) -> ConnectError | None:
    """What a ProxyCommand died of: no server was busy then."""
    wire = transport.sock
    return wire.failure(way.command) if isinstance(wire, Program) else None


def _chosen(
    keyword: str, known: Sequence[str], asked: Sequence[str], first: Sequence[str]
) -> tuple[str, ...]:
    """The user's choice as far as it is known here; else all, with `first` in front."""
    if not asked:
        return _first(known, first)
    names = [name.removesuffix("@libssh.org") for name in known]
    chosen = tuple(
        known[names.index(name)]
        for name in dict.fromkeys(each.removesuffix("@libssh.org") for each in asked)
        if name in names
    )
    if not chosen:
        raise ConnectError(
            "handshake",
            f"ssh_config's {keyword} names none that envsync knows: {','.join(asked)}",
            hint=f"known are {', '.join(known)}",
        )
    return chosen


def _first(available: Sequence[str], wanted: Sequence[str]) -> tuple[str, ...]:
    """`available` with the wanted ones moved to the front; `ssh-rsa` means its SHA-2 forms."""
    names = [
        name
        for want in wanted
        for name in (("rsa-sha2-512", "rsa-sha2-256") if want == "ssh-rsa" else (want,))
        if name in available
    ]
    return tuple(dict.fromkeys([*names, *available]))


def _failure(error: Exception, timeout: float, ended: ConnectError | None) -> Exception:
    text = str(error) or type(error).__name__
    cause = error.__cause__ or error.__context__
    if ended is not None:
        return ended
    if "banner" in text:
        # A server over its limit closes at once; one that hangs lets the time run out.
        if isinstance(cause, EOFError | ConnectionError):
            return DroppedError("closed before its banner")
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
