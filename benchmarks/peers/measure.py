"""One run of a contender: its wall time, the CPU time of it and its children, its memory."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

LIMIT = 900
"""Seconds after which a contender is ended."""

_EVERY = 0.05
"""Seconds between two looks at the memory."""

_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Run:
    """How one run went."""

    wall: float
    """Seconds from start to end, the start of the interpreter included."""
    cpu: float
    """User and system seconds of the program and of the children it waited for (wait4(2))."""
    peak: int
    """Bytes; 0 where memory was not looked at."""
    code: int
    output: str


def measure(
    words: Sequence[str], env: Mapping[str, str], folder: Path, *, memory: bool = False
) -> Run:
    """Run `words` to their end. With `memory` the process tree is sampled, which costs time."""
    log = folder / "output"
    with log.open("wb") as out:
        started = time.monotonic()
        process = subprocess.Popen(
            words, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
        limit = threading.Timer(LIMIT, process.kill)
        limit.start()
        watch = _Watch(process.pid) if memory else None
        _, status, used = os.wait4(process.pid, 0)
        wall = time.monotonic() - started
        limit.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        peak = watch.stop() if watch else 0
    text = log.read_text(errors="replace")
    return Run(wall, used.ru_utime + used.ru_stime, peak, process.returncode, text)


class _Watch(threading.Thread):
    """The highest sum of resident memory of a process and all its descendants."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self._peak = 0
        self._over = threading.Event()
        self.start()

    def run(self) -> None:
        while not self._over.wait(_EVERY):
            self._peak = max(self._peak, _resident(self._pid))

    def stop(self) -> int:
        self._over.set()
        self.join()
        return self._peak


def _resident(root: int) -> int:
    total, todo = 0, [root]
    while todo:
        process = Path("/proc", str(todo.pop()))
        with suppress(OSError):  # it has ended meanwhile
            total += int((process / "statm").read_text().split()[1]) * _PAGE
            for file in process.glob("task/*/children"):
                todo += map(int, file.read_text().split())
    return total
