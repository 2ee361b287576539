"""The cache of fetched packages, against a real server on this machine."""

from __future__ import annotations

import fcntl
import hashlib
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from envsync import depot
from envsync.depot import fetch_all
from envsync.errors import InputError
from envsync.lock import LockedPackage

CONTENT = bytes(range(256)) * 4096
SHA256 = hashlib.sha256(CONTENT).hexdigest()
NAME = "tiny-1.0-0.conda"


@dataclass
class Channel:
    """A server with one package, which it hands out in two halves."""

    url: str = ""
    content: bytes = CONTENT
    asked: list[str] = field(default_factory=list)
    """The range of each request; empty for the whole."""
    half: threading.Event = field(default_factory=threading.Event)
    """Set when the first half is on its way."""
    rest: threading.Event = field(default_factory=threading.Event)
    """The second half is held back until this."""

    @property
    def package(self) -> LockedPackage:
        return LockedPackage(
            f"{self.url}/{NAME}", hashlib.md5(CONTENT, usedforsecurity=False).hexdigest(), SHA256
        )


@pytest.fixture
def channel() -> Iterator[Channel]:
    made = Channel()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range", "")
            made.asked.append(wanted)
            start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
            content = made.content[start:]
            self.send_response(206 if wanted else 200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            middle = len(content) // 2
            self.wfile.write(content[:middle])
            made.half.set()
            assert made.rest.wait(20)
            self.wfile.write(content[middle:])

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        made.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield made
        made.rest.set()
        server.shutdown()
        thread.join()


def fetch(channel: Channel, cache: Path, told: list[str]) -> bytes:
    (parcel,) = fetch_all([channel.package], str, cache, told.append)
    assert parcel.file is not None
    return parcel.file.read_bytes()


def test_two_at_once_fetch_a_package_once(
    channel: Channel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(depot, "_TICK", 0.05)
    told: list[str] = []
    with ThreadPoolExecutor() as pool:
        first = pool.submit(fetch, channel, tmp_path, [])
        assert channel.half.wait(20)
        second = pool.submit(fetch, channel, tmp_path, told)
        end = time.monotonic() + 20
        while "0 of 1 packages, 0.0 MB fetched, 1 by another envsync" not in told:
            assert time.monotonic() < end, told
            time.sleep(0.01)
        channel.rest.set()
        assert first.result(20) == second.result(20) == CONTENT
    assert channel.asked == [""]
    assert told[-1] == "1 of 1 packages, 0.0 MB fetched"
    assert sorted(each.name for each in (tmp_path / SHA256).iterdir()) == [".lock", NAME]


def test_what_another_leaves_is_gone_on_with(channel: Channel, tmp_path: Path) -> None:
    channel.rest.set()
    folder = tmp_path / SHA256
    folder.mkdir()
    (folder / f"{NAME}.part").write_bytes(CONTENT[:1000])
    with ThreadPoolExecutor() as pool:
        with (folder / ".lock").open("ab") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            waiting = pool.submit(fetch, channel, tmp_path, [])
            time.sleep(0.5)
            assert not channel.asked
        assert waiting.result(20) == CONTENT
    assert channel.asked == ["bytes=1000-"]


def test_one_that_is_stopped_for_good_is_named(
    channel: Channel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(depot, "_STUCK", 0.3)
    (tmp_path / SHA256).mkdir()
    with (tmp_path / SHA256 / ".lock").open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(InputError, match=rf"another envsync .* is fetching {NAME}") as caught:
            fetch(channel, tmp_path, [])
    assert str(tmp_path / SHA256 / ".lock") in caught.value.hint
    assert not channel.asked


def test_a_file_system_without_locks_is_no_reason_to_fail(
    channel: Channel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    channel.rest.set()
    assert fetch(channel, tmp_path, []) == CONTENT


def test_another_file_than_the_lock_names(channel: Channel, tmp_path: Path) -> None:
    channel.rest.set()
    channel.content = CONTENT[::-1]
    with pytest.raises(InputError, match="is not the file that the lock names"):
        fetch(channel, tmp_path, [])
    assert [each.name for each in (tmp_path / SHA256).iterdir()] == [".lock"]
