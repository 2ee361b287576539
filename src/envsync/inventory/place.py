"""One host as a word: `[user@]host[:port]`, checked before anything is done with it."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from envsync.errors import Wrong

_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*")
"""RFC 1123, section 2.1, and `_`, which names in /etc/hosts and ssh_config often have."""
_USER = re.compile(
    r"(?=.{1,128}\Z)(?:[A-Za-z0-9_][A-Za-z0-9._-]*\\)?"  # DOMAIN\
    r"[A-Za-z0-9_][A-Za-z0-9._-]*\$?(?:@[A-Za-z0-9][A-Za-z0-9._-]*)?"  # name$, name@domain
)
_IN_BRACKETS = re.compile(r"\[([^\[\]]*:[^\[\]]*)\](?::(.*))?")
_BARE_IPV6 = re.compile(r"[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(?:%.*)?")
_ZONE = re.compile(r"[A-Za-z0-9._-]{1,15}")
"""A network interface's name; Linux ends it at 15 characters."""

_PRIVILEGED = 1024
_SSH_PORTS = frozenset({22, 222, 443})
"""Where an sshd below 1024 is met: its own port, that of gateways, one that firewalls let out."""


@dataclass(frozen=True)
class Place:
    """A word taken apart. `name` may be a range yet; an IPv6 address has lost its brackets."""

    name: str
    user: str = ""
    port: int = 0


def split(word: str, wrong: Wrong) -> Place:
    """The parts of `[user@]host[:port]`."""
    user, at, place = word.rpartition("@")
    if ":" in user:  # never shown: it is what ssh:// and ftp:// have passwords in
        raise wrong("a host is written without a scheme and without a password")
    if at:
        check_user(user, wrong)
    port: str | None
    if found := _IN_BRACKETS.fullmatch(place):
        name, port = _address(found[1], wrong), found[2]
    elif _BARE_IPV6.fullmatch(place):
        name, port = _bare_address(place, wrong), None
    elif place.count(":") > 1 or not place or place.startswith(("-", ":")):
        raise wrong(f"{word!r} is not a host")
    else:
        name, colon, tail = place.partition(":")
        port = tail if colon else None
    return Place(name, user, 0 if port is None else _sshd_port(name, port, wrong))


def check_user(user: str, wrong: Wrong) -> str:
    """`user`, if a system could have one of that name."""
    if not _USER.fullmatch(user):
        raise wrong(f"{user!r} is not a user name")
    return user


def port_number(text: str, wrong: Wrong) -> int:
    """A port from its digits."""
    if not _is_port(text):
        raise wrong(f"{text!r} is not a port", "a port is a number from 1 to 65535")
    return int(text)


def check_name(name: str, wrong: Wrong) -> str:
    """`name`, if it can be a host's: a DNS name, an alias, an IPv4 address; IPv6 is known."""
    if ":" in name:
        return name
    if not NAME.fullmatch(name):
        raise wrong(f"{name!r} is not a host name")
    if "." in name and re.fullmatch(r"[0-9.]+", name):
        # ssh would take 10.1 for 10.0.0.1, as inet_aton(3) does.
        try:
            ipaddress.IPv4Address(name)
        except ValueError as error:
            raise wrong(f"{name!r} is not an IPv4 address", "it has four parts, 0-255") from error
    return name


def check_address(text: str, wrong: Wrong) -> str:
    """`text`, if it is a host's name or an address of either kind, without a port."""
    return _address(text.strip("[]"), wrong) if ":" in text else check_name(text, wrong)


def _sshd_port(name: str, text: str, wrong: Wrong) -> int:
    """A port, unless it is more likely MPICH's number of processes: `node1:8`."""
    port = port_number(text, wrong)
    if port < _PRIVILEGED and port not in _SSH_PORTS:
        raise wrong(
            f"{name}:{port} may mean {port} processes, as in the host files of MPICH",
            f"write `{name} slots={port}` for processes; if sshd does listen on port {port},"
            " say so in ssh_config (Port)",
        )
    return port


def _is_port(text: str) -> bool:
    return bool(re.fullmatch(r"[0-9]{1,5}", text)) and 0 < int(text) < 2**16


def _address(text: str, wrong: Wrong) -> str:
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError as error:
        raise wrong(f"{text!r} is not an IPv6 address", "write it as [address]:port") from error
    if address.scope_id is not None and not _ZONE.fullmatch(address.scope_id):
        raise wrong(f"{address.scope_id!r} is not a network interface", "such as fe80::7%eth0")
    return str(address)


def _bare_address(text: str, wrong: Wrong) -> str:
    """Without brackets the last group of `2001:db8::7:22` may as well be meant as a port."""
    head, _, tail = text.rpartition(":")
    try:
        ipaddress.IPv6Address(head)
    except ValueError:
        return _address(text, wrong)
    if not _is_port(tail):
        return _address(text, wrong)
    try:
        address = f"[{ipaddress.IPv6Address(text)}] or "
    except ValueError:  # eight groups, and one too many: only the port is meant
        address = ""
    raise wrong(f"{text!r} may end in a port", f"write {address}[{head}]:{tail}")
