"""What Slurm says of its nodes and jobs. The programs that say it are run by whoever asks here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from envsync.errors import InputError

_NODES = ("sinfo", "--all", "--Node", "--noheader", "--format=%N|%t|%P|%E")
"""Name, compact state, partition (`*` behind the default one), reason; sinfo(1)."""
_JOB = ("squeue", "--noheader", "--format=%T|%N", "--jobs")

_CONFIG = ("scontrol", "show", "config")

_OUT_STATES = {
    "down": "down",
    "drain": "drained",
    "drng": "draining",
    "fail": "failing",
    "failg": "failing",
    "futr": "not there yet",
    "unk": "in an unknown state",
    "inval": "registered with another configuration",
}
_OUT_MARKS = {
    "*": "not responding",
    "~": "powered down",
    "%": "powering down",
    "!": "about to be powered down",
}
"""What a node's state ends in; sinfo(1), NODE STATE CODES."""


@dataclass(frozen=True)
class Answer:
    """What a program of Slurm came to."""

    exit_code: int
    out: str
    err: str


Ask = Callable[[Sequence[str]], Answer]
"""Runs a program of Slurm on this machine. Raises InputError where there is none."""


@dataclass(frozen=True)
class SlurmNode:
    """A node as sinfo shows it."""

    name: str
    state: str
    """Compact, with its mark: `idle`, `mix`, `drain*`."""
    partitions: tuple[str, ...]
    """The default one first."""
    reason: str = ""
    """Why it is out, in the administrator's words or in Slurm's."""

    @property
    def out(self) -> str:
        """Why nothing can be started there now, for people; empty when something can."""
        mark = _OUT_MARKS.get(self.state[-1:], "")
        why = _OUT_STATES.get(re.sub(r"[^a-z]", "", self.state), "") or mark
        return f"{why} ({self.reason})" if why and self.reason else why


def slurm_nodes(ask: Ask) -> Mapping[str, SlurmNode]:
    """All nodes by their names. Raises InputError when Slurm does not say."""
    answer = ask(_NODES)
    if answer.exit_code:
        raise silent("sinfo", answer)
    found: dict[str, SlurmNode] = {}
    for line in answer.out.splitlines():
        name, state, partition, reason = [*line.split("|", 3), "", "", ""][:4]
        known = found.get(name)
        mine = partition.removesuffix("*")
        others = known.partitions if known else ()
        partitions = (mine, *others) if partition.endswith("*") else (*others, mine)
        found[name] = SlurmNode(
            name, state, tuple(filter(None, partitions)), "" if reason == "none" else reason
        )
    return found


def partition_of(nodes: Iterable[SlurmNode]) -> str:
    """A partition that has all of the nodes, the default one if it does; empty when none has."""
    every = [node.partitions for node in nodes]
    common = [name for name in every[0] if all(name in each for each in every)] if every else []
    return common[0] if common else ""


def job_nodes(ask: Ask, job: str) -> Sequence[str]:
    """The nodes of a running job, as Slurm's host lists.

    Raises InputError for a job that there is not, or that does not run.
    """
    answer = ask([*_JOB, job])
    if "Invalid job id" in answer.err or (answer.exit_code == 0 and not answer.out.strip()):
        raise InputError(
            f"Slurm has no job {job}, or it has ended", hint="`squeue --me` lists yours"
        )
    if answer.exit_code:
        raise silent("squeue", answer)
    tasks = [line.split("|", 1) for line in answer.out.splitlines() if "|" in line]
    running = [nodes for state, nodes in tasks if state == "RUNNING" and nodes]
    if not running:
        state = tasks[0][0].lower() if tasks else "unknown"
        raise InputError(
            f"job {job} is {state}, and has no nodes", hint="wait until it runs (`squeue --me`)"
        )
    return running


def temporary_folder(ask: Ask) -> str:
    """Where the site wants what is broadcast, or else temporary files, on every node alike.

    Raises InputError when Slurm does not say. slurm.conf(5), BcastParameters and TmpFS.
    """
    answer = ask(_CONFIG)
    if answer.exit_code:
        raise silent("scontrol", answer)
    found = re.search(r"^BcastParameters\s*=.*?\bDestDir=(/[^,\s]+)", answer.out, re.MULTILINE)
    found = found or re.search(r"^TmpFS\s*=\s*(/[^\s%]+)\s*$", answer.out, re.MULTILINE)
    return found[1] if found else "/tmp"  # noqa: S108 (TmpFS's default as well)


def silent(program: str, answer: Answer) -> InputError:
    """For a program of Slurm that has failed."""
    said = complaint(answer.err) or f"exit code {answer.exit_code}"
    return InputError(
        f"{program} failed: {said}", hint="does `scontrol ping` reach Slurm's controller?"
    )


def complaint(err: str) -> str:
    """What a program of Slurm printed, without its marks and its progress."""
    lines = [line.strip() for line in err.splitlines() if line.strip()]
    wrong = [line for line in lines if "error" in line] or lines
    return "; ".join(
        re.sub(r"^(?:s\w+: )?(?:fatal: )?(?:error: )?", "", line) for line in wrong[:2]
    )
