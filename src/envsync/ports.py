"""The seams: what the core asks of the outside world, as small Protocols.

A transport knows how to reach a host; everything else works on `Connection` and can be
tested with a fake of a dozen lines. A nonzero exit code is data. Only a connection that
cannot be made, breaks, or outlives its time limit raises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from envsync.model import Host

NO_WAY = 69
"""Exit code where no way led to the host that was to hand something on (as in sysexits.h)."""
LineSink = Callable[[str], None]
"""Called for each line the remote command writes to standard error, as it comes."""


@dataclass(frozen=True)
class Piece:
    """Some bytes of a file of this machine: its end, where its beginning is there already."""

    file: Path
    start: int = 0
    size: int | None = None
    """None: to the file's end."""


@dataclass(frozen=True)
class Peer:
    """A host, as another one may reach it by its own ssh."""

    ways: tuple[tuple[str, str, str], ...]
    """User, address and port, to be tried in this order. No port: what ssh there has for it."""
    host_key: str
    """The one that it must have: type and base64, as in known_hosts."""


@dataclass(frozen=True)
class Handed:
    """What `command` prints on another host, to which the far side goes by itself."""

    command: Command
    """Has no input of its own but `b""`: it ends when nobody reads any more."""
    peer: Peer


@dataclass(frozen=True)
class Command:
    """A program for the far side's POSIX `sh`, as a value.

    `script` is a constant text (see `envsync.scripts`); everything variable travels in
    `args`, which the script sees as `$1`, `$2`, ... and which is never pasted into it.
    """

    script: str
    args: tuple[str, ...] = ()
    stdin: bytes | Path | tuple[Piece, ...] | Handed | None = None
    """What the script reads on standard input: bytes, or those of files on this machine, one
    after the other, which are read as they are sent; or what another host hands on (the exit code
    is NO_WAY when that cannot be reached). With None the script's standard input is empty. With
    None and Handed the far side ends the script when the connection goes away."""
    timeout: float = 60.0
    """Seconds, enforced on the far side by `timeout(1)`; we add a backstop."""


@dataclass(frozen=True)
class Completed:
    """How a `Command` ended: the script's own bytes only, without shell start-up noise."""

    exit_code: int
    stdout: bytes = b""
    stderr: bytes = b""
    seconds: float = field(default=0.0, compare=False)

    @property
    def text(self) -> str:
        return self.stdout.decode("utf-8", "replace")

    @property
    def log(self) -> str:
        return self.stderr.decode("utf-8", "replace")


@dataclass(frozen=True)
class Reached:
    """How a connection came about, for people."""

    address: str
    user: str
    key: str = ""
    """What the login was made with; never a secret."""
    host_key: str = ""
    """The host's key as `ssh-keygen -l` prints it."""
    public_key: str = ""
    """The same as known_hosts has it: type and base64."""
    through: tuple[str, ...] = ()
    """Jump hosts, the first one first."""


class Connection(Protocol):
    """One host, reached. Used by one thread at a time."""

    @property
    def reached(self) -> Reached: ...

    def run(self, command: Command, on_line: LineSink | None = None) -> Completed:
        """Run `command` to its end.

        Raises LinkLostError when the connection breaks and CommandTimeoutError when the
        time limit passes, both within a bounded time.
        """
        ...

    def close(self) -> None: ...


class Transport(Protocol):
    """Makes connections. Safe to use from many threads at once."""

    def connect(self, host: Host) -> Connection:
        """Reach `host`; raises ConnectError with its cause and the next step."""
        ...

    def close(self) -> None:
        """End what connections share."""
        ...

    @property
    def unread(self) -> Sequence[str]:
        """What was said about ways to hosts and is not followed; for those who want to know."""
        ...
