"""Node sets: ranges, set operations and groups, as ClusterShell and Slurm write them.

gpu[01-16]  rack[1-2]n[01-02]  n[0-10/2]     ranges, padding kept, steps
gpu[1-9]!gpu5  a[1-4]&a[3-8]  a[1-2],b1      difference, intersection, union; ^ for either
@gpu  @rack:r1  @*                           groups of ClusterShell's groups.conf
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from envsync.errors import Wrong
from envsync.hostnames import clustershell
from envsync.inventory.place import NAME, check_name, split
from envsync.inventory.reading import MOST_HOSTS, TooManyHostsError
from envsync.model import Host

_OUTSIDE_BRACKETS = r"(?![^\[]*\])"
_COMMA = re.compile("," + _OUTSIDE_BRACKETS)
_OPERATOR = re.compile("([,!&^])" + _OUTSIDE_BRACKETS)
_RANGE = re.compile(r"\[([^\[\]]*)\]")
_RANGE_ITEM = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?:/(\d{1,9}))?)?")
_GROUP = re.compile(
    r"@(?:[A-Za-z0-9_.-]+:)?(?:\*|[A-Za-z0-9_.-]+(?:\[[0-9,/-]+\][A-Za-z0-9_.-]*)*)"
)


def hosts_of(word: str, room: int, wrong: Wrong) -> Sequence[Host]:
    """The hosts of a word, at most `room`. Raises what `wrong` makes."""
    if re.search("[!&^]" + _OUTSIDE_BRACKETS, word):
        names = _evaluated(word, room, wrong)
        return [Host(name) for name in names]
    hosts: list[Host] = []
    for item in _COMMA.split(word):
        hosts += _item(item, room - len(hosts), wrong)
    return hosts


def _item(word: str, room: int, wrong: Wrong) -> Sequence[Host]:
    """The hosts of `[user@]ranges[:port]` or of a group."""
    if word.startswith("@"):
        return [Host(name) for name in _evaluated(word, room, wrong)]
    place = split(word, wrong)
    names = _ranges(place.name, room, wrong)
    if len(names) > room:
        raise _too_many(place.name, len(names), room, wrong)
    return [Host(check_name(name, wrong), place.user, place.port) for name in names]


def _evaluated(word: str, room: int, wrong: Wrong) -> Sequence[str]:
    """The names of an expression with operators and groups, which ClusterShell works out."""
    for operand in _OPERATOR.split(word)[::2]:
        if not operand:
            raise wrong(f"{word!r} is not a node set", "an operator stands between two sets")
        if operand.startswith("@"):
            if not _GROUP.fullmatch(operand):
                raise wrong(f"{operand!r} is not a group", "such as @gpu or @rack:r1")
        elif "@" in operand or ":" in operand:
            raise wrong(
                f"{operand!r} has a user or a port, which set operations do not take",
                "set User and Port in ssh_config, or use --exclude",
            )
        else:
            _count(operand, room, wrong)
    names = _unfolded(word, wrong, groups="@" in word)
    if len(names) > room:
        raise _too_many(word, len(names), room, wrong)
    if not len(names):
        raise wrong(
            f"{word} stands for no host",
            "`nodeset -LL` shows the groups that ClusterShell knows" if "@" in word else "",
        )
    return [check_name(str(name), wrong) for name in names]


def _ranges(name: str, room: int, wrong: Wrong) -> Sequence[str]:
    """The names of one set; counted before it is unfolded, so that a typo costs no memory."""
    if "[" not in name and "]" not in name:
        return [name]
    _count(name, room, wrong)
    return [str(node) for node in _unfolded(name, wrong, groups=False)]


def _count(name: str, room: int, wrong: Wrong) -> None:
    count = 1
    for items in _RANGE.findall(name):
        sizes = [_size(item) for item in items.split(",")]
        if not all(sizes):
            raise wrong(
                f"{f'[{items}]'!r} is not a range",
                "a range is written [01-16] or [1,3,5-9]; else brackets are for IPv6 addresses",
            )
        count *= sum(sizes)
    if not NAME.fullmatch(_RANGE.sub("0", name)):
        raise wrong(f"{name!r} is not a range of host names")
    if count > room:
        raise _too_many(name, count, room, wrong)


def _size(item: str) -> int:
    found = _RANGE_ITEM.fullmatch(item)
    if found is None:
        return 0
    first, last, step = int(found[1]), int(found[2] or found[1]), int(found[3] or 1)
    return len(range(first, last + 1, step)) if step else 0


def _unfolded(word: str, wrong: Wrong, *, groups: bool) -> Any:
    """ClusterShell's own answer, which knows its length before it is walked through."""
    try:
        library = clustershell()
    except ImportError as error:
        raise wrong(
            f"{word} cannot be unfolded: {error}", "mend that, or list the hosts"
        ) from error
    try:
        # Its own default reads groups.conf.
        resolver = library.std_group_resolver() if groups else library.RESOLVER_NOGROUP
        return library.NodeSet(word, resolver=resolver)
    except _refusals(library) as error:
        reason = str(error).replace('"', "")
        raise wrong(f"{word!r} is not a node set: {reason}", _advice(reason)) from error


def _refusals(library: ModuleType) -> tuple[type[Exception], ...]:
    resolver: type[Exception] = library.NodeUtils.GroupResolverError
    source: type[Exception] = library.NodeUtils.GroupSourceError
    refused: type[Exception] = library.NodeSetException
    return refused, resolver, source


def _advice(reason: str) -> str:
    if "padding" in reason:
        return "write both ends of a range with as many digits: [008-120]"
    if "group" in reason.lower():
        return "`nodeset -LL` shows the groups that ClusterShell knows"
    return ""


def _too_many(name: str, count: int, room: int, wrong: Wrong) -> TooManyHostsError:
    total = MOST_HOSTS - room + count
    error = wrong(
        f"with {name} it names {total} hosts, more than {MOST_HOSTS}",
        f"an inventory has at most {MOST_HOSTS} hosts: is the range right?",
    )
    return TooManyHostsError(error.message, file=error.file, line=error.line, hint=error.hint)
