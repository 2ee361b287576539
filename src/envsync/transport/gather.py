"""Equal commands that many threads ask for at about the same time, each for its node: one call.

Whoever hands out work knows of single nodes alone, and Slurm is best at many of them at once. So
a command waits for a moment for the same one to other nodes. What has come when, and who may
still come, decides how long; that is pure.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from envsync.errors import HostError
from envsync.ports import Command, Completed, Handed, LineSink, Piece
from envsync.transport.shell import varying

QUIET = 0.03
"""Seconds without a new call after which nobody is expected who has nothing under way."""
SHORTEST, LONGEST = 0.25, 2.0
"""Seconds to wait at most for those who still have something under way, for short commands and
for long ones; in between it is as long as the last command took."""
_SPEED = 100e6
"""Bytes a second: to wait for as long as sending takes may double the time, and no more."""
_LONGEST_TO_SEND = 10.0
MOST = 1024
"""Nodes in one call."""
_MOST_ARGUMENTS = 32 << 10
"""Bytes: each node gets the arguments of all, and the kernel's limit for a text is 128 KiB, of
which the script itself may take half."""
_QUOTES = 3


@dataclass(frozen=True, eq=False)
class Call:
    """A command for one node, on its way."""

    node: str
    job: str
    command: Command
    on_line: LineSink | None = None
    result: Future[Completed] = field(default_factory=Future)
    arrived: float = field(default_factory=time.monotonic)

    @property
    def kind(self) -> tuple[object, ...]:
        """What is equal for calls that can be made together: all but the arguments."""
        command = self.command
        return (self.job, command.script, command.stdin, command.timeout)

    def answer(self, done: Completed) -> None:
        with contextlib.suppress(InvalidStateError):  # given up before
            self.result.set_result(done)

    def fail(self, error: BaseException) -> None:
        with contextlib.suppress(InvalidStateError):
            self.result.set_exception(error)


@dataclass(frozen=True)
class Others:
    """The nodes without a call that waits."""

    busy: bool = False
    """Whether any of them has a command under way."""
    idle_since: Sequence[float] = ()


def input_size(command: Command) -> int:
    """Bytes that the command's script is sent."""
    stdin = command.stdin
    if stdin is None or isinstance(stdin, bytes):
        return len(stdin or b"")
    if isinstance(stdin, Handed):
        return 0
    pieces = (Piece(stdin),) if isinstance(stdin, Path) else stdin
    with contextlib.suppress(OSError):  # whoever sends it will say so
        return sum(
            each.file.stat().st_size - each.start if each.size is None else each.size
            for each in pieces
        )
    return 0


def due(
    calls: Sequence[Call], others: Others, took: Mapping[str, float], now: float
) -> tuple[Sequence[Sequence[Call]], float | None]:
    """The groups to be made now, and when to look again at those that still wait.

    `took` has the seconds of each node's last command.
    """
    if not calls:
        return (), None
    latest = max(call.arrived for call in calls)
    quiet = max((max(since, latest) + QUIET for since in others.idle_since), default=now)
    kinds: dict[tuple[object, ...], list[Call]] = {}
    for call in calls:
        kinds.setdefault(call.kind, []).append(call)
    ready: list[Sequence[Call]] = []
    again: list[float] = []
    for group in kinds.values():
        until = min(call.arrived for call in group) + _patience(group, took)
        if not others.busy:
            until = min(until, quiet)
        if until <= now:
            ready += _cut(group)
        else:
            again.append(until)
    return ready, min(again, default=None)


def _patience(group: Sequence[Call], took: Mapping[str, float]) -> float:
    last = max(took.get(call.node, 0.0) for call in group)
    sending = min(input_size(group[0].command) / _SPEED, _LONGEST_TO_SEND)
    return min(max(last, SHORTEST), LONGEST) + sending


def _cut(group: Sequence[Call]) -> list[Sequence[Call]]:
    """In parts that are not too large for one call."""
    places = varying([call.command.args for call in group])
    parts: list[list[Call]] = [[]]
    size, seen = 0, set[tuple[str, ...]]()
    for call in group:
        args = call.command.args
        own = tuple(args[place] for place in places if place < len(args))
        more = len(call.node) + (0 if own in seen else sum(len(arg) + _QUOTES for arg in own))
        if parts[-1] and (len(parts[-1]) == MOST or size + more > _MOST_ARGUMENTS):
            parts.append([])
            size, seen = 0, set()
        parts[-1].append(call)
        seen.add(own)
        size += more
    return [*parts]


class Gatherer:
    """Takes calls from many threads, and has them carried out in groups."""

    def __init__(self, carry: Callable[[Sequence[Call]], None], expected: Iterable[str]) -> None:
        """`carry` settles each call of a group; `expected` are the nodes that may have calls."""
        self._carry = carry
        self._changed = threading.Condition()
        self._idle = dict.fromkeys(expected, 0.0)
        self._waiting: dict[str, Call] = {}
        self._busy: dict[str, Call] = {}
        self._took: dict[str, float] = {}
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(self, call: Call) -> None:
        with self._changed:
            self._idle.pop(call.node, None)
            self._waiting[call.node] = call
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="envsync-gather", daemon=True
                )
                self._thread.start()
            self._changed.notify()

    def leave(self, node: str, error: HostError) -> None:
        """No more calls come for this node; one that is there ends with `error`."""
        with self._changed:
            call = self._waiting.pop(node, None) or self._busy.pop(node, None)
            self._idle.pop(node, None)
            self._changed.notify()
        if call is not None:
            call.fail(error)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _work(self) -> None:
        with self._changed:
            while not self._closed:
                others = Others(bool(self._busy), tuple(self._idle.values()))
                now = time.monotonic()
                ready, again = due(tuple(self._waiting.values()), others, self._took, now)
                for group in ready:
                    self._begin(group)
                if not ready:
                    self._changed.wait(None if again is None else again - now)

    def _begin(self, group: Sequence[Call]) -> None:
        started = time.monotonic()
        for call in group:
            del self._waiting[call.node]
            self._busy[call.node] = call
            call.result.add_done_callback(partial(self._ended, call, started))
        threading.Thread(
            target=self._carry_out, args=(group,), name="envsync-step", daemon=True
        ).start()

    def _carry_out(self, group: Sequence[Call]) -> None:
        try:
            self._carry(group)
        except BaseException as error:  # noqa: BLE001 (raised again where it was asked for)
            for call in group:
                call.fail(error)

    def _ended(self, call: Call, started: float, _: object) -> None:
        with self._changed:
            if self._busy.get(call.node) is call:
                del self._busy[call.node]
                self._idle[call.node] = time.monotonic()
                self._took[call.node] = time.monotonic() - started
            self._changed.notify()
