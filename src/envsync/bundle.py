"""A lock with all its files as one tar: made where there is the internet, used where there is none.

    NAME/README.txt
    NAME/environment.yml        without credentials; what its pip section names lies beside it
    NAME/environment.lock
    NAME/by-hand-SUBDIR.yml     for conda alone
    NAME/channel/SUBDIR/...     conda's packages, and repodata.json
    NAME/wheels/...

The same lock and files make the same bytes: no owner, no time of change, no compression, which
packages have had already.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from envsync import __version__, byhand
from envsync.errors import InputError
from envsync.lock import Lock, Section, digest, format_lock
from envsync.luggage import Luggage, sources
from envsync.parcels import Parcel, Source, Tell, must_be_files
from envsync.recipe import remembered
from envsync.spec import EnvironmentSpec

_TIME = 315532800  # 1980-01-01, as for what travels with a push
_PIECE = 1 << 20
_SUBDIRS = "noarch"
"""The subdir that every channel has to have."""


@dataclass(frozen=True)
class Made:
    """What is in a bundle."""

    packages: int
    wheels: int
    size: int
    """Bytes."""


def write_bundle(file: Path, spec: EnvironmentSpec, lock: Lock, source: Source, tell: Tell) -> Made:
    """Write `file` whole or not at all. Raises InputError."""
    for section in lock.sections:
        must_be_files(spec, section)
    found = {section: source(spec, section, tell) for section in lock.sections}
    tell("writing the bundle")
    parcels = [each for group in found.values() for each in group]
    try:
        with tempfile.TemporaryDirectory(dir=file.parent, prefix=f".{file.name}.") as folder:
            part = Path(folder) / "bundle.tar"
            texts = {**_texts(spec, lock, found), **_repodata(Path(folder), parcels)}
            _write(part, spec.name, texts, parcels)
            size = part.stat().st_size
            part.replace(file)
    except OSError as error:
        raise InputError(
            f"it cannot be written: {error.strerror}",
            file=str(file),
            hint="make room, or name another place with -o",
        ) from error
    places = {_place(each) for each in parcels}
    wheels = sum(each.startswith(byhand.WHEELS) for each in places)
    return Made(len(places) - wheels, wheels, size)


def _texts(
    spec: EnvironmentSpec, lock: Lock, found: Mapping[Section, tuple[Parcel, ...]]
) -> Mapping[str, bytes]:
    """The small files, by their place."""
    files = dict(zip(byhand.names(lock), lock.sections, strict=True))
    texts = {
        file: byhand.environment(spec.name, section, found[section], dict(spec.variables), file)
        for file, section in files.items()
    }
    texts["README.txt"] = byhand.readme(spec.name, lock, __version__)
    raw = {place: text.encode() for place, text in texts.items()}
    environment = remembered(spec)
    made_from = {**sources(spec.luggage), byhand.ENVIRONMENT: environment}
    digests = tuple((name, digest(each)) for name, each in made_from.items())
    named = replace(lock, sources=digests if lock.sources else ())
    return {
        **_beside(spec.luggage),
        **raw,
        byhand.ENVIRONMENT: environment,
        byhand.LOCK: format_lock(named).encode(),
    }


def _beside(luggage: Luggage) -> Mapping[str, bytes]:
    """What the pip section names. Raises InputError for what lies elsewhere."""
    if not luggage:
        return {}
    if luggage.base != "." or luggage.secrets:
        raise InputError(
            "its pip section names a file "
            + ("with a credential" if luggage.secrets else "outside the folder of the file")
            + ", which does not go into a bundle",
            hint="move it beside the environment file, or take the credential out",
        )
    with tarfile.open(fileobj=io.BytesIO(luggage.tar)) as archive:
        return {
            each.name: content.read()
            for each in archive
            if each.name != luggage.file and (content := archive.extractfile(each))
        }


def _place(parcel: Parcel) -> str:
    """Where a file lies in the bundle."""
    if not parcel.url:
        return f"{byhand.WHEELS}/{parcel.name}"
    return f"{byhand.CHANNEL}/{parcel.url.split('/')[-2]}/{parcel.name}"


def _repodata(folder: Path, parcels: Sequence[Parcel]) -> Mapping[str, bytes]:
    """The index of each subdir of the channel, by its place."""
    from rattler.index import index_fs  # noqa: PLC0415 (slow to import)

    channel = folder / byhand.CHANNEL
    (channel / _SUBDIRS).mkdir(parents=True)
    for parcel in parcels:
        if not parcel.url:
            continue
        there = folder / _place(parcel)
        there.parent.mkdir(exist_ok=True)
        if there.exists():
            continue
        try:
            os.link(parcel.file, there)
        except OSError:  # another file system
            there.symlink_to(parcel.file.absolute())
    asyncio.run(index_fs(channel, write_zst=False, write_shards=False, force=True))
    return {
        file.relative_to(folder).as_posix(): _timeless(file.read_bytes())
        for file in sorted(channel.glob("*/repodata.json"))
    }


def _timeless(repodata: bytes) -> bytes:
    """Without the moment at which each package was indexed."""
    content = json.loads(repodata)
    for packages in (content.get("packages", {}), content.get("packages.conda", {})):
        for record in packages.values():
            record.pop("indexed_timestamp", None)
    return json.dumps(content, sort_keys=True).encode()


def _write(part: Path, name: str, texts: Mapping[str, bytes], parcels: Sequence[Parcel]) -> None:
    files: dict[str, Parcel] = {}
    for parcel in parcels:
        other = files.setdefault(_place(parcel), parcel)
        if other.sha256 != parcel.sha256:
            raise InputError(
                f"{parcel.url} and {other.url} are two files of one name, which one channel"
                " cannot hold",
                hint="make a bundle of each platform's lock, or take the package from one channel",
            )
    with tarfile.open(part, "w", format=tarfile.PAX_FORMAT) as archive:
        for place in sorted({*texts, *files}):
            entry = tarfile.TarInfo(f"{name}/{place}")
            entry.mtime, entry.mode = _TIME, 0o644
            if place in texts:
                entry.size = len(texts[place])
                archive.addfile(entry, io.BytesIO(texts[place]))
                continue
            entry.size = files[place].size
            with files[place].file.open("rb") as stream:
                archive.addfile(entry, stream)
