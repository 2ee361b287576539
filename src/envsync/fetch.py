"""Brings installers to this machine, once: from a file, the cache, or their publisher.

None is used whose sha256 nobody has said: neither the user nor its publisher.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from envsync.downloads import PIECE, opened, sums_in
from envsync.errors import InputError
from envsync.installers import (
    HEAD,
    PUBLISHERS,
    Flavour,
    Installer,
    identify,
    is_sum,
    published_sum,
)

_MOST_TEXT = 4_000_000
"""Bytes that a page with sums may have; Anaconda's has some hundred thousand."""
Tell = Callable[[str], None]
"""Is told what is being waited for."""


@dataclass(frozen=True)
class Source:
    """Where installers come from, and what they must be."""

    flavour: Flavour
    folder: str = ""
    """Address of a mirror's folder, in place of the publisher's."""
    sums: tuple[str, ...] = ()
    """What the user has said that the sha256 is; one for each file, in any order."""

    def check(self) -> None:
        """Raises InputError for an address or a sum that is none."""
        if self.folder and not self.folder.startswith(("https://", "http://", "file:///")):
            raise InputError(
                f"--from: {self.folder!r} is no address",
                hint="https://HOST/FOLDER, or file:///FOLDER",
            )
        for each in self.sums:
            if not is_sum(each):
                raise InputError(
                    f"--sha256: {each!r} is no sha256", hint="64 digits and letters from a to f"
                )


def local(files: Sequence[Path], sums: Sequence[str]) -> Mapping[str, Installer]:
    """The user's own installers by platform, checked. Raises InputError."""
    found: dict[str, Installer] = {}
    for file in files:
        try:
            with file.open("rb") as stream:
                head = stream.read(HEAD)
                stream.seek(0)
                own = sums_in(stream)
        except OSError as error:
            raise InputError(f"it cannot be read: {error.strerror}", file=str(file)) from error
        _must_be(file, own.sha256, sums or _beside(file))
        installer = identify(file.absolute(), head, own.sha256, own.size)
        if other := found.get(installer.subdir):
            raise InputError(
                f"both it and {other.path.name} are for {installer.subdir}",
                file=str(file),
                hint="name one installer for each architecture",
            )
        found[installer.subdir] = installer
    if len({each.flavour for each in found.values()}) > 1:
        raise InputError(
            "--installer: the files are of different kinds",
            hint="Miniforge, Miniconda or micromamba, the same for all nodes",
        )
    return found


def _beside(file: Path) -> Sequence[str]:
    """The sum in FILE.sha256, as publishers put it beside a file."""
    beside = file.with_name(f"{file.name}.sha256")
    try:
        found = published_sum(beside.read_text(encoding="utf-8"), file.name, table=False)
    except (OSError, UnicodeDecodeError):
        found = ""
    if not found:
        raise InputError(
            "nobody says what its sha256 is",
            file=str(file),
            hint=f"give the publisher's with --sha256, or put its {beside.name} beside it",
        )
    return [found]


def _must_be(file: Path, sha256: str, sums: Sequence[str]) -> None:
    if sha256 not in {each.lower() for each in sums}:
        raise InputError(
            f"its sha256 is {sha256}, and not {' or '.join(sums)}",
            file=str(file),
            hint="it is damaged, cut short, or not the file that is meant: fetch it anew",
        )


def fetch(
    source: Source, subdirs: Collection[str], tell: Tell, cache: Path
) -> Mapping[str, Installer]:
    """Installers for these platforms, from the cache where it has them. Raises InputError."""
    return {subdir: _one(source, subdir, tell, cache) for subdir in subdirs}


def _one(source: Source, subdir: str, tell: Tell, cache: Path) -> Installer:
    publisher = PUBLISHERS[source.flavour]
    name = publisher.file(subdir)
    folder = (source.folder or publisher.folder).rstrip("/")
    sums = [each.lower() for each in source.sums]
    if not sums:
        # A mirror of Anaconda's folder may have no table, but files beside the files.
        page = f"{folder}/{name}{publisher.sums}" if publisher.sums else f"{folder}/"
        tell(f"asking for the sha256 of {name}")
        sums = [published_sum(_text(page), name, table=not publisher.sums)]
        if not sums[0]:
            raise InputError(
                f"{page} does not say what the sha256 of {name} is",
                hint="give it with --sha256",
            )
    for sha256 in sums:
        there = cache / sha256 / name
        if there.exists():
            with there.open("rb") as stream:
                head = stream.read(HEAD)
                stream.seek(0)
                own = sums_in(stream)
            if own.sha256 == sha256:
                return identify(there, head, sha256, own.size)
    return _download(f"{folder}/{name}", name, sums, tell, cache)


def _download(url: str, name: str, sums: Sequence[str], tell: Tell, cache: Path) -> Installer:
    """Into the cache, each file whole or not at all."""
    part: Path | None = None
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with opened(url) as answer, tempfile.NamedTemporaryFile(dir=cache, delete=False) as out:
            part = Path(out.name)
            digest, done = hashlib.sha256(), 0
            while data := answer.read(PIECE):
                out.write(data)
                digest.update(data)
                done += len(data)
                tell(f"fetching {name}: {done / 1e6:.0f} MB")
        sha256 = digest.hexdigest()
        _must_be(Path(url), sha256, sums)
        there = cache / sha256 / name
        there.parent.mkdir(exist_ok=True)
        shutil.move(part, there)
        with there.open("rb") as stream:
            return identify(there, stream.read(HEAD), sha256, done)
    except OSError as error:
        raise _unfetched(url, error) from error
    finally:
        if part is not None:
            part.unlink(missing_ok=True)


def _text(url: str) -> str:
    try:
        with opened(url) as answer:
            return answer.read(_MOST_TEXT).decode("utf-8", "replace")
    except OSError as error:
        raise _unfetched(url, error) from error


def _unfetched(url: str, error: OSError) -> InputError:
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return InputError(
        f"{url} cannot be fetched: {reason}",
        hint="fetch it where there is a way to it, and name the file with --installer; or name a"
        " mirror's folder with --from",
    )
