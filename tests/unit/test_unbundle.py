"""What is no bundle is said to be none."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from envsync.errors import InputError
from envsync.lock import Lock, digest, format_lock
from envsync.unbundle import Bundle, read_bundle, settle


def test_what_is_not_there_is_not_taken_for_a_broken_bundle(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="it cannot be read: No such file"):
        read_bundle(tmp_path / "train.tar")


def test_other_files_and_other_archives_are_no_bundles(tmp_path: Path) -> None:
    text, other = tmp_path / "text.tar", tmp_path / "other.tar"
    text.write_text("hello\n")
    with tarfile.open(other, "w") as archive:
        archive.add(text, "train/text")
    for file in (text, other):
        with pytest.raises(InputError, match="it is no bundle of envsync's"):
            read_bundle(file)


def test_archive_that_leads_out_of_its_folder_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "evil.tar"
    with tarfile.open(file, "w") as archive:
        archive.addfile(tarfile.TarInfo("train/../../etc/passwd"))
    with pytest.raises(InputError, match="is not what a bundle holds"):
        read_bundle(file)


FILE = b"name: x\ndependencies: [python]\n"


def bundled(tmp_path: Path, texts: dict[str, bytes], *sources: str) -> Bundle:
    """A bundle of these files, whose lock was made from `sources` besides."""
    named = (("environment.yml", digest(FILE)), *((each, "sha256:0") for each in sources))
    lock = format_lock(Lock((), named)).encode()
    file = tmp_path / "x.tar"
    with tarfile.open(file, "w") as archive:
        for place, raw in {"environment.yml": FILE, "environment.lock": lock, **texts}.items():
            entry = tarfile.TarInfo(f"x/{place}")
            entry.size = len(raw)
            archive.addfile(entry, io.BytesIO(raw))
    return read_bundle(file)


def settled(bundle: Bundle, tmp_path: Path) -> set[str]:
    folder = tmp_path / "here"
    folder.mkdir(exist_ok=True)
    settle(bundle, folder / "environment.yml")
    found = (each.relative_to(folder) for each in folder.rglob("*") if each.is_file())
    return {each.as_posix() for each in found}


def test_only_what_the_lock_was_made_from_is_put_into_the_folder(tmp_path: Path) -> None:
    texts = {
        "r.txt": b"einops\n",
        "src/a/b.py": b"",
        ".envsync/elsewhere/1/w.whl": b"",
        "envsync.toml": b"hosts = 'evil'\n",
        ".git/hooks/post-checkout": b"#!/bin/sh\n",
        ".envsync/last.json": b"{}",
        "README.txt": b"",
    }
    bundle = bundled(tmp_path, texts, "r.txt", "src/a", ".envsync/elsewhere/1/w.whl")
    own = {"environment.yml", "environment.lock", "r.txt", "src/a/b.py"}
    own.add(".envsync/elsewhere/1/w.whl")
    assert settled(bundle, tmp_path) == own
    assert settled(bundle, tmp_path) == own  # again, where all is there


@pytest.mark.parametrize(
    "place", [".git/hooks/post-checkout", "a/.git/config", ".envsync/last.json"]
)
def test_what_git_would_run_is_refused_whatever_the_lock_says(tmp_path: Path, place: str) -> None:
    bundle = bundled(tmp_path, {place: b"x"}, ".")
    with pytest.raises(InputError, match="has no place in a bundle"):
        settled(bundle, tmp_path)
    assert not any((tmp_path / "here").iterdir())


def test_nothing_is_written_where_one_file_is_in_the_way(tmp_path: Path) -> None:
    bundle = bundled(tmp_path, {"sub": b"x", "z.txt": b"y"}, "sub", "z.txt")
    (tmp_path / "here/sub").mkdir(parents=True)
    with pytest.raises(InputError, match="it is not the one in"):
        settled(bundle, tmp_path)
    assert [each.name for each in (tmp_path / "here").iterdir()] == ["sub"]


def test_folder_that_is_a_file_is_said_so(tmp_path: Path) -> None:
    bundle = bundled(tmp_path, {"a/b.txt": b"x"}, "a/b.txt")
    (tmp_path / "here").mkdir()
    (tmp_path / "here/a").write_text("a file")
    with pytest.raises(InputError, match="it cannot be written"):
        settled(bundle, tmp_path)


def header(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytearray:
    entry = tarfile.TarInfo(name)
    entry.size, entry.type = size, kind
    return bytearray(entry.tobuf(tarfile.GNU_FORMAT))


def sparse(size: int) -> bytes:
    """A member of GNU's old sparse form: of this size, and all of it a hole."""
    raw = header("x/channel/noarch/a-1-0.conda", 0, tarfile.GNUTYPE_SPARSE)
    raw[386:410] = b"%011o\0" % 0 * 2
    raw[482:483] = b"\0"
    raw[483:495] = b"\x80" + size.to_bytes(11, "big")
    raw[148:156] = b" " * 8
    raw[148:156] = b"%06o\0 " % sum(raw)
    return bytes(raw)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (bytes(header("x/environment.yml", 1 << 50)) + b"abc", "it ends in x/environment.yml"),
        (sparse(1 << 62) + bytes(1024), "is not what a bundle holds"),
        (bytes(header("x/link", 0, tarfile.SYMTYPE)), "is not what a bundle holds"),
        (bytes(header("x/a\x1b[2Jb", 0)), "is not what a bundle holds"),
        (bytes(header("README", 0)), "is not what a bundle holds"),
    ],
)
def test_archive_that_means_harm(tmp_path: Path, raw: bytes, said: str) -> None:
    """A size that no memory holds, holes without an end, names that write to the terminal."""
    file = tmp_path / "x.tar"
    file.write_bytes(raw)
    with pytest.raises(InputError, match=said):
        read_bundle(file)


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.tar")
    for file in (tmp_path / "pipe.tar", tmp_path, Path("/dev/zero")):
        with pytest.raises(InputError, match="it is no file"):
            read_bundle(file)
