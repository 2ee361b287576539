"""Hosts as the user names them: one a line, `[user@]host[:port]`, ranges as node sets."""

from __future__ import annotations

import difflib
import ipaddress
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TextIO

from envsync.errors import InputError
from envsync.model import Host, Notice

MOST_HOSTS = 65_536
"""A range that stands for more is a slip of the finger, and would eat the memory."""

EXPECTED = "one host a line: [user@]host[:port], for example gpu01 or root@gpu[01-16]:2222"

_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9._-]{0,251}[A-Za-z0-9_])?")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._\\@-]{0,62}\$?")
_LINE = re.compile(
    r"(?:(?P<user>[^\s\[\]]*)@)?"
    r"(?:\[(?P<address>[^\]]*:[^\]]*)\]|(?P<name>[^\s:@]+|[0-9A-Fa-f:.]*::?[0-9A-Fa-f:.%\w]*))"
    r"(?::(?P<port>[^:]*))?"
)
_RANGE = re.compile(r"\[([^\[\]]*)\]")
_RANGE_ITEM = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?:/(\d{1,9}))?)?")


class Wrong(Protocol):
    """Makes the error for the line that is being read."""

    def __call__(self, message: str, hint: str = "") -> InputError: ...


@dataclass(frozen=True)
class Inventory:
    """The hosts in the order of the file, each once."""

    hosts: tuple[Host, ...]
    warnings: tuple[Notice, ...] = ()


def read_inventory(argument: str, stdin: TextIO | None) -> Inventory:
    """Read the file `argument`, or `stdin` for `-`. Raises InputError."""
    if argument == "-":
        if stdin is None:  # Python's way to say that it was closed
            raise InputError("standard input is closed", hint=f"write {EXPECTED}")
        return parse_inventory(stdin.read(), source="standard input")
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
    return parse_inventory(text, source=argument)


def parse_inventory(text: str, *, source: str) -> Inventory:
    """Hosts from the text of an inventory; `source` names it in messages. Raises InputError."""
    first_seen: dict[Host, int] = {}
    warnings = []
    for number, line in enumerate(text.lstrip("\ufeff").splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) > 1:
            raise InputError(
                f"{words[1]!r} after the host is not understood",
                file=source,
                line=number,
                hint=f"expected {EXPECTED}",
            )
        for host in _hosts(words[0], source, number, MOST_HOSTS - len(first_seen)):
            if host in first_seen:
                message = f"{host} is named twice; the first time in line {first_seen[host]}"
                warnings.append(Notice(message, source, number))
            else:
                first_seen[host] = number
    if not first_seen:
        raise InputError("it names no host", file=source, hint=f"expected {EXPECTED}")
    return Inventory(tuple(first_seen), tuple(warnings))


def _hosts(word: str, source: str, line: int, room: int) -> Iterator[Host]:
    def wrong(message: str, hint: str = "") -> InputError:
        return InputError(message, file=source, line=line, hint=hint or f"expected {EXPECTED}")

    found = _LINE.fullmatch(word)
    if found is None or word.startswith("-"):
        raise wrong(f"{word!r} is not a host")
    user, port = found["user"] or "", found["port"]
    if found["user"] is not None and not _USER.fullmatch(user):
        raise wrong(f"{user!r} is not a user name")
    if port is not None and not (port.isascii() and port.isdigit() and 0 < int(port) < 2**16):
        raise wrong(f"{port!r} is not a port", "a port is a number from 1 to 65535")
    if found["address"] is not None:
        names: Iterable[str] = [_address(found["address"], wrong)]
    elif ":" in found["name"]:
        names = [_address(found["name"], wrong)]
    else:
        names = _expand(found["name"], room, wrong)
    for name in names:
        if ":" not in name and not _NAME.fullmatch(name):
            raise wrong(f"{name!r} is not a host name")
        yield Host(name, user, int(port or 0))


def _address(text: str, wrong: Wrong) -> str:
    try:
        return str(ipaddress.IPv6Address(text))
    except ValueError as error:
        raise wrong(f"{text!r} is not an IPv6 address", "write it as [address]:port") from error


def _expand(name: str, room: int, wrong: Wrong) -> Iterable[str]:
    """A node set's names; counted before it is unfolded, so that a typo costs no memory."""
    if "[" not in name and "]" not in name:
        return [name]
    count = 1
    for items in _RANGE.findall(name):
        sizes = [_size(item) for item in items.split(",")]
        if not all(sizes):
            raise wrong(f"[{items}] is not a range", "a range is written [01-16] or [1,3,5-9]")
        count *= sum(sizes)
    if not _NAME.fullmatch(_RANGE.sub("0", name)):
        raise wrong(f"{name!r} is not a range of host names")
    if count > room:
        raise wrong(f"{name} stands for {count} hosts, more than {MOST_HOSTS} in all")
    from ClusterShell.NodeSet import NodeSet, NodeSetException  # noqa: PLC0415 (0.1 s to import)

    try:
        return [str(node) for node in NodeSet(name, resolver=None)]
    except NodeSetException as error:
        raise wrong(f"{name!r} is not a node set: {error}") from error


def _size(item: str) -> int:
    found = _RANGE_ITEM.fullmatch(item)
    if found is None:
        return 0
    first, last, step = int(found[1]), int(found[2] or found[1]), int(found[3] or 1)
    return len(range(first, last + 1, step)) if step else 0


def resolve(hosts: Sequence[Host], word: str) -> Host:
    """The host that `word` means: its full form, its name, or any short form that fits one.

    Raises InputError with near matches, or with the candidates when several fit.
    """
    forms: tuple[Callable[[Host], str], ...] = (
        str,
        lambda host: str(Host(host.name, "", host.port)),
        lambda host: host.name,
        lambda host: host.name.partition(".")[0],
    )
    for form in forms:
        fitting = [host for host in hosts if form(host) == word]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            raise InputError(
                f"{word} may be {' or '.join(str(host) for host in fitting)}",
                hint="say which, in that form",
            )
    near = difflib.get_close_matches(word, [str(host) for host in hosts], n=3)
    raise InputError(
        f"{word} is not a host of the last push",
        hint=f"did you mean {' or '.join(near)}?"
        if near
        else f"the hosts are {fold_names(display_names(hosts).values())}",
    )


def display_names(hosts: Sequence[Host]) -> Mapping[Host, str]:
    """The shortest label for each host that is still its own."""
    labels = {host: host.name for host in hosts}
    for form in (lambda host: str(Host(host.name, "", host.port)), str):
        counts = Counter(labels.values())
        labels = {
            host: label if counts[label] == 1 else form(host) for host, label in labels.items()
        }
    return labels


def fold_names(names: Iterable[str]) -> str:
    """Names as one short text: gpu01, gpu02, gpu04 become gpu[01-02,04]."""
    plain: list[str] = []
    odd: list[str] = []
    for name in names:
        # Ports, users and IPv6 addresses are no node names for ClusterShell.
        foldable = re.fullmatch(r"[A-Za-z0-9_.-]*\d[A-Za-z0-9_.-]*", name)
        (plain if foldable else odd).append(name)
    if len(plain) > 1:
        from ClusterShell.NodeSet import NodeSet  # noqa: PLC0415 (0.1 s to import)

        plain = str(NodeSet.fromlist(plain, resolver=None)).split(" ")
    return ",".join([*plain, *odd])
