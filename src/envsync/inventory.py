"""Hosts as the user names them: one a line, `[user@]host[:port]`, ranges as node sets."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from envsync.errors import InputError, Wrong
from envsync.hostnames import clustershell
from envsync.model import Host, Notice

MOST_HOSTS = 65_536
"""A range that stands for more is a slip of the finger, and would eat the memory."""

EXPECTED = "one host a line: [user@]host[:port], for example gpu01 or root@gpu[01-16]:2222"

_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*")
"""RFC 1123, section 2.1, and `_`, which names in /etc/hosts and ssh_config often have."""
_USER = re.compile(
    r"(?=.{1,128}\Z)(?:[A-Za-z0-9_][A-Za-z0-9._-]*\\)?"  # DOMAIN\
    r"[A-Za-z0-9_][A-Za-z0-9._-]*\$?(?:@[A-Za-z0-9][A-Za-z0-9._-]*)?"  # name$, name@domain
)
_IN_BRACKETS = re.compile(r"\[([^\[\]]*:[^\[\]]*)\](?::(.*))?")
_BARE_IPV6 = re.compile(r"[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(?:%.*)?")
_ZONE = re.compile(r"[A-Za-z0-9._-]{1,15}")
"""A network interface's name; Linux ends it at 15 characters."""
_RANGE = re.compile(r"\[([^\[\]]*)\]")
_RANGE_ITEM = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?:/(\d{1,9}))?)?")


class _TooManyHostsError(InputError):
    """Reading on would only tell it again, once a line."""


@dataclass(frozen=True)
class Inventory:
    """The hosts in the order of the file, each once."""

    hosts: tuple[Host, ...]
    warnings: tuple[Notice, ...] = ()


def read_inventory(argument: str, stdin: TextIO | None) -> Inventory:
    """Read the file `argument`, or `stdin` for `-`. Raises InputError."""
    if argument == "-":
        return parse_inventory(_standard_input(stdin), source="standard input")
    try:
        text = Path(argument).read_bytes().decode("utf-8-sig")
    except FileNotFoundError as error:
        raise InputError(
            f"there is no inventory file {argument}", hint=f"write {EXPECTED}"
        ) from error
    except UnicodeDecodeError as error:
        raise InputError("it is not UTF-8 text", file=argument, hint=EXPECTED) from error
    except OSError as error:
        raise InputError(
            f"it cannot be read: {error.strerror}", file=argument, hint=EXPECTED
        ) from error
    except ValueError as error:  # a zero byte in the name
        raise InputError(f"{argument!r} is no file name", hint=f"write {EXPECTED}") from error
    return parse_inventory(text, source=argument)


def _standard_input(stdin: TextIO | None) -> str:
    if stdin is None:  # Python's way to say that it was closed
        raise InputError("standard input is closed", hint=f"write {EXPECTED}")
    try:
        return stdin.read()
    except (OSError, ValueError) as error:  # a folder, a closed file, no text
        raise InputError(
            "it cannot be read as text", file="standard input", hint=EXPECTED
        ) from error


def parse_inventory(text: str, *, source: str) -> Inventory:
    """Hosts from the text of an inventory; `source` names it in messages.

    Raises InputError for the first line that is wrong, with the number of the others.
    """
    first_seen: dict[Host, int] = {}
    warnings: list[Notice] = []
    errors: list[InputError] = []
    named = 0
    # Not splitlines(): editors, and so our line numbers, know no form feed and no U+2028.
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text.lstrip("\ufeff")), 1):
        try:
            hosts = _line_hosts(line, source, number, MOST_HOSTS - named)
        except InputError as error:
            errors.append(error)
            if isinstance(error, _TooManyHostsError):
                break
            continue
        named += len(hosts)
        again = [host for host in hosts if first_seen.setdefault(host, number) != number]
        warnings += _named_twice(again, first_seen, source, number)
    if errors:
        raise _all_in_one(errors)
    if not first_seen:
        raise InputError("it names no host", file=source, hint=f"expected {EXPECTED}")
    return Inventory(tuple(first_seen), tuple(warnings))


def _all_in_one(errors: Sequence[InputError]) -> InputError:
    first, others = errors[0], len(errors) - 1
    more = f" (and {others} more line{'s are' if others > 1 else ' is'} wrong)" if others else ""
    return InputError(first.message + more, file=first.file, line=first.line, hint=first.hint)


def _named_twice(
    again: Sequence[Host], first_seen: Mapping[Host, int], source: str, line: int
) -> Iterator[Notice]:
    """One notice for each earlier line: two equal ranges are one slip, not a thousand."""
    for first in dict.fromkeys(first_seen[host] for host in again):
        hosts = [host for host in again if first_seen[host] == first]
        who = f"{hosts[0]} is" if len(hosts) == 1 else f"{hosts[0]} and {len(hosts) - 1} more are"
        yield Notice(f"{who} named twice; the first time in line {first}", source, line)


def _line_hosts(line: str, source: str, number: int, room: int) -> Sequence[Host]:
    """The hosts of one line; none for a blank one and for a comment."""

    def wrong(message: str, hint: str = "") -> InputError:
        return InputError(message, file=source, line=number, hint=hint or f"expected {EXPECTED}")

    words = line.partition("#")[0].split()
    if not words:
        return ()
    if len(words) > 1:
        key, equals, _ = words[1].partition("=")  # what follows may be a password
        raise wrong(
            f"{key + equals!r} after the host is not understood",
            f"expected {EXPECTED}; slots and variables, as in the host files of MPI, DeepSpeed "
            "and Ansible, are not read"
            if equals
            else "",
        )
    user, name, port = _split(words[0], wrong)
    names = _expand(name, room, wrong)
    if len(names) > room:
        raise _too_many(name, len(names), room, wrong)
    for each in names:
        _check_name(each, wrong)
    return tuple(Host(each, user, port) for each in names)


def _split(word: str, wrong: Wrong) -> tuple[str, str, int]:
    """User, name (a range perhaps, an IPv6 address without its brackets), and port or 0."""
    user, at, place = word.rpartition("@")
    if ":" in user:  # never shown: it is what ssh:// and ftp:// have passwords in
        raise wrong("a host is written without a scheme and without a password")
    if at and not _USER.fullmatch(user):
        raise wrong(f"{user!r} is not a user name")
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
    if port is not None and not _is_port(port):
        raise wrong(f"{port!r} is not a port", "a port is a number from 1 to 65535")
    return user, name, int(port or 0)


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


def _check_name(name: str, wrong: Wrong) -> None:
    if ":" in name:
        return  # an IPv6 address, known to be right
    if not _NAME.fullmatch(name):
        raise wrong(f"{name!r} is not a host name")
    if "." in name and re.fullmatch(r"[0-9.]+", name):
        # ssh would take 10.1 for 10.0.0.1, as inet_aton(3) does.
        try:
            ipaddress.IPv4Address(name)
        except ValueError as error:
            raise wrong(f"{name!r} is not an IPv4 address", "it has four parts, 0-255") from error


def _too_many(name: str, count: int, room: int, wrong: Wrong) -> InputError:
    total = MOST_HOSTS - room + count
    error = wrong(
        f"with {name} it names {total} hosts, more than {MOST_HOSTS}",
        f"an inventory has at most {MOST_HOSTS} hosts: is the range right?",
    )
    return _TooManyHostsError(error.message, file=error.file, line=error.line, hint=error.hint)


def _expand(name: str, room: int, wrong: Wrong) -> Sequence[str]:
    """A node set's names; counted before it is unfolded, so that a typo costs no memory."""
    if "[" not in name and "]" not in name:
        return [name]
    count = 1
    for items in _RANGE.findall(name):
        sizes = [_size(item) for item in items.split(",")]
        if not all(sizes):
            raise wrong(
                f"{f'[{items}]'!r} is not a range",
                "a range is written [01-16] or [1,3,5-9]; else brackets are for IPv6 addresses",
            )
        count *= sum(sizes)
    if not _NAME.fullmatch(_RANGE.sub("0", name)):
        raise wrong(f"{name!r} is not a range of host names")
    if count > room:
        raise _too_many(name, count, room, wrong)
    try:
        library = clustershell()
    except ImportError as error:
        raise wrong(
            f"{name} cannot be unfolded: {error}", "mend that, or list the hosts"
        ) from error
    try:
        return [str(node) for node in library.NodeSet(name, resolver=library.RESOLVER_NOGROUP)]
    except library.NodeSetException as error:
        reason = str(error).replace('"', "")
        raise wrong(
            f"{name!r} is not a node set: {reason}",
            "write both ends of a range with as many digits: [008-120]"
            if "padding" in reason
            else "",
        ) from error


def _size(item: str) -> int:
    found = _RANGE_ITEM.fullmatch(item)
    if found is None:
        return 0
    first, last, step = int(found[1]), int(found[2] or found[1]), int(found[3] or 1)
    return len(range(first, last + 1, step)) if step else 0
