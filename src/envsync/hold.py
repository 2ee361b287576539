"""One push at a time: takes the environment on every host, and gives it back.

Taking it also tells which hosts share a file system: the second one finds the token that the
first one of the same push has written.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from envsync import scripts
from envsync.errors import HostError
from envsync.events import Phase
from envsync.findings import Shared
from envsync.generations import QUICK
from envsync.model import Host
from envsync.node import Node
from envsync.ports import Command
from envsync.runner import Fleet


def _token() -> str:
    return secrets.token_hex(8)


@dataclass(frozen=True)
class Ticket:
    """Who takes an environment. `operator` is user@machine."""

    operator: str
    break_lock: bool = False
    """Take it from whoever has it."""
    token: str = field(default_factory=_token)

    @property
    def owner(self) -> str:
        """What others are told."""
        return f"{self.operator} (pid {os.getpid()})"


@dataclass(frozen=True)
class Owner:
    """Who has an environment, in the words of the file that says so."""

    token: str
    node: str
    since: int
    """Seconds since the epoch, by the node's clock."""
    who: str

    @property
    def gone(self) -> bool:
        """Whether it was a process of this machine that is no more."""
        found = re.fullmatch(r"\S+@(\S+) \(pid (\d+)\)", self.who)
        if found is None or found[1] != socket.gethostname():
            return False
        try:
            os.kill(int(found[2]), 0)
        except ProcessLookupError:
            return True
        except (PermissionError, OverflowError):
            return False
        with contextlib.suppress(OSError):
            return b"envsync" not in Path(f"/proc/{found[2]}/cmdline").read_bytes()
        return False

    def __str__(self) -> str:
        since = datetime.fromtimestamp(self.since).astimezone()
        return f"{self.who}, since {since:%Y-%m-%d %H:%M:%S}"


@dataclass(frozen=True)
class Held:
    """Which hosts were taken, and who of them shares whose file system."""

    hosts: tuple[Host, ...]
    shares: Mapping[Host, Host]
    """From a host to the one that stands for both."""

    @property
    def owners(self) -> tuple[Host, ...]:
        """The hosts that do the work, for themselves and for those that share with them."""
        return tuple(host for host in self.hosts if host not in self.shares)


@contextlib.contextmanager
def holding(
    fleet: Fleet,
    places: Mapping[Host, str],
    name: str,
    ticket: Ticket,
    blame: Callable[[HostError], HostError] = lambda error: error,
) -> Iterator[Held]:
    """Take environment `name` on every host, whose envs dirs are `places`, for the block.

    A host that somebody else has is a failure, and an event.
    """
    by_text = {str(host): host for host in places}

    def task(node: Node) -> str:
        return take(node, places[node.host], name, ticket)

    answers = fleet.each(places, task, blame)
    shares = {host: by_text[owner] for host, owner in answers.items() if owner in by_text}
    for host, owner in shares.items():
        fleet.emit(Shared(host, owner))
    interrupted = False
    try:
        yield Held(tuple(answers), shares)
    except KeyboardInterrupt:
        # Must not wait for anybody. What is not given back belongs to connections that end now.
        interrupted = True
        raise
    finally:
        if not interrupted:
            # Where the connection was lost, what was taken with it is lost as well.
            owners = [host for host in answers if host not in shares and fleet.connected(host)]

            def give_back(node: Node) -> None:
                _release(node, places[node.host], name, ticket)

            fleet.each(owners, give_back, bounded=False)


def tidy(fleet: Fleet, places: Mapping[Host, str], name: str, ticket: Ticket) -> None:
    """Give back what a push that is no more has left taken; what is somebody's stays theirs."""
    careful = replace(ticket, break_lock=False)

    def task(node: Node) -> None:
        with contextlib.suppress(HostError):
            take(node, places[node.host], name, careful)
            _release(node, places[node.host], name, careful)

    fleet.each(places, task)


def take(node: Node, envs_dir: str, name: str, ticket: Ticket) -> str:
    """Empty, or the host of this push that has the place already. Raises HostError."""
    answer, rest = _ask(node, envs_dir, name, ticket, "")
    if answer == "taken":
        owner = _owner(rest)
        if ticket.break_lock or owner.gone:
            answer, rest = _ask(node, envs_dir, name, ticket, owner.token)
    if answer != "taken":
        return rest
    raise HostError(
        "held",
        f"somebody else is at work on {name} there: {_owner(rest)}",
        hint="wait until that is done; if it is no more, --break-lock takes it over",
    )


def _ask(node: Node, envs_dir: str, name: str, ticket: Ticket, loser: str) -> tuple[str, str]:
    arguments = (envs_dir, name, ticket.token, str(node.host), ticket.owner, loser)
    command = Command(scripts.load("hold.sh"), arguments, timeout=QUICK)
    answer, _, rest = node.must(Phase.HOLD, command).text.strip().partition("\t")
    return answer, rest


def _owner(text: str) -> Owner:
    token, _, node, _, since, who = [*text.split("\t"), *[""] * 6][:6]
    return Owner(token, node, int(since) if since.isdigit() else 0, who or "nobody knows who")


def _release(node: Node, envs_dir: str, name: str, ticket: Ticket) -> None:
    arguments = (envs_dir, name, ticket.token)
    # With its connection a host loses what it has taken, too.
    with contextlib.suppress(HostError):
        node.run(node.phase, Command(scripts.load("release.sh"), arguments, timeout=QUICK))
