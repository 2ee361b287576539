"""Fetches the files that a lock names to this machine, once: each by its hash, into a cache."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import replace
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import IO
from urllib.parse import unquote

from envsync.downloads import PATIENCE, PIECE, opened, sums_of
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
_LOOK = 0.2
"""Seconds between two looks whether another envsync is through with a package."""
_STUCK = (_ATTEMPTS + 1) * PATIENCE
"""Seconds without a byte after which the other is stopped for good: it would have given up."""
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
"""What flock says on a file system that has none (man 2 flock)."""
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
        self._done = self._bytes = self._elsewhere = 0

    def add(self, size: int, files: int = 0) -> None:
        with self._lock:
            self._bytes += size
            self._done += files

    @contextlib.contextmanager
    def elsewhere(self) -> Iterator[None]:
        """While another envsync is on a package."""
        with self._lock:
            self._elsewhere += 1
        try:
            yield
        finally:
            with self._lock:
                self._elsewhere -= 1

    def __str__(self) -> str:
        other = f", {self._elsewhere} by another envsync" if self._elsewhere else ""
        return f"{self._done} of {self._count} packages, {megabytes(self._bytes)} fetched{other}"


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
            with self._turn():
                found = self._checked(self._file) or self._fetched()
        except OSError as error:
            raise InputError(
                f"{self._file} cannot be written: {error.strerror}",
                hint="make room, or set XDG_CACHE_HOME to a folder elsewhere",
            ) from error
        self._told.add(0, 1)
        return found

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        """One process at a time: the next finds the file there, or goes on with the part."""
        with (self._file.parent / ".lock").open("ab") as held:
            if not _locked(held.fileno()):
                with self._told.elsewhere():
                    self._wait(held)
            yield

    def _wait(self, held: IO[bytes]) -> None:
        """For the end of the other, as long as something comes. Raises InputError."""
        before, since = -1, time.monotonic()
        while not _locked(held.fileno()):
            if (size := _size(self._part)) != before:
                before, since = size, time.monotonic()
            if time.monotonic() - since > _STUCK:
                raise InputError(
                    f"another envsync on this machine is fetching {self._file.name}, and nothing"
                    f" has come for {_STUCK:.0f} s",
                    hint=f"end it (`fuser {held.name}` says which it is), and run this again",
                )
            if self._stop.wait(_LOOK):
                raise self._unfetched("another download failed")

    def _fetched(self) -> Parcel:
        """The file, new in the cache. Raises InputError."""
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
        start = _size(self._part)
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


def _locked(handle: int) -> bool:
    """Whether it is ours now; the system frees it with the process, however that ends."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    return True


def _size(file: Path) -> int:
    """Bytes; 0 for one that is not there."""
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


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
