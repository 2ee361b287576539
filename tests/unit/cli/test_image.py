"""envsync image as a command: from a file, from its lock, to a file."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from envsync.cli.app import app
from envsync.cli.boundary import guarded
from envsync.lock import Lock, LockedPackage, Section, digest, format_lock
from envsync.model import Platform

TEXT = "name: x\nchannels: [conda-forge, nodefaults]\ndependencies: [python=3.11]\n"
PYTHON = LockedPackage("https://c.test/linux-64/python-3.11.7-0.conda", "a" * 32)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "environment.yml"
    path.write_text(TEXT)
    return path


def locked(file: Path, raw: str = TEXT) -> None:
    lock = Lock(
        (Section(Platform("linux-64"), "", (PYTHON,)),), ((file.name, digest(raw.encode())),)
    )
    file.with_suffix(".lock").write_text(format_lock(lock))


def run(file: Path, *words: str) -> int:
    return guarded(app, ["image", "-f", str(file), *words], io.StringIO())


def test_without_a_lock(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(file) == 0
    out, err = capsys.readouterr()
    assert TEXT in out
    assert "two builds may differ" in err


def test_with_a_lock(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    locked(file)
    assert run(file) == 0
    out, err = capsys.readouterr()
    assert f"\n{PYTHON.url}#{PYTHON.md5}\n" in out
    assert err == ""


def test_a_lock_that_does_not_fit(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    locked(file, "something else")
    assert run(file) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "environment.yml has changed since it was made" in err


def test_apptainer_to_a_file(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    locked(file)
    target = file.with_name("x.def")
    words = ("--format", "apptainer", "--base", "ubuntu:24.04", "-o", str(target))
    assert run(file, *words) == 0
    assert capsys.readouterr().out == ""
    assert "From: ubuntu:24.04\n" in target.read_text()
    target.write_text("mine")
    assert run(file, *words) == 2
    assert target.read_text() == "mine"
    assert run(file, *words, "--force") == 0
    assert "%post" in target.read_text()


def test_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    locked(file)
    assert run(file, "--json") == 0
    found = json.loads(capsys.readouterr().out)["result"]
    assert found["locked"] is True
    assert found["format"] == "docker"
    assert f'envsync.generation="{found["generation"]}"' in found["text"]


def test_other_platform(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    locked(file)
    assert run(file, "--platform", "linux-aarch64") == 2
    assert "it has linux-64" in capsys.readouterr().err


def test_files_of_the_pip_section_lie_beside_the_text(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text("name: x\ndependencies:\n- python=3.11\n- pip\n- pip:\n  - -r r.txt\n")
    (file.parent / "r.txt").write_text("einops\n")
    assert run(file) == 2
    assert "-o FILE" in capsys.readouterr().err
    target = file.parent / "Dockerfile"
    assert run(file, "-o", str(target)) == 0
    (archive,) = file.parent.glob("x-*.files.tar")
    assert f"\nADD {archive.name} " in target.read_text()
    with tarfile.open(archive) as inside:
        assert inside.getnames() == ["environment.yml", "r.txt"]
    raw = archive.read_bytes()
    assert run(file, "-o", str(target), "--force") == 0
    assert archive.read_bytes() == raw


def test_envsync_goes_in_as_the_wheel_of_what_runs_here(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    locked(file)
    assert run(file, "--with-envsync") == 2
    assert "-o FILE" in capsys.readouterr().err
    target = file.parent / "Dockerfile"
    assert run(file, "--with-envsync", "-o", str(target)) == 0
    (wheel,) = file.parent.glob("envsync-*-py3-none-any.whl")
    assert f"\nCOPY {wheel.name} " in target.read_text()
    with zipfile.ZipFile(wheel) as inside:
        names = inside.namelist()
        assert inside.testzip() is None
    assert len(names) == len(set(names))
    assert {"envsync/__main__.py", "envsync/scripts/facts.sh", "envsync/probes/node/torch.py"} <= {
        *names
    }
    assert not [name for name in names if "__pycache__" in name]
    raw = wheel.read_bytes()
    assert run(file, "--with-envsync", "-o", str(target), "--force") == 0
    assert wheel.read_bytes() == raw
