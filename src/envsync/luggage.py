"""The files of this machine that a pip section names, packed for the way to the nodes.

The archive keeps the places of the files to each other, so that every relative path means on a
node what it means here. It depends on names and contents only: no owner, no time of change.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import os
import re
import stat
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from envsync.errors import InputError, Wrong
from envsync.pipsection import read_entry
from envsync.redact import redact
from envsync.requirement import Reference, Requirement

LIMIT = 256 * 1024**2
"""Bytes that may travel: they go to every node, and are held in memory here."""
LEFT_OUT = frozenset({
    ".git", ".hg", ".svn", "__pycache__", ".venv", ".tox", ".nox", ".mypy_cache",
    ".pytest_cache", ".ruff_cache", ".envsync",
})  # fmt: skip
"""Names in a source tree that are history, caches and environments, never sources."""

_TIME = 315532800  # 1980-01-01: the first day that a wheel, a zip file, can hold
_ARCHIVES = (".whl", ".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")


@dataclass(frozen=True)
class Luggage:
    """What goes along with an environment file; false when there is nothing."""

    tar: bytes = b""
    base: str = "."
    """The folder of the environment file in the archive."""
    file: str = ""
    """The environment file's own name there."""
    digests: tuple[tuple[str, str], ...] = ()
    """Path from `base` and SHA-256 (hexadecimal) of each file and source tree."""
    secrets: tuple[str, ...] = ()
    """Places in the archive of the lists that hold a credential, the environment file's too."""
    requirements: tuple[Requirement, ...] = ()
    """What the requirements files ask for and set; their lines are those that name the files."""

    def __bool__(self) -> bool:
        return bool(self.tar)


NOTHING = Luggage()


def pack(path: Path, raw: bytes, pip: tuple[Requirement, ...]) -> Luggage:
    """Gather what `pip`, the section of the environment file `path`, refers to.

    Raises InputError with the file and the line that name what cannot be sent.
    """
    if not any(each.refers for each in pip):
        return NOTHING
    packer = _Packer(Path(os.path.realpath(path.parent)), path)
    for each in pip:
        packer.follow(each, each.line, packer.base, partial(_wrong, str(path), each.line))
    return packer.packed(raw)


def _wrong(file: str, line: int, message: str, hint: str = "") -> InputError:
    return InputError(redact(message), file=file, line=line, hint=redact(hint))


class _Packer:
    """Gathers files by their absolute path, and what the requirements files say."""

    def __init__(self, base: Path, environment: Path) -> None:
        self.base = base
        self._environment = base / environment.name
        self._files: dict[Path, tuple[int, bytes]] = {}
        self._links: dict[Path, str] = {}
        self._digests: dict[str, str] = {}
        self._requirements: list[Requirement] = []
        self._read: set[tuple[Path, bool]] = set()
        self._size = 0

    def follow(self, named: Requirement, line: int, folder: Path, wrong: Wrong) -> None:
        """Take what an entry refers to; `folder` is that of the file in which it stands."""
        for reference in named.refers:
            path = Path(os.path.normpath(self.base / reference.path))
            beside = Path(os.path.normpath(folder / reference.path))
            if reference.kind in {"requirements", "constraints"}:
                self._list(beside, reference, line, wrong)
            elif reference.kind == "links":
                # pip looks beside the file first, then in the folder in which it was started.
                self._folder(beside if beside.exists() else path, wrong)
            else:
                self._package(path, reference, wrong)

    def packed(self, raw: bytes) -> Luggage:
        self._files[self._environment] = (0o600, raw)
        places = [*self._files, *self._links]
        root = Path(os.path.commonpath([self.base, *(each.parent for each in places)]))
        content = io.BytesIO()
        with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for path in sorted(places):
                entry = tarfile.TarInfo(path.relative_to(root).as_posix())
                entry.mtime = _TIME
                if path in self._links:
                    entry.type, entry.linkname = tarfile.SYMTYPE, self._links[path]
                    archive.addfile(entry)
                    continue
                entry.mode, inside = self._files[path]
                entry.size = len(inside)
                archive.addfile(entry, io.BytesIO(inside))
        return Luggage(
            content.getvalue(),
            self.base.relative_to(root).as_posix(),
            self._environment.name,
            tuple(sorted(self._digests.items())),
            tuple(path.relative_to(root).as_posix() for path in sorted(self._secrets(raw))),
            tuple(self._requirements),
        )

    def _secrets(self, raw: bytes) -> Iterator[Path]:
        lists = {path: self._files[path][1] for path, _ in self._read} | {self._environment: raw}
        for path, inside in lists.items():
            text = inside.decode("utf-8", "replace")
            if redact(text) != text:
                yield path

    def _list(self, path: Path, reference: Reference, line: int, wrong: Wrong) -> None:
        asked = reference.kind == "requirements"
        if (path, asked) in self._read:
            return
        self._read.add((path, asked))
        raw = self._take(path, reference.path, wrong)
        shown = os.path.relpath(path, self.base)
        shown = str(self._environment.parent / shown) if shown.startswith("..") else shown
        try:
            lines = raw.decode("utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            raise wrong(f"{reference.path} is not UTF-8 text", "save it as UTF-8") from error
        for number, text in _entries(lines):
            blame = partial(_wrong, shown, number)
            entry = read_entry(text, number, blame)
            if entry.text.startswith("-") or asked:
                self._requirements.append(self._moved(entry, line, path.parent))
            self.follow(entry, line, path.parent, blame)

    def _moved(self, entry: Requirement, line: int, folder: Path) -> Requirement:
        """The entry as it would stand in the environment file, in the line that led to it."""
        for reference in entry.refers:
            if reference.kind == "links" and (folder / reference.path).exists():
                moved = os.path.relpath(folder / reference.path, self.base)
                return dataclasses.replace(entry, text=f"--find-links {moved}", line=line)
        return dataclasses.replace(entry, line=line)

    def _package(self, path: Path, reference: Reference, wrong: Wrong) -> None:
        if not path.is_dir():
            self._take(path, reference.path, wrong)
        elif not any((path / name).is_file() for name in ("pyproject.toml", "setup.py")):
            raise wrong(
                f"{reference.path} is no Python project",
                "pip wants a folder with a pyproject.toml or a setup.py",
            )
        else:
            self._tree(path, reference.path, wrong)

    def _folder(self, path: Path, wrong: Wrong) -> None:
        if not path.is_dir():
            raise wrong(f"there is no folder {path}", "correct the path, or leave the line out")
        for each in sorted(path.iterdir()):
            if each.name.endswith(_ARCHIVES):
                self._take(each, each.name, wrong)

    def _take(self, path: Path, shown: str, wrong: Wrong) -> bytes:
        """One file, read once. Raises InputError where it cannot be."""
        if path in self._files:
            return self._files[path][1]
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
            raise wrong(f"there is no file {shown}", "paths begin beside the file") from error
        except OSError as error:
            raise wrong(
                f"{shown} cannot be read: {error.strerror}", "see to its owner and its mode"
            ) from error
        self._files[path] = (0o755 if status.st_mode & stat.S_IXUSR else 0o644, raw)
        self._digests[self._from_base(path)] = hashlib.sha256(raw).hexdigest()
        return raw

    def _tree(self, root: Path, shown: str, wrong: Wrong) -> None:
        found = hashlib.sha256()
        own_lock = self._environment.with_suffix(".lock")
        for path in _walk(root, wrong):
            if path == own_lock:  # it is made from this digest
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
                self._links[path] = target
                found.update(f"link {name!r} {target!r}\n".encode())
                continue
            raw = self._take(path, f"{shown}/{name}", wrong)
            content = hashlib.sha256(raw).hexdigest()
            found.update(f"{self._files[path][0]:o} {name!r} {content}\n".encode())
        self._digests[self._from_base(root)] = found.hexdigest()

    def _from_base(self, path: Path) -> str:
        return Path(os.path.relpath(path, self.base)).as_posix()


def _walk(root: Path, wrong: Wrong) -> Iterator[Path]:
    def failed(error: OSError) -> None:
        raise wrong(f"{error.filename} cannot be read: {error.strerror}", "see to its mode")

    for folder, folders, files in os.walk(root, onerror=failed):
        folders[:] = sorted(each for each in folders if each not in LEFT_OUT)
        links = [each for each in folders if (Path(folder) / each).is_symlink()]
        for name in sorted([*files, *links]):
            if name not in LEFT_OUT and not name.endswith(".pyc"):
                yield Path(folder) / name


def _entries(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Entries with the number of their first line; a backslash joins lines, as pip does it."""
    held, first = "", 0
    for number, line in enumerate(lines, 1):
        first = first or number
        if line.endswith("\\") and not re.match(r"\s*#", line):
            held += line[:-1]
            continue
        yield first, held + line
        held, first = "", 0
    if held:
        yield first, held


def sources(luggage: Luggage) -> Mapping[str, bytes]:
    """What counts for a lock, by path: the content's digest."""
    return {name: digest.encode() for name, digest in luggage.digests}
