"""Installers come once, from a file, a mirror or the cache, and never unchecked."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import pytest

from envsync.errors import InputError
from envsync.fetch import Source, fetch, local
from envsync.installers import Flavour, Installer

HEAD = "#!/bin/sh\n# NAME:  {name}\n# VER:   1\n# PLAT:  {plat}\nexit 0\n"
NAME = "Miniforge3-Linux-x86_64.sh"


def write(file: Path, plat: str = "linux-64", name: str = "Miniforge3") -> str:
    file.write_text(HEAD.format(name=name, plat=plat))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    file.with_name(f"{file.name}.sha256").write_text(f"{digest}  {file.name}\n")
    return digest


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    folder = tmp_path / "mirror"
    folder.mkdir()
    write(folder / NAME)
    return folder


def get(mirror: Path, cache: Path, *sums: str) -> Mapping[str, Installer]:
    source = Source(Flavour.MINIFORGE, mirror.as_uri(), sums)
    source.check()
    return fetch(source, ["linux-64"], lambda _: None, cache)


def test_fetched_once_and_then_from_the_cache(mirror: Path, tmp_path: Path) -> None:
    first = get(mirror, tmp_path / "cache")["linux-64"]
    assert first.path.read_bytes() == (mirror / NAME).read_bytes()
    (mirror / NAME).unlink()
    assert get(mirror, tmp_path / "cache")["linux-64"] == first
    (mirror / f"{NAME}.sha256").unlink()
    assert get(mirror, tmp_path / "cache", first.sha256)["linux-64"] == first
    with pytest.raises(InputError, match="cannot be fetched"):
        get(mirror, tmp_path / "cache")


def test_spoiled_cache_is_not_used(mirror: Path, tmp_path: Path) -> None:
    first = get(mirror, tmp_path / "cache")["linux-64"]
    first.path.write_text("rm -rf ~")
    again = get(mirror, tmp_path / "cache")["linux-64"]
    assert again.path.read_bytes() == (mirror / NAME).read_bytes()


@pytest.mark.parametrize("text", ["", "<html>404</html>"])
def test_refused_where_nobody_says_the_sum(mirror: Path, tmp_path: Path, text: str) -> None:
    (mirror / f"{NAME}.sha256").write_text(text)
    with pytest.raises(InputError, match="does not say what the sha256"):
        get(mirror, tmp_path / "cache")


def test_cut_short_and_nothing_is_kept(mirror: Path, tmp_path: Path) -> None:
    (mirror / NAME).write_bytes((mirror / NAME).read_bytes()[:-1])
    with pytest.raises(InputError, match="its sha256 is"):
        get(mirror, tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_one_for_each_architecture(tmp_path: Path) -> None:
    sums = [write(tmp_path / f"{plat}.sh", plat) for plat in ("linux-64", "linux-aarch64")]
    files = [tmp_path / "linux-64.sh", tmp_path / "linux-aarch64.sh"]
    assert list(local(files, sums)) == ["linux-64", "linux-aarch64"]
    assert list(local(files, ())) == ["linux-64", "linux-aarch64"]  # the files beside them
    with pytest.raises(InputError, match="are for linux-64"):
        local([files[0], files[0]], ())
    write(files[1], "linux-aarch64", "Miniconda3")
    with pytest.raises(InputError, match="different kinds"):
        local(files, ())


def test_own_file_must_be_what_was_said(tmp_path: Path) -> None:
    file = tmp_path / "x.sh"
    write(file)
    with pytest.raises(InputError, match="its sha256 is"):
        local([file], ["ab" * 32])
    file.with_name("x.sh.sha256").unlink()
    with pytest.raises(InputError, match="nobody says"):
        local([file], ())
    with pytest.raises(InputError, match="cannot be read"):
        local([tmp_path / "gone"], ())


@pytest.mark.parametrize(
    ("folder", "sums"), [("ftp://host/x", ()), ("host/x", ()), ("", ("abc",)), ("", ("z" * 64,))]
)
def test_bad_words(folder: str, sums: tuple[str, ...]) -> None:
    with pytest.raises(InputError):
        Source(Flavour.MINIFORGE, folder, sums).check()
