"""What comes out of an inventory, and the desk on which it is gathered line by line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from envsync.errors import InputError, Wrong
from envsync.model import Host, Notice

MOST_HOSTS = 65_536
"""A range that stands for more is a slip of the finger, and would eat the memory."""

EXPECTED = "one host a line: [user@]host[:port], for example gpu01 or root@gpu[01-16]:2222"


class TooManyHostsError(InputError):
    """Reading on would only tell it again, once a line."""


@dataclass(frozen=True)
class Inventory:
    """The hosts in the order of the source, each once."""

    hosts: tuple[Host, ...]
    warnings: tuple[Notice, ...] = ()
    groups: Mapping[str, tuple[Host, ...]] = field(default_factory=dict)
    """Groups that the source itself defines, as Ansible's do."""
    slots: Mapping[Host, int] = field(default_factory=dict)
    """How many processes a host is for, where the source says so (MPI, DeepSpeed)."""


class Reading:
    """Gathers the hosts of one source, what is wrong with it, and what is just odd."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._first_seen: dict[Host, int] = {}
        self._slots: dict[Host, int] = {}
        self._warnings: list[Notice] = []
        self._errors: list[InputError] = []
        self._named = 0

    @property
    def room(self) -> int:
        """How many hosts may still be named."""
        return MOST_HOSTS - self._named

    def wrong_in(self, line: int) -> Wrong:
        """What makes the error for a line."""

        def wrong(message: str, hint: str = "") -> InputError:
            # The command line has no lines.
            where = {"file": self.source, "line": line} if line else {}
            return InputError(message, hint=hint or f"expected {EXPECTED}", **where)  # type: ignore[arg-type]

        return wrong

    def add(self, hosts: Sequence[Host], line: int, slots: int = 0) -> None:
        """Hosts that a line names. Slots of a host that is named again add up, as in Open MPI."""
        self._named += len(hosts)
        again = [h for h in hosts if self._first_seen.setdefault(h, line) != line]
        self._warnings += _named_twice(again, self._first_seen, self.source, line)
        if slots:
            for host in hosts:
                self._slots[host] = self._slots.get(host, 0) + slots

    def note(self, message: str, line: int) -> None:
        self._warnings.append(Notice(message, self.source, line))

    def fail(self, error: InputError) -> None:
        """Note an error and read on, so that all of them are counted."""
        self._errors.append(error)
        if isinstance(error, TooManyHostsError):
            raise self._all_in_one()

    def finish(self, groups: Mapping[str, tuple[Host, ...]] | None = None) -> Inventory:
        """The inventory. Raises InputError when something was wrong or nothing was named."""
        if self._errors:
            raise self._all_in_one()
        if not self._first_seen:
            raise InputError("it names no host", file=self.source, hint=f"expected {EXPECTED}")
        hosts = tuple(self._first_seen)
        return Inventory(hosts, tuple(self._warnings), groups or {}, self._slots)

    def _all_in_one(self) -> InputError:
        first, others = self._errors[0], len(self._errors) - 1
        more = f" (and {others} more line{'s are' if others > 1 else ' is'} wrong)"
        message = first.message + (more if others else "")
        return InputError(message, file=first.file, line=first.line, hint=first.hint)


def _named_twice(
    again: Sequence[Host], first_seen: Mapping[Host, int], source: str, line: int
) -> Iterator[Notice]:
    """One notice for each earlier line: two equal ranges are one slip, not a thousand."""
    for first in dict.fromkeys(first_seen[host] for host in again):
        hosts = [host for host in again if first_seen[host] == first]
        who = f"{hosts[0]} is" if len(hosts) == 1 else f"{hosts[0]} and {len(hosts) - 1} more are"
        yield Notice(f"{who} named twice; the first time in line {first}", source, line)
