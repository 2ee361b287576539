"""Fetches the files that a lock names to this machine, once: each by its hash, into a cache."""

from __future__ import annotations

import contextlib
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import replace
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.parse import unquote

from envsync.downloads import PIECE, opened, sums_of
from envsync.errors import InputError
from envsync.lock import LockedPackage
from envsync.parcels import Parcel, Tell, fits, megabytes
from envsync.redact import bare, redact

AT_ONCE = 8
"""Downloads at the same time."""
_ATTEMPTS = 3
"""How often a download is gone on with after a break."""
_TICK = 1.0
"""Seconds between two words on how far it is."""
_UNSATISFIABLE = 416
"""HTTP: the part that is here is no part of the file there (RFC 9110, section 15.5.17)."""
_PARTIAL = 206


def fetch_all(
    packages: Sequence[LockedPackage], source: Callable[[str], str], cache: Path, tell: Tell
) -> tuple[Parcel, ...]:
    """Every package, from the cache where it is there and whole. Raises InputError.

    `source` says what is asked for an address of the lock, with the credentials for that.
    """
    told = _Told(len(packages))
    stop = threading.Event()

    def one(package: LockedPackage) -> Parcel:
        return _Download(package, source(package.url), cache, told, stop).parcel()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        futures = [pool.submit(one, each) for each in packages]
        try:
            pending = set(futures)
            while pending:
                done, pending = wait(pending, _TICK, FIRST_EXCEPTION)
                for future in done:
                    future.result()
                tell(str(told))
        except BaseException:
            stop.set()
            for future in futures:
                future.cancel()
            raise
    return tuple(future.result() for future in futures)


class _Told:
    """How far all downloads are."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._lock = threading.Lock()
        self._done = self._bytes = 0

    def add(self, size: int, files: int = 0) -> None:
        with self._lock:
            self._bytes += size
            self._done += files

    def __str__(self) -> str:
        return f"{self._done} of {self._count} packages, {megabytes(self._bytes)} fetched"


class _Download:
    """One package on its way into the cache."""

    def __init__(
        self,
        package: LockedPackage,
        url: str,
        cache: Path,
        told: _Told,
        stop: threading.Event,
    ) -> None:
        self._package = package
        self._url = url
        name = unquote(package.url.rpartition("/")[2])
        self._file = cache / (package.sha256 or package.md5) / name
        self._part = self._file.with_name(f"{self._file.name}.part")
        self._told = told
        self._stop = stop

    def parcel(self) -> Parcel:
        """The file, which is what the lock says. Raises InputError."""
        try:
            if found := self._checked(self._file):
                self._told.add(0, 1)
                return found
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._fetch()
            if not self._checked(self._part):
                self._part.unlink()
                self._fetch()  # what went before may have been of another file
            if not (found := self._checked(self._part)):
                self._part.unlink()
                raise InputError(
                    f"{self._package.url} is not the file that the lock names: its hash is another",
                    hint="the channel has replaced it, or something on the way changes it; `envsync"
                    " lock --relock HOSTS` solves anew",
                )
            self._part.replace(self._file)
        except OSError as error:
            raise InputError(
                f"{self._file} cannot be written: {error.strerror}",
                hint="make room, or set XDG_CACHE_HOME to a folder elsewhere",
            ) from error
        self._told.add(0, 1)
        return replace(found, file=self._file)

    def _checked(self, file: Path) -> Parcel | None:
        if not file.is_file():
            return None
        found = sums_of(file)
        if not fits(self._package, found.md5, found.sha256):
            return None
        name = self._file.name
        return Parcel(name, self._package.url, file, found.md5, found.sha256, found.size)

    def _fetch(self) -> None:
        """Into the part, from where it ends. Raises InputError."""
        for attempt in range(_ATTEMPTS):
            try:
                return self._attempt()
            except urllib.error.HTTPError as error:
                if error.code == _UNSATISFIABLE:
                    self._part.unlink(missing_ok=True)
                    continue
                raise self._unfetched(f"{error.code} {error.reason}") from error
            except (urllib.error.URLError, HTTPException, _BrokenError) as error:
                if attempt == _ATTEMPTS - 1 or self._stop.is_set():
                    reason = error.reason if isinstance(error, urllib.error.URLError) else error
                    raise self._unfetched(str(reason)) from error
                self._stop.wait(attempt + 1.0)
        raise self._unfetched("it does not go on where it was cut off")

    def _attempt(self) -> None:
        start = self._part.stat().st_size if self._part.exists() else 0
        with contextlib.closing(opened(self._url, start)) as answer:
            goes_on = start and getattr(answer, "status", 200) == _PARTIAL
            with self._part.open("ab" if goes_on else "wb") as out:
                while data := _read(answer):
                    if self._stop.is_set():
                        raise _BrokenError("another download failed")
                    out.write(data)
                    self._told.add(len(data))

    def _unfetched(self, reason: str) -> InputError:
        return InputError(
            redact(f"{bare(self._url)} cannot be fetched: {reason}"),
            hint="see to this machine's way to it (proxy, certificates, credentials in the"
            " channel's address); what is fetched already is kept",
        )


class _BrokenError(Exception):
    """A download ended early."""


def _read(answer: HTTPResponse) -> bytes:
    """The next bytes; raises _BrokenError where the connection broke."""
    try:
        data = answer.read(PIECE)
    except OSError as error:
        raise _BrokenError(str(error)) from error
    # urllib says nothing of an end before its time where a size was asked for.
    if not data and (getattr(answer, "length", None) or 0) > 0:
        raise _BrokenError("the connection was closed in the middle")
    return data
