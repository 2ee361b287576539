"""The files of this machine that a pip section names, packed for the way to the nodes.

The archive keeps the places of the files to each other, so that every relative path means on a
node what it means here. What an absolute path or a `file:` address names goes to a place of its
own, `.envsync/elsewhere/NUMBER/NAME` beside the environment file, and the lines that name it are
written anew. So the archive depends on names and contents only: no path of this machine, no owner,
no time of change.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from envsync.errors import InputError, Wrong
from envsync.model import Notice
from envsync.pipsection import read_entry
from envsync.redact import redact
from envsync.requirement import Reference, Requirement
from envsync.rewrite import rewritten
from envsync.trunk import Trunk

ELSEWHERE = Path(".envsync", "elsewhere")
"""Nothing else is ever sent to there: the folder `.envsync` stays out of every tree."""
_LISTS = frozenset({"requirements", "constraints"})


@dataclass(frozen=True)
class Luggage:
    """What goes along with an environment file; false when there is nothing."""

    tar: bytes = b""
    base: str = "."
    """The folder of the environment file in the archive."""
    file: str = ""
    """The environment file's own name there."""
    environment: bytes = b""
    """The environment file as it stands there."""
    digests: tuple[tuple[str, str], ...] = ()
    """Path from `base` and SHA-256 (hexadecimal) of each file and source tree."""
    secrets: tuple[str, ...] = ()
    """Places in the archive of the lists that hold a credential, the environment file's too."""
    lists: tuple[str, ...] = ()
    """Places in the archive of all lists, and of the environment file."""
    requirements: tuple[Requirement, ...] = ()
    """What the requirements files ask for and set, each with its file and line."""
    options: tuple[str, ...] = ()
    """Where pip is to look: the options of all files, as they are seen from `base`."""
    texts: tuple[tuple[str, str], ...] = ()
    """Name and text of each requirements and constraints file, as they are here."""
    notices: tuple[Notice, ...] = ()
    identity: str = ""
    """SHA-256 (hexadecimal) of the archive, also where the archive itself is not at hand."""

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
    packer.environment(raw, pip)
    return packer.packed()


def _wrong(file: str, line: int, message: str, hint: str = "") -> InputError:
    return InputError(redact(message), file=file, line=line, hint=redact(hint))


class _Reader(NamedTuple):
    """The file in which an entry stands."""

    shown: str
    folder: Path
    """Where it is here, and among what is sent."""
    place: Path
    foreign: bool = False
    """It is not sent to where it is."""


class _Packer:
    """Follows the entries of all files, and says of each how a node is to read it."""

    def __init__(self, base: Path, environment: Path) -> None:
        self._base = base
        self._path = environment
        self._own = base / environment.name
        self._trunk = Trunk(base, self._own.with_suffix(".lock"))
        self._elsewhere: dict[Path, Path] = {}
        self._requirements: list[Requirement] = []
        self._options: list[str] = []
        self._lists: dict[Path, bytes] = {}
        self._texts: dict[str, str] = {}
        self._read: set[tuple[Path, bool]] = set()
        self._notices: list[Notice] = []

    def environment(self, raw: bytes, pip: tuple[Requirement, ...]) -> None:
        """The file with which all begins; its lines stay where they are."""
        source = str(self._path)
        reader = _Reader(source, self._base, self._base)
        words = {each.text: self._follow(each, each.line, reader) for each in pip}
        changed = {text: new for text, new in words.items() if new != text}
        raw = rewritten(raw, source, changed) if changed else raw
        self._trunk.put(self._own, raw, 0o600)
        self._lists[self._own] = raw

    def packed(self) -> Luggage:
        root, tar = self._trunk.root, self._trunk.tar()
        lists = {path.relative_to(root).as_posix(): raw for path, raw in self._lists.items()}
        return Luggage(
            tar,
            self._base.relative_to(root).as_posix(),
            self._own.name,
            self._lists[self._own],
            tuple(sorted(self._trunk.digests.items())),
            tuple(sorted(place for place, raw in lists.items() if holds_credential(raw))),
            tuple(sorted(lists)),
            tuple(self._requirements),
            tuple(self._options),
            tuple(self._texts.items()),
            tuple(self._notices),
            hashlib.sha256(tar).hexdigest(),
        )

    def _follow(self, named: Requirement, line: int, reader: _Reader) -> str:
        """Take what an entry refers to; its text for the nodes."""
        wrong = partial(_wrong, reader.shown, line)
        text = named.text
        for reference in named.refers:
            try:
                if reference.kind in _LISTS:
                    text = self._list(reference, text, reader, wrong)
                elif reference.kind == "links":
                    text = self._links(reference, text, line, reader, wrong)
                else:
                    text = self._package(reference, text, wrong)
            except OSError as error:  # a folder that this user may not enter, a name too long
                raise wrong(
                    f"{reference.path} cannot be read: {error.strerror}",
                    "see to the path and its mode",
                ) from error
        if text.startswith("-") and not named.refers:
            self._options.append(text)
        return text

    def _place(self, path: Path, *, foreign: bool) -> Path:
        """Where it is sent to: the number is that of its first mention, here or anywhere."""
        if not foreign:
            return path
        if path not in self._elsewhere:
            name = re.sub(r"[^A-Za-z0-9._+!-]", "_", path.name) or "_"
            number = str(len(self._elsewhere) + 1)
            self._elsewhere[path] = self._base / ELSEWHERE / number / name
        return self._elsewhere[path]

    def _list(self, reference: Reference, text: str, reader: _Reader, wrong: Wrong) -> str:
        # `file:x.txt` is an address without a folder: pip begins where it was started, the base.
        start = self._base if reference.foreign else reader.folder
        path = Path(os.path.normpath(start / reference.path))
        foreign = reference.path.startswith("/") or (reader.foreign and not reference.foreign)
        place = self._place(path, foreign=foreign)
        asked = reference.kind == "requirements"
        if (place, asked) not in self._read:
            self._read.add((place, asked))
            raw = self._trunk.take(path, place, reference.path, wrong)
            self._read_list(
                raw,
                _Reader(self._shown(path), path.parent, place.parent, foreign),
                place,
                asked=asked,
            )
        if not (reference.foreign or foreign):
            return text
        return reference.at(os.path.relpath(place, reader.place))

    def _read_list(self, raw: bytes, reader: _Reader, place: Path, *, asked: bool) -> None:
        try:
            content = raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise _wrong(reader.shown, 0, "it is not UTF-8 text", "save it as UTF-8") from error
        self._texts[reader.shown] = content
        lines = content.splitlines()
        for number, count, text in _entries(lines):
            entry = read_entry(text, number, partial(_wrong, reader.shown, number))
            if entry.text.startswith("-") or asked:
                self._requirements.append(replace(entry, file=reader.shown))
            new = self._follow(entry, number, reader)
            if new != entry.text:
                # Each line keeps its number, which pip names.
                lines[number - 1 : number - 1 + count] = [new, *[""] * (count - 1)]
        if lines != content.splitlines():
            raw = "".join(f"{line}\n" for line in lines).encode()
            self._trunk.put(place, raw)
            self._trunk.note(place, hashlib.sha256(raw).hexdigest())
        self._lists[place] = raw

    def _shown(self, path: Path) -> str:
        shown = os.path.relpath(path, self._base)
        return str(self._own.parent / shown) if shown.startswith("..") else shown

    def _links(
        self, reference: Reference, text: str, line: int, reader: _Reader, wrong: Wrong
    ) -> str:
        # pip looks beside the file first, then in the folder in which it was started.
        beside = Path(os.path.normpath(reader.folder / reference.path))
        inherited = reader.foreign and beside.exists()
        path = beside if beside.exists() else Path(os.path.normpath(self._base / reference.path))
        absolute = reference.path.startswith("/")
        if absolute and not (path.is_dir() and self._trunk.has_room(path)):
            why = "is too large to send" if path.is_dir() else "is not on this machine"
            notice = f"{path} {why}: each node is expected to have it"
            self._notices.append(Notice(notice, reader.shown, line))
            self._options.append(text)
            return text
        if not path.is_dir():
            raise wrong(f"there is no folder {path}", "correct the path, or leave the line out")
        foreign = absolute or inherited
        place = self._place(path, foreign=foreign)
        self._trunk.archives(path, place, wrong)
        option = replace(reference, before="--find-links ")
        self._options.append(option.at(os.path.relpath(place, self._base)))
        if not (reference.foreign or foreign):
            return text
        return option.at(os.path.relpath(place, reader.place))

    def _package(self, reference: Reference, text: str, wrong: Wrong) -> str:
        path = Path(os.path.normpath(self._base / reference.path))
        place = self._place(path, foreign=reference.path.startswith("/"))
        if not path.is_dir():
            raw = self._trunk.take(path, place, reference.path, wrong)
            _check(raw, reference, wrong)
        elif not any((path / name).is_file() for name in ("pyproject.toml", "setup.py")):
            raise wrong(
                f"{reference.path} is no Python project",
                "pip wants a folder with a pyproject.toml or a setup.py",
            )
        else:
            self._trunk.tree(path, place, reference.path, wrong)
        if not reference.foreign:
            return text
        new = os.path.relpath(place, self._base)
        return reference.at(new if new.startswith("..") else f"./{new}")


def _check(raw: bytes, reference: Reference, wrong: Wrong) -> None:
    """Raises InputError where the address promises other contents."""
    algorithm, _, promised = reference.digest.partition(":")
    if algorithm and hashlib.new(algorithm, raw, usedforsecurity=False).hexdigest() != promised:
        raise wrong(
            f"{reference.path} has not the {algorithm} that the line says",
            "the file has changed: take the new hash, or bring back the file",
        )


def holds_credential(raw: bytes) -> bool:
    text = raw.decode("utf-8", "replace")
    return redact(text) != text


def _entries(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """Number of the first line, how many, and the entry: a backslash joins lines, as for pip."""
    held, first = "", 0
    for number, line in enumerate(list(lines), 1):
        first = first or number
        if line.endswith("\\") and not re.match(r"\s*#", line):
            held += line[:-1]
            continue
        yield first, number - first + 1, held + line
        held, first = "", 0
    if held:
        yield first, len(lines) - first + 1, held


def sources(luggage: Luggage) -> Mapping[str, bytes]:
    """What counts for a lock, by path: the content's digest."""
    return {name: digest.encode() for name, digest in luggage.digests}
