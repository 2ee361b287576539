"""Large inputs: sbcast sends them to all nodes of a step at once, each handing on to others."""

from __future__ import annotations

import contextlib
import re
import secrets
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from envsync.ports import Command, Handed, Piece
from envsync.transport.gather import Call, input_size
from envsync.transport.piped import end
from envsync.transport.streams import Feed

LARGE = 1 << 20
"""Bytes: what is smaller goes through srun, which holds so much for a node that is slow."""
_AS_IT_IS = 64 << 20
"""Bytes: a file from this size on is sent by itself, and others are first put together."""
_TICK = 0.05
_CANCELLING = 2.0
_FAILED = re.compile(r"REQUEST_FILE_BCAST\(([^)]+)\)")


def is_large(command: Command) -> bool:
    """Whether the command's input is better sent as files."""
    return input_size(command) >= LARGE


def volumes(pieces: Iterable[Piece], sizes: Mapping[Path, int]) -> list[tuple[Piece, ...]]:
    """The pieces, in their order, as files to send: a large file by itself, others together."""
    made: list[tuple[Piece, ...]] = []
    together = False
    for piece in pieces:
        alone = _is_whole(piece, sizes) and sizes[piece.file] >= _AS_IT_IS
        if together and not alone:
            made[-1] += (piece,)
        else:
            made.append((piece,))
        together = not alone
    return made


@dataclass(frozen=True)
class Site:
    """What is the same for all that is sent."""

    job: str
    base: str
    """The folder for temporary files, on each node's own disk."""
    env: Mapping[str, str]


@dataclass
class Delivery:
    """The input of a command as files of this machine, for as long as the context lasts.

    Raises OSError where there is no room for those that have to be made.
    """

    command: Command
    site: Site
    cut: threading.Event = field(default_factory=threading.Event)
    """Set it, and what runs ends."""

    def __post_init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._files: list[Path] = []

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="envsync-")))
            self._files = list(_files(self.command, folder))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def folder(self) -> str:
        """A new one for each step: nobody else's, and none that an earlier step has left."""
        return f"{self.site.base.rstrip('/')}/envsync-{secrets.token_hex(8)}"

    def send(self, step: str, folder: str, calls: Sequence[Call]) -> frozenset[str]:
        """Send all files to the nodes of a step; those that did not get them.

        Where sbcast does not say which nodes these are, it is all of them.
        """
        nodes = frozenset(call.node for call in calls)
        whole = sum(file.stat().st_size for file in self._files)
        done = 0
        for number, file in enumerate(self._files):
            words = [f"--jobid={self.site.job}.{step}", str(file), f"{folder}/{number:06}"]
            code, said = self._run(["sbcast", *words])
            if code:
                return nodes.intersection(_FAILED.findall(said)) or nodes
            done += file.stat().st_size
            for call in calls:
                if call.on_line:
                    call.on_line(f"{done / 1e6:.1f} of {whole / 1e6:.1f} MB by sbcast")
        return frozenset()

    def cancel(self, step: str) -> None:
        """Ask what runs on the nodes to end, and to tidy up."""
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(
                ["scancel", "--signal=TERM", f"{self.site.job}.{step}"],
                env=self.site.env,
                capture_output=True,
                timeout=_CANCELLING,
                check=False,
            )

    def _run(self, argv: Sequence[str]) -> tuple[int, str]:
        """Exit code and what was said of faults; ended when it is cut, or past the limit."""
        deadline = time.monotonic() + self.command.timeout
        try:
            with (
                tempfile.TemporaryFile() as said,
                subprocess.Popen(
                    argv,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=said,
                    env=self.site.env,
                    start_new_session=True,  # a ^C is ours to pass on
                ) as process,
            ):
                while process.poll() is None:
                    if self.cut.wait(_TICK) or time.monotonic() > deadline:
                        end(process)
                        break
                code = process.wait()
                said.seek(0)
                return code, said.read().decode("utf-8", "replace")
        except OSError as error:
            return 1, str(error)


def _files(command: Command, folder: Path) -> Iterator[Path]:
    """The command's input, as files that are there, and others that are made in `folder`."""
    stdin = command.stdin
    if isinstance(stdin, Handed):
        return  # it comes from elsewhere
    pieces = (Piece(stdin),) if isinstance(stdin, Path) else stdin
    sizes: dict[Path, int] = {}
    groups: Sequence[bytes | tuple[Piece, ...]] = [pieces if isinstance(pieces, bytes) else b""]
    if isinstance(pieces, tuple):
        sizes = {each.file: each.file.stat().st_size for each in pieces}
        groups = volumes(pieces, sizes)
    for number, group in enumerate(groups):
        if isinstance(group, tuple) and len(group) == 1 and _is_whole(group[0], sizes):
            yield group[0].file
            continue
        made, feed = folder / str(number), Feed(b"", group)
        with made.open("wb") as file:
            while piece := feed.pending:
                feed.sent(file.write(piece))
        yield made


def _is_whole(piece: Piece, sizes: Mapping[Path, int]) -> bool:
    return piece.start == 0 and piece.size in {None, sizes[piece.file]}
