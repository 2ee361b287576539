"""envsync lint as a command: codes on the command line, exit codes, JSON."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from envsync.cli.app import app
from envsync.cli.boundary import guarded

TEXT = (
    "name: env1\nchannels: [https://me:hunter2@h.test/conda-forge, nodefaults]\n"
    "dependencies: [python=3.11, pytorch=2.5, pip, {pip: [torch==2.5.1]}]\n"
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "environment.yml"
    path.write_text(TEXT)
    return path


@pytest.mark.parametrize(
    ("words", "code", "found"),
    [
        ([], 1, ["ENV101", "ENV601", "ENV001"]),
        (["--select", "ENV0"], 1, ["ENV001"]),
        (["--ignore", "ENV0"], 0, ["ENV101", "ENV601"]),
        (["--select", "ENV1,ENV6", "--ignore", "ENV601"], 0, ["ENV101"]),
        (["--select", "ENV101", "--select", "ENV601"], 0, ["ENV101", "ENV601"]),
        (["--select", "ENV5"], 0, []),
    ],
)
def test_codes(
    file: Path,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    code: int,
    found: list[str],
) -> None:
    assert guarded(app, ["lint", str(file), *words, "--json"], io.StringIO()) == code
    out, err = capsys.readouterr()
    findings = json.loads(out)["result"]["findings"]
    assert [each["code"] for each in findings] == found
    assert all(each in err for each in found)
    assert "hunter2" not in out + err


def test_unknown_code(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(app, ["lint", str(file), "--ignore", "ENV6O1"], io.StringIO()) == 2
    err = capsys.readouterr().err
    assert "'ENV6O1' is no code of a rule" in err
    assert "did you mean ENV601?" in err
