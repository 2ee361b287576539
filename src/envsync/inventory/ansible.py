"""What Ansible's inventories say, whatever they are written in: groups, and how to reach hosts.

The rules are those of Ansible's "How to build your inventory": a host may stand in several
groups; variables of a child group win over its parent's, those of the host over all.
"""

from __future__ import annotations

import difflib
import re
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from envsync.errors import Wrong
from envsync.inventory.place import check_address, check_name, check_user, port_number
from envsync.inventory.reading import MOST_HOSTS, Inventory, Reading, TooManyHostsError
from envsync.model import Host

Read = TypeVar("Read")

_ADDRESS = ("ansible_host", "ansible_ssh_host")
_PORT = ("ansible_port", "ansible_ssh_port")
_USER = ("ansible_user", "ansible_ssh_user")
_UNREAD = re.compile(
    r"ansible_(connection|ssh_(private_key_file|common_args|extra_args|pass|executable)|password"
    r"|become\w*|host_key_checking)"
)
"""What leads Ansible to a host in a way of its own."""
_RANGE = re.compile(r"\[([^\[\]:]+):([^\[\]:]+)(?::(\d{1,6}))?\]")


@dataclass(frozen=True)
class Value:
    """The text of a variable, and where it stands."""

    text: str
    line: int


Vars = dict[str, Value]


@dataclass
class Group:
    """A group as it is read, piece by piece."""

    name: str
    line: int = 0
    """Where it is defined; 0 while it is only spoken of."""
    hosts: dict[str, int] = field(default_factory=dict)
    """Names, and the line of each."""
    children: dict[str, int] = field(default_factory=dict)
    variables: Vars = field(default_factory=dict)


@dataclass
class Draft:
    """An inventory as it is read."""

    reading: Reading
    groups: dict[str, Group] = field(default_factory=dict)
    hosts: dict[str, Vars] = field(default_factory=dict)
    """All hosts in the order of the source, with variables of their own."""
    unread: set[str] = field(default_factory=set)

    def group(self, name: str, line: int = 0) -> Group:
        """The group of that name, made if need be; `line` when it is defined there."""
        found = self.groups.setdefault(name, Group(name))
        found.line = found.line or line
        return found

    def add(self, group: Group, pattern: str, line: int, variables: Vars) -> None:
        """Hosts of a group, by a pattern such as `web[01:50].example.com`."""
        wrong = self.reading.wrong_in(line)
        for name in unfold(pattern, MOST_HOSTS - len(self.hosts), wrong):
            group.hosts.setdefault(check_name(name, wrong), line)
            self.hosts.setdefault(name, {}).update(variables)

    def finish(self) -> Inventory:
        """Every host with what its groups and itself say. Raises InputError."""
        depths = self._depths()
        members = {name: dict.fromkeys(self._members(name)) for name in self.groups}
        made: dict[str, Host] = {}
        self._note_unread()
        for name, own in self.hosts.items():
            around = sorted(
                (g for g in self.groups if name in members[g] or g == "all"),
                key=lambda group: (depths[group], group),
            )
            variables: Vars = {}
            for group in around:
                variables |= self.groups[group].variables
            made[name] = self._host(name, variables | own)
        line_of = {name: line for g in self.groups.values() for name, line in g.hosts.items()}
        for name, host in made.items():
            self.reading.add([host], line_of[name])
        groups = {
            name: tuple(made[host] for host in members[name])
            for name in self.groups
            if members[name] and name != "all"
        }
        return self.reading.finish(groups)

    def _note_unread(self) -> None:
        for variables in (*(g.variables for g in self.groups.values()), *self.hosts.values()):
            for key, value in variables.items():
                if _UNREAD.fullmatch(key) and key not in self.unread:
                    self.unread.add(key)
                    self.reading.note(f"{key} is not followed; ssh_config is", value.line)

    def _host(self, name: str, variables: Mapping[str, Value]) -> Host:
        address = self._said(variables, _ADDRESS, name, check_address)
        return Host(
            name,
            self._said(variables, _USER, "", check_user),
            self._said(variables, _PORT, 0, port_number),
            address if address != name else "",
        )

    def _said(
        self,
        variables: Mapping[str, Value],
        keys: Sequence[str],
        otherwise: Read,
        read: Callable[[str, Wrong], Read],
    ) -> Read:
        for key in keys:
            if value := variables.get(key):
                wrong = self.reading.wrong_in(value.line)
                if "{{" in value.text:
                    raise wrong(
                        f"{key} is a template, which only Ansible can fill in",
                        "push to what `ansible-inventory --list --yaml` prints",
                    )
                return read(value.text, wrong)
        return otherwise

    def _members(self, name: str) -> Iterator[str]:
        """Hosts of a group and of those below it."""
        yield from self.groups[name].hosts
        for child in self.groups[name].children:
            yield from self._members(child)

    def _depths(self) -> Mapping[str, int]:
        """How far below the top each group is. Raises InputError for a ring, and a stranger."""
        depths = dict.fromkeys(self.groups, 0)

        def descend(name: str, above: tuple[str, ...]) -> None:
            for child, line in self.groups[name].children.items():
                wrong = self.reading.wrong_in(line)
                if child not in self.groups or not self.groups[child].line:
                    near = difflib.get_close_matches(child, self.groups, n=1)
                    raise wrong(
                        f"there is no group {child!r}",
                        f"did you mean {near[0]}?" if near else f"define it: [{child}]",
                    )
                if child in (*above, name):
                    raise wrong(f"the group {child} holds itself", "take it out of its children")
                depths[child] = max(depths[child], depths[name] + 1)
                descend(child, (*above, name))

        for name in self.groups:
            if name != "all":
                depths[name] = max(depths[name], 1)
            descend(name, ())
        return depths


def unfold(pattern: str, room: int, wrong: Wrong) -> Sequence[str]:
    """The names of `web[01:50:7]` and `db-[a:f]`: both ends belong to it."""
    found = _RANGE.search(pattern)
    items, width = _items(found) if found else ((), 0)
    if found is None and "[" not in pattern:
        return [pattern]
    if found is None or not items:
        raise wrong(f"{pattern!r} is not a range of hosts", "Ansible writes it [01:50] or [a:f]")
    if len(items) > room:
        error = wrong(f"with {pattern} it names more than {MOST_HOSTS} hosts", "is it right?")
        raise TooManyHostsError(error.message, file=error.file, line=error.line, hint=error.hint)
    tails = unfold(pattern[found.end() :], room // len(items), wrong)
    texts = [str(item).zfill(width) for item in items]
    return [pattern[: found.start()] + text + tail for text in texts for tail in tails]


def _items(found: re.Match[str]) -> tuple[Sequence[int | str], int]:
    """What a range goes through, and the width of its numbers."""
    first, last, step = found[1], found[2], int(found[3] or 1)
    if not step:
        return (), 0
    if re.fullmatch(r"[A-Za-z]", first) and re.fullmatch(r"[A-Za-z]", last):
        letters = string.ascii_letters
        return letters[letters.index(first) : letters.index(last) + 1 : step], 0
    if re.fullmatch(r"\d{1,9}", first) and re.fullmatch(r"\d{1,9}", last):
        padded = len(first) if first.startswith("0") else 0
        return range(int(first), int(last) + 1, step), padded
    return (), 0
