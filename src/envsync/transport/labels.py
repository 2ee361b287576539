"""What srun prints for many tasks, each line under the number of its task, taken apart again."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field

from envsync.transport.shell import LINE_END

_LABEL = re.compile(rb" *(\d+): ?")
_OF_SLURM = re.compile(rb"slurmstepd(?:-\S+)?: ")
_END = LINE_END.encode()


@dataclass(frozen=True)
class Here:
    """A task has begun, and waits."""

    node: str
    step: str
    """The step's number in its job."""
    room: bool
    """Whether it has made the folder for what is sent to it."""


@dataclass
class Voice:
    """What one task has said since it was last heard."""

    out: bytes = b""
    err: bytes = b""
    over: bool = False
    """Whether no more standard output comes."""
    here: Here | None = None
    exit_code: int | None = None
    """How its command ended."""


@dataclass
class _Task:
    """What is known of one task's streams."""

    encoded: bool = False
    """Whether its standard output is base64 by now."""
    held_out: bytes = b""
    held_err: bytes = b""


@dataclass
class Labels:
    """Both streams of an srun, as they come. `mark` is that of the step's exchange."""

    mark: bytes
    said: list[str] = field(default_factory=list)
    """Srun's own words, and those of Slurm's daemons."""

    def __post_init__(self) -> None:
        self._tasks: dict[int, _Task] = {}
        self._rest = {"out": b"", "err": b""}

    def feed_out(self, data: bytes) -> dict[int, Voice]:
        """By number of the task: what these bytes of srun's standard output say of it."""
        found: dict[int, Voice] = {}
        for number, line in self._lines("out", data):
            task = self._tasks.setdefault(number, _Task())
            if task.encoded:
                task.held_out += line
                found.setdefault(number, Voice())
            else:
                task.encoded = line == self.mark
        for number, voice in found.items():
            task = self._tasks[number]
            task.held_out, end, _ = task.held_out.partition(b".")
            voice.out, voice.over = self._decoded(task), bool(end)
        return found

    def feed_err(self, data: bytes) -> dict[int, Voice]:
        """The same of its standard error."""
        found: dict[int, Voice] = {}
        for number, line in self._lines("err", data):
            if _OF_SLURM.match(line):
                self._say(line)
                continue
            voice = found.setdefault(number, Voice())
            task = self._tasks.setdefault(number, _Task())
            if line.startswith(self.mark + b" here "):
                voice.here = _here(line)
            elif not line.endswith(_END):
                task.held_err += line  # srun has broken it
            else:
                whole, task.held_err = task.held_err + line[:-1], b""
                if whole.startswith(self.mark + b" exit "):
                    voice.exit_code = int(whole.rpartition(b" ")[2])
                else:
                    voice.err += whole + b"\n"
        return found

    def _lines(self, stream: str, data: bytes) -> list[tuple[int, bytes]]:
        *lines, self._rest[stream] = (self._rest[stream] + data).split(b"\n")
        found = []
        for line in lines:
            if label := _LABEL.match(line):
                found.append((int(label[1]), line[label.end() :]))
            else:
                self._say(line)
        return found

    def _say(self, line: bytes) -> None:
        if text := line.decode("utf-8", "replace").strip():
            self.said.append(text)

    @staticmethod
    def _decoded(task: _Task) -> bytes:
        whole = len(task.held_out) // 4 * 4
        ready, task.held_out = task.held_out[:whole], task.held_out[whole:]
        try:
            return base64.b64decode(ready)
        except binascii.Error:
            return b""  # somebody else has written in between: the frame will not close


def _here(line: bytes) -> Here | None:
    words = line.decode("utf-8", "replace").split()
    if len(words) != 5:  # noqa: PLR2004 (mark, `here`, node, step, room)
        return None
    return Here(words[2], words[3], words[4] == "yes")
