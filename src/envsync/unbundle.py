"""What `envsync.bundle` has written, used where there is no internet; read in place."""

from __future__ import annotations

import contextlib
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from envsync import byhand
from envsync.downloads import Sums, sums_in
from envsync.errors import InputError
from envsync.lock import Section, parse_lock
from envsync.luggage import ELSEWHERE
from envsync.parcels import Parcel, Tell, fits, hashes, must_be_files, wheel_lines
from envsync.spec import EnvironmentSpec

_FOREIGN = frozenset({".git", ".envsync"})
"""Folders in which a file would be run, or taken for what was pushed from here."""


@dataclass(frozen=True)
class Bundle:
    """A bundle that was read through once, with the hash of each file."""

    file: Path
    name: str
    sums: Mapping[str, Sums]
    """By place."""
    starts: Mapping[str, int]
    texts: Mapping[str, bytes]
    """What is neither package nor wheel, by place."""

    def __call__(self, spec: EnvironmentSpec, section: Section, tell: Tell) -> tuple[Parcel, ...]:
        """The files of a section. Raises InputError for one that is missing or another."""
        must_be_files(spec, section)
        tell(f"{len(self.sums)} files in {self.file.name}")
        conda = []
        for package in section.conda:
            place = f"{byhand.CHANNEL}/" + "/".join(package.url.split("/")[-2:])
            found = self.sums.get(unquote(place))
            if found is None or not fits(package, found.md5, found.sha256):
                raise self._lacks(package.url)
            conda.append(self._parcel(unquote(place), package.url))
        by_hash = {
            each.sha256: place
            for place, each in self.sums.items()
            if place.startswith(f"{byhand.WHEELS}/")
        }
        wheels = []
        for line in wheel_lines(section):
            places = [by_hash[each] for each in sorted(hashes(line)) if each in by_hash]
            if not places:
                raise self._lacks(line.partition(" --hash=")[0])
            wheels.append(self._parcel(places[0], "", line))
        return (*conda, *wheels)

    def _parcel(self, place: str, url: str, line: str = "") -> Parcel:
        sums = self.sums[place]
        name = PurePosixPath(place).name
        start = self.starts[place]
        return Parcel(name, url, self.file, sums.md5, sums.sha256, sums.size, line, start)

    def _lacks(self, what: str) -> InputError:
        return InputError(
            f"it does not have {what} as the lock wants it",
            file=str(self.file),
            hint="it is damaged, or of another lock: make it anew with `envsync bundle`",
        )


def read_bundle(file: Path) -> Bundle:
    """Read it through. Raises InputError for what is no bundle."""
    sums: dict[str, Sums] = {}
    starts: dict[str, int] = {}
    texts: dict[str, bytes] = {}
    name = ""
    if file.exists() and not file.is_file():  # a pipe would be waited for, and can be read but once
        raise InputError(
            "it is no file, and a bundle is read in place", file=str(file), hint="copy it to one"
        )
    try:
        with tarfile.open(file, "r:") as archive:
            for entry, content in _members(archive, file.stat().st_size):
                name, _, place = entry.name.partition("/")
                if place.startswith((f"{byhand.CHANNEL}/", f"{byhand.WHEELS}/")):
                    sums[place], starts[place] = sums_in(content), entry.offset_data
                else:
                    texts[place] = content.read()
    except tarfile.TarError as error:
        raise InputError(
            f"it is no bundle of envsync's: {error}",
            file=str(file),
            hint="`envsync bundle` makes one; a copy that was cut off has to be made again",
        ) from error
    except OSError as error:
        raise InputError(
            f"it cannot be read: {error.strerror or error}", file=str(file), hint="check the path"
        ) from error
    if byhand.ENVIRONMENT not in texts or byhand.LOCK not in texts:
        raise InputError(
            "it is no bundle of envsync's", file=str(file), hint="`envsync bundle` makes one"
        )
    return Bundle(file, name, sums, starts, texts)


def _members(
    archive: tarfile.TarFile, whole: int
) -> Iterator[tuple[tarfile.TarInfo, tarfile.ExFileObject]]:
    for entry in archive:
        path = PurePosixPath(entry.name)
        plain = (entry.isreg() and not entry.issparse()) or entry.isdir()
        inside = not path.is_absolute() and ".." not in path.parts and entry.name.isprintable()
        if not (plain and inside and (entry.isdir() or len(path.parts) > 1)):
            raise tarfile.TarError(f"{entry.name!r} is not what a bundle holds")
        if entry.offset_data + entry.size > whole:
            raise tarfile.TarError(f"it ends in {entry.name}")
        if entry.isreg() and (content := archive.extractfile(entry)):
            yield entry, content  # type: ignore[misc]


def settle(bundle: Bundle, environment: Path) -> tuple[Path, ...]:
    """Put the environment file, its lock and what belongs to it where they are missing.

    The paths that were written. Raises InputError where something else lies there.
    """
    if environment.name != byhand.ENVIRONMENT:
        raise InputError(
            f"a bundle's environment file is called {byhand.ENVIRONMENT}",
            file=str(environment),
            hint=f"leave -f out, or name a folder with it: FOLDER/{byhand.ENVIRONMENT}",
        )
    folder = environment.parent
    lock = folder / byhand.LOCK
    wanted = {folder / place: raw for place, raw in _own(bundle).items()}
    wanted |= {environment: bundle.texts[byhand.ENVIRONMENT], lock: bundle.texts[byhand.LOCK]}
    path = folder
    try:
        missing = {}
        for path, raw in sorted(wanted.items()):
            if not path.exists():
                missing[path] = raw
            elif path.is_dir() or path.read_bytes() != raw:
                raise InputError(
                    f"it is not the one in {bundle.file.name}",
                    file=str(path),
                    hint="push from an empty folder, or make the bundle from this file",
                )
        for path, raw in missing.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.ExitStack() as undo:
                part = path.with_name(f".{path.name}.part")
                undo.callback(part.unlink, missing_ok=True)
                part.write_bytes(raw)
                part.replace(path)
    except OSError as error:
        raise InputError(
            f"it cannot be written: {error.strerror or error}",
            file=str(path),
            hint="push from a folder of your own, with room in it",
        ) from error
    return tuple(missing)


def _own(bundle: Bundle) -> Mapping[str, bytes]:
    """What the pip section names: files and folders that the lock was made from.

    Raises InputError for what would have a say in this folder besides.
    """
    lock = parse_lock(bundle.texts[byhand.LOCK], f"{bundle.file}: {byhand.LOCK}")
    named = {name for name, _ in lock.sources} - {byhand.ENVIRONMENT}
    own = {}
    for place, raw in bundle.texts.items():
        path = PurePosixPath(place)
        if place == byhand.LOCK or not named.intersection(map(str, (path, *path.parents))):
            continue
        if _FOREIGN.intersection(path.parts) and not path.is_relative_to(ELSEWHERE):
            raise InputError(
                f"{place} has no place in a bundle",
                file=str(bundle.file),
                hint="whoever made it should say why it is there",
            )
        own[place] = raw
    return own
