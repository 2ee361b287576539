"""Files of this machine on their way to the nodes: read once, bounded, with their digests.

Each has a place of its own in what is sent, which is a path as well. Links, modes and contents
count; owners and times do not.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

from envsync.errors import Wrong

LIMIT = 256 * 1024**2
"""Bytes that may travel: they go to every node, and are held in memory here."""
LEFT_OUT = frozenset({
    ".git", ".hg", ".svn", "__pycache__", ".venv", ".tox", ".nox", ".mypy_cache",
    ".pytest_cache", ".ruff_cache", ".envsync",
})  # fmt: skip
"""Names in a source tree that are history, caches and environments, never sources."""

_TIME = 315532800  # 1980-01-01: the first day that a wheel, a zip file, can hold
_ARCHIVES = (".whl", ".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")


class Trunk:
    """Gathers files by their place; `base` is where relative paths of pip begin."""

    def __init__(self, base: Path, own_lock: Path) -> None:
        self.base = base
        self.digests: dict[str, str] = {}
        """By path from `base`: SHA-256 (hexadecimal) of each file and source tree."""
        self._own_lock = own_lock
        self._files: dict[Path, tuple[int, bytes]] = {}
        self._links: dict[Path, str] = {}
        self._size = 0

    def put(self, place: Path, raw: bytes, mode: int = 0o644) -> None:
        """Contents that are made here, in place of what may be there."""
        self._files[place] = (self._files.get(place, (mode, b""))[0], raw)

    def note(self, place: Path, digest: str) -> None:
        self.digests[Path(os.path.relpath(place, self.base)).as_posix()] = digest

    def take(self, path: Path, place: Path, shown: str, wrong: Wrong) -> bytes:
        """One file, read once. Raises InputError where it cannot be."""
        if place in self._files:
            return self._files[place][1]
        try:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                raise wrong(f"{shown} is no regular file", "only files and folders can be sent")
            self._size += status.st_size
            if self._size > LIMIT:
                raise wrong(
                    f"with {shown} more than {LIMIT >> 20} MiB would be sent to every node",
                    "put large files into a package index, or take them out of the folder",
                )
            raw = path.read_bytes()
        except FileNotFoundError as error:
            absolute = "it is looked for on this machine, and sent along from here"
            hint = absolute if shown.startswith("/") else "paths begin beside the file"
            raise wrong(f"there is no file {shown}", hint) from error
        except OSError as error:
            raise wrong(
                f"{shown} cannot be read: {error.strerror}", "see to its owner and its mode"
            ) from error
        self._files[place] = (0o755 if status.st_mode & stat.S_IXUSR else 0o644, raw)
        self.note(place, hashlib.sha256(raw).hexdigest())
        return raw

    def archives(self, folder: Path, place: Path, wrong: Wrong) -> None:
        """What pip could find in a folder of wheels and source archives."""
        for each in _archives(folder):
            self.take(each, place / each.name, each.name, wrong)

    def has_room(self, folder: Path) -> bool:
        """Whether the archives of `folder` may go along with what is here already."""
        return self._size + sum(each.stat().st_size for each in _archives(folder)) <= LIMIT

    def tree(self, root: Path, place: Path, shown: str, wrong: Wrong) -> None:
        """A folder of sources. Raises InputError for links that lead out of it."""
        found = hashlib.sha256()
        for path in _walk(root, wrong):
            if path == self._own_lock:  # it is made from this digest
                continue
            name = path.relative_to(root).as_posix()
            if path.is_symlink():
                target = str(path.readlink())
                inside = Path(os.path.normpath(path.parent / target))
                if Path(target).is_absolute() or not inside.is_relative_to(root):
                    raise wrong(
                        f"{shown}/{name} is a link that leads out of the folder",
                        "replace it by what it leads to",
                    )
                self._links[place / name] = target
                found.update(f"link {name!r} {target!r}\n".encode())
                continue
            raw = self.take(path, place / name, f"{shown}/{name}", wrong)
            content = hashlib.sha256(raw).hexdigest()
            found.update(f"{self._files[place / name][0]:o} {name!r} {content}\n".encode())
        self.note(place, found.hexdigest())

    @property
    def root(self) -> Path:
        """The folder that has all places in it, and `base`."""
        places = (*self._files, *self._links)
        return Path(os.path.commonpath([self.base, *(each.parent for each in places)]))

    def tar(self) -> bytes:
        """The archive of all; its names begin at `root`."""
        root, content = self.root, io.BytesIO()
        with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for path in sorted((*self._files, *self._links)):
                entry = tarfile.TarInfo(path.relative_to(root).as_posix())
                entry.mtime = _TIME
                if path in self._links:
                    entry.type, entry.linkname = tarfile.SYMTYPE, self._links[path]
                    archive.addfile(entry)
                    continue
                entry.mode, inside = self._files[path]
                entry.size = len(inside)
                archive.addfile(entry, io.BytesIO(inside))
        return content.getvalue()


def repacked(tar: bytes, change: Callable[[str, bytes], bytes]) -> bytes:
    """The archive with other contents; `change` is given a file's name and what is in it."""
    content = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(tar)) as before,
        tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as after,
    ):
        for entry in before:
            stream = before.extractfile(entry) if entry.isreg() else None
            if stream is None:
                after.addfile(entry)
                continue
            inside = change(entry.name, stream.read())
            entry.size = len(inside)
            after.addfile(entry, io.BytesIO(inside))
    return content.getvalue()


def _archives(folder: Path) -> list[Path]:
    return sorted(each for each in folder.iterdir() if each.name.endswith(_ARCHIVES))


def _walk(root: Path, wrong: Wrong) -> Iterator[Path]:
    def failed(error: OSError) -> None:
        raise wrong(f"{error.filename} cannot be read: {error.strerror}", "see to its mode")

    for folder, folders, files in os.walk(root, onerror=failed):
        folders[:] = sorted(each for each in folders if each not in LEFT_OUT)
        links = [each for each in folders if (Path(folder) / each).is_symlink()]
        for name in sorted([*files, *links]):
            if name not in LEFT_OUT and not name.endswith(".pyc"):
                yield Path(folder) / name
