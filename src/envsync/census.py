"""Which generations a node keeps, and who runs in them: one read-only command and its parser."""

from __future__ import annotations

from dataclasses import dataclass

from envsync import scripts
from envsync.errors import HostError
from envsync.ports import Command, Completed

LIMIT = 300.0
"""Seconds: counting the files of some big prefixes on a network file system takes its time."""


@dataclass(frozen=True)
class Generation:
    """One prefix of an environment."""

    id: str
    built: int | None
    """When it was sealed, in seconds since the epoch; None: it never was."""
    size: int
    """Bytes on disk; files shared with a generation listed before count there."""


@dataclass(frozen=True)
class Process:
    """A process that runs in an environment, as far as this user may see."""

    pid: int
    user: str
    generation: str
    """Empty: it came by the environment's link, and nothing tells to which generation."""
    command: str
    by_link: bool = False
    """It looks for files behind the link: after a switch it would get those of another one."""


@dataclass(frozen=True)
class Census:
    """What is there, and who uses it."""

    generations: tuple[Generation, ...]
    processes: tuple[Process, ...]


def census(envs_dir: str, name: str) -> Command:
    """The command whose answer `parse` reads."""
    script = scripts.load("processes.sh") + scripts.load("census.sh")
    return Command(script, (envs_dir, name), timeout=LIMIT)


def processes(envs_dir: str, name: str) -> Command:
    """As `census`, but just who runs there; generations are not counted."""
    script = scripts.load("processes.sh") + 'processes "$1" "$2"'
    return Command(script, (envs_dir, name), timeout=LIMIT)


def remove(envs_dir: str, name: str, generations: tuple[str, ...]) -> Command:
    """Removes generations; answers the KiB won."""
    script = scripts.load("beside.sh") + scripts.load("remove.sh")
    return Command(script, (envs_dir, name, *generations), timeout=LIMIT * 4)


def clean(envs_dir: str, argv: tuple[str, ...]) -> Command:
    """Runs `argv`, which cleans a package cache; answers the KiB won."""
    return Command(scripts.load("clean.sh"), (envs_dir, *argv), timeout=LIMIT * 4)


def parse(done: Completed) -> Census:
    """Read the answer; raises HostError when it is none."""
    if done.exit_code:
        raise HostError(
            "census",
            f"counting generations failed with exit code {done.exit_code}",
            hint="see what the host printed",
            output=done.log,
        )
    rows = [line.split("\t") for line in done.text.splitlines()]
    return Census(
        tuple(
            Generation(row[1], int(row[2]) or None, int(row[3]) * 1024)
            for row in rows
            if row[0] == "generation"
        ),
        read_processes(done),
    )


def read_processes(done: Completed) -> tuple[Process, ...]:
    """The processes in an answer to `census` or to `processes`."""
    rows = (line.split("\t") for line in done.text.splitlines())
    return tuple(
        Process(int(row[1]), row[2], row[3].removeprefix("-"), row[5].strip(), row[4] == "by link")
        for row in rows
        if row[0] == "process"
    )
