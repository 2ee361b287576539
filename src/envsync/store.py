"""What a folder remembers of its pushes: `.envsync/` beside environment.yml.

    last.json         hosts, name and connection settings of the last push
    environment.yml   the file that was pushed, without credentials
    environment.lock  the lock that was pushed, if there was one
    decision.json     a switch that was decided and has not been seen to be done on all hosts
    failed.json       the hosts that failed last; empty after a change that went well
    log.jsonl         what was pushed and rolled back from here, one JSON object a line
    runs/*.jsonl      the events of each run, one JSON object a line

The folder is for its owner only: a variable in an environment.yml may hold a token.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from envsync.commit import Decision, Flip
from envsync.errors import InputError
from envsync.events import Event, Outcome
from envsync.generations import Slot
from envsync.model import Host
from envsync.report import Entry

FOLDER = ".envsync"
KEPT_RUNS = 50


@dataclass(frozen=True)
class LastPush:
    """What `verify` and `diff` need when they are given no more words."""

    hosts: tuple[Host, ...]
    name: str
    source: str
    """The environment file as the user named it."""
    raw: bytes
    """The pushed file without credentials; empty when nobody knows what the nodes hold."""
    lock: bytes
    """The lock's text; empty when each node solved for itself."""
    connection: Mapping[str, Any]
    """Options that lead to the hosts (key files, known_hosts); never a secret."""
    luggage: str = ""
    """SHA-256 of the files that went along."""


class Store:
    """The `.envsync/` of one folder. Writing needs no lock: each file is renamed into place."""

    def __init__(self, beside: Path) -> None:
        self.folder = beside / FOLDER

    def remember(self, push: LastPush) -> None:
        """Keep what the next command needs."""
        self._make()
        record = {
            "version": 1,
            "hosts": [dataclasses.asdict(host) for host in push.hosts],
            "name": push.name,
            "source": push.source,
            "connection": dict(push.connection),
            "luggage": push.luggage,
        }
        write_whole(self.folder / "environment.yml", push.raw)
        write_whole(self.folder / "environment.lock", push.lock)
        write_whole(self.folder / "last.json", json.dumps(record, indent=2).encode() + b"\n")

    def last_push(self) -> LastPush:
        """The last push from this folder; InputError when there was none."""
        file = self.folder / "last.json"
        try:
            record = json.loads(file.read_bytes())
            return LastPush(
                hosts=tuple(Host(**host) for host in record["hosts"]),
                name=record["name"],
                source=record["source"],
                raw=(self.folder / "environment.yml").read_bytes(),
                lock=(self.folder / "environment.lock").read_bytes(),
                connection=record["connection"],
                luggage=record.get("luggage", ""),
            )
        except FileNotFoundError as error:
            raise InputError(
                f"there was no push from {self.folder.parent.resolve()} yet",
                hint="name the hosts (`envsync verify hosts.txt`), or go to the folder that"
                " was pushed from",
            ) from error
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"it cannot be read: {error}",
                file=str(file),
                hint="remove it and push again",
            ) from error

    def decide(self, decision: Decision) -> None:
        """Keep a decision until `settle`: on disk, whatever happens next."""
        self._make()
        record = {
            "version": 1,
            "name": decision.name,
            "operator": decision.operator,
            "flips": [dataclasses.asdict(flip) for flip in decision.flips],
        }
        text = json.dumps(record, indent=2) + "\n"
        write_whole(self.folder / "decision.json", text.encode(), sync=True)

    def decision(self) -> Decision | None:
        """The decision that is not known to be carried out on all hosts, if there is one."""
        file = self.folder / "decision.json"
        try:
            record = json.loads(file.read_bytes())
            return Decision(
                record["name"],
                record["operator"],
                tuple(
                    Flip(
                        Host(**flip["host"]),
                        Slot(**flip["slot"]),
                        flip["expected"],
                        Outcome(flip["outcome"]),
                    )
                    for flip in record["flips"]
                ),
            )
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"it cannot be read: {error}",
                file=str(file),
                hint="remove it; `envsync push` brings all hosts together again",
            ) from error

    def settle(self) -> None:
        """All hosts have done what was decided."""
        (self.folder / "decision.json").unlink(missing_ok=True)

    def note_failures(self, hosts: Iterable[Host]) -> None:
        """Keep which hosts failed, for --failed; only where a push has made the folder."""
        if self.folder.is_dir():
            record = {"version": 1, "hosts": [dataclasses.asdict(host) for host in hosts]}
            with contextlib.suppress(OSError):  # a folder of somebody else's
                write_whole(self.folder / "failed.json", json.dumps(record).encode() + b"\n")

    def failed(self) -> tuple[Host, ...]:
        """The hosts that failed in the last run; InputError when none is remembered."""
        file = self.folder / "failed.json"
        try:
            return tuple(Host(**host) for host in json.loads(file.read_bytes())["hosts"])
        except FileNotFoundError as error:
            raise InputError(
                f"no run from {self.folder.parent.resolve()} is remembered, so none failed",
                hint="leave --failed out, or go to the folder that was pushed from",
            ) from error
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"it cannot be read: {error}", file=str(file), hint="leave --failed out"
            ) from error

    def record(self, entry: Entry) -> None:
        """Add a line to the history of this folder."""
        self._make()
        line = json.dumps(dataclasses.asdict(entry)) + "\n"
        handle = os.open(self.folder / "log.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(handle, "w") as stream:
            stream.write(line)

    def history(self) -> tuple[Entry, ...]:
        """What was done from this folder, oldest first."""
        try:
            lines = (self.folder / "log.jsonl").read_text().splitlines()
        except FileNotFoundError:
            return ()
        entries = []
        for line in lines:
            # A line that a full disk cut off says nothing.
            with contextlib.suppress(ValueError, TypeError):
                record = json.loads(line)
                entries.append(Entry(**record | {"generations": tuple(record["generations"])}))
        return tuple(entries)

    def log(self, command: str) -> EventLog:
        """A new file for the events of one run; old ones are dropped."""
        self._make()
        runs = self.folder / "runs"
        runs.mkdir(mode=0o700, exist_ok=True)
        for old in sorted(runs.glob("*.jsonl"))[: -KEPT_RUNS + 1]:
            old.unlink(missing_ok=True)
        now = datetime.now(UTC)
        return EventLog(runs / f"{now:%Y%m%dT%H%M%S.%f}-{command}.jsonl")

    def _make(self) -> None:
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            ignore = self.folder / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n")
        except OSError as error:
            raise InputError(
                f"{self.folder} cannot be written: {error.strerror}",
                hint="envsync keeps the state of a push beside the environment file",
            ) from error


class EventLog:
    """The file of one run's events; each is on disk before anything else happens to it."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._stream = os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def write(self, event: Event) -> None:
        record = {
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "event": type(event).__name__.lower(),
            **vars(event),
        }
        self._stream.write(json.dumps(record, default=_plain) + "\n")
        self._stream.flush()


def _plain(value: object) -> object:
    """What JSON does not know: hosts by their name, other data by their fields."""
    return str(value) if isinstance(value, Host) else vars(value)


def write_whole(file: Path, content: bytes, mode: int = 0o600, *, sync: bool = False) -> None:
    """Replace `file` whole, by default for its owner alone; with `sync` it survives a power cut."""
    handle, part = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    with os.fdopen(handle, "wb") as stream:
        stream.write(content)
        if sync:
            stream.flush()
            os.fsync(stream.fileno())
    Path(part).chmod(mode)
    Path(part).replace(file)
