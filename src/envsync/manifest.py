"""The file that `-f` names: an environment file, or a lock that another tool made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from envsync.errors import InputError
from envsync.lock import MARK, Lock, lock_file, parse_lock
from envsync.luggage import sources
from envsync.otherlocks import read_other_lock
from envsync.spec import (
    EnvironmentSpec,
    environment_name,
    packed,
    parse_environment,
    read_bytes,
)


@dataclass(frozen=True)
class Manifest:
    """What is wanted, and the lock that goes with it, if there is one."""

    spec: EnvironmentSpec
    """Of another tool's lock: a file of that name that asks for nothing more."""
    lock: Lock | None = None
    """Only when the file itself is one."""

    @property
    def sources(self) -> dict[str, bytes]:
        """The files that a lock of this is made from, by name."""
        return {**sources(self.spec.luggage), Path(self.spec.source).name: self.spec.sent}


def read_manifest(path: Path, name: str | None = None) -> Manifest:
    """Read a file; `name` replaces the file's own. Raises InputError."""
    manifest = parse_manifest(read_bytes(path), str(path), name)
    return replace(manifest, spec=packed(manifest.spec, path))


def read_measure(path: Path, name: str | None, called: str) -> Manifest:
    """Read what an environment is to be measured by, which may be a lock alone, also our own.

    `called` is its name where neither the file nor `name` says one. Raises InputError.
    """
    raw, source = read_bytes(path), str(path)
    lock = parse_lock(raw, source) if _is_own(raw) else read_other_lock(raw, source)
    if lock is None:
        return read_manifest(path, name)
    return _of_lock(lock, name or called, raw, source)


def parse_manifest(raw: bytes, source: str, name: str | None = None) -> Manifest:
    """Parse the bytes of a file; `source` names it in messages. Raises InputError."""
    if _is_own(raw):
        raise InputError(
            "it is a lock of envsync's, which goes with an environment file",
            file=source,
            hint="name the environment file with -f: the lock beside it is used",
        )
    lock = read_other_lock(raw, source)
    if lock is None:
        return Manifest(parse_environment(raw, source, name))
    if name is None:
        raise InputError(
            "a lock file does not say what the environment is called",
            file=source,
            hint="name it with -n",
        )
    return _of_lock(lock, name, raw, source)


def _is_own(raw: bytes) -> bool:
    return raw.startswith((b"# Made by envsync", MARK.encode()))


def _of_lock(lock: Lock, name: str, raw: bytes, source: str) -> Manifest:
    """A lock as a manifest: of a file that asks for nothing more."""
    return Manifest(EnvironmentSpec(environment_name(name), (), (), (), (), raw, source), lock)


def lock_beside(manifest: Manifest, path: Path) -> tuple[Lock | None, str]:
    """The lock to use, and why there is none where there is none. Raises InputError."""
    if manifest.lock:
        return manifest.lock, ""
    file = lock_file(path)
    if not file.exists():
        return None, ""
    lock = parse_lock(read_bytes(file), str(file))
    why = lock.stale(manifest.sources)
    return (None if why else lock), why
