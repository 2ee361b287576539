"""What is no bundle is said to be none."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from envsync.errors import InputError
from envsync.unbundle import read_bundle


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
