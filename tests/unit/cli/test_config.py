"""envsync config: each value, and where it comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from envsync.cli import run


def test_folder_without_config_is_told_in_whole_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["config", "-f", str(tmp_path / "environment.yml")]) == 0
    said = capsys.readouterr().out
    assert "There is no envsync.toml and no [tool.envsync] in a pyproject.toml in" in said


def test_line_of_the_file_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "envsync.toml").write_text("\nfan-out = 7\n")
    monkeypatch.chdir(tmp_path)
    assert run(["config"]) == 0
    (row,) = [line for line in capsys.readouterr().out.splitlines() if "fan-out" in line]
    assert "7" in row
    assert "envsync.toml:2" in row
