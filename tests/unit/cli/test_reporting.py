"""--report: what is wrong with a file's name is said before any node is asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from envsync.cli.reporting import FORMS, Reports
from envsync.errors import EnvsyncError, InputError

RECORD = {
    "envsync": "0",
    "exit_code": 0,
    "result": {
        "name": "train",
        "at": "2026-01-02T03:04:05+00:00",
        "fail_on": "error",
        "generations": [],
        "hosts": [],
        "findings": [],
        "remarks": [],
        "differences": [],
    },
}


def test_all_forms_are_written_whole(tmp_path: Path) -> None:
    files = [tmp_path / f"report{ending}" for ending in FORMS]
    Reports.named(files).write(RECORD)
    assert sorted(tmp_path.iterdir()) == sorted(files)
    assert json.loads(files[0].read_text()) == RECORD
    assert files[1].read_text().startswith("## ")
    assert files[2].read_text().startswith("<?xml")
    assert files[3].read_text().startswith("<!doctype html>")
    assert files[4].read_text().startswith("<svg")


def test_ending_may_be_in_capitals(tmp_path: Path) -> None:
    Reports.named([tmp_path / "R.JSON"]).write(RECORD)
    assert json.loads((tmp_path / "R.JSON").read_text()) == RECORD


@pytest.mark.parametrize("name", ["report.pdf", "report", "no/such/folder/report.json", "d.md"])
def test_names_that_will_not_do(tmp_path: Path, name: str) -> None:
    (tmp_path / "d.md").mkdir()
    with pytest.raises(InputError, match="--report") as caught:
        Reports.named([tmp_path / name])
    assert caught.value.hint
    assert [each.name for each in tmp_path.iterdir()] == ["d.md"]


def test_folder_that_went_meanwhile_is_no_fault_without_words(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    reports = Reports.named([tmp_path / "there/report.json"])
    (tmp_path / "there").rmdir()
    with pytest.raises(EnvsyncError, match="could not be written"):
        reports.write(RECORD)
