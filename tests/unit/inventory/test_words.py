"""Hosts named on the command line: told from a file that is not there, never guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from envsync.errors import InputError
from envsync.inventory import read_inventory
from envsync.model import Host


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("word", "hosts"),
    [
        ("gpu[01-02]", [Host("gpu01"), Host("gpu02")]),
        ("ops@gpu[1-2]:2222", [Host("gpu1", "ops", 2222), Host("gpu2", "ops", 2222)]),
        ("a1,root@b1:2222", [Host("a1"), Host("b1", "root", 2222)]),
        ("gpu[0-4/2]", [Host("gpu0"), Host("gpu2"), Host("gpu4")]),
        ("10.0.0.7", [Host("10.0.0.7")]),
        ("login,", [Host("login")]),
        ("::1", [Host("::1")]),
    ],
)
def test_node_sets(word: str, hosts: list[Host]) -> None:
    inventory = read_inventory(word, None)
    assert list(inventory.hosts) == hosts
    assert not inventory.warnings


def test_bare_word_is_a_host_and_that_is_said() -> None:
    inventory = read_inventory("login", None)
    assert inventory.hosts == (Host("login"),)
    assert "no file login" in str(inventory.warnings[0])


def test_bare_word_beside_such_a_file_is_asked_about(folder: Path) -> None:
    (folder / "hosts.txt").write_text("gpu01\n")
    with pytest.raises(InputError) as caught:
        read_inventory("hosts", None)
    assert "hosts.txt" in caught.value.hint


@pytest.mark.parametrize(
    "word", ["host.txt", "./hosts", "conf/hosts", "^hosts", "~/nohosts", "x.yml"]
)
def test_what_looks_like_a_file_is_one(folder: Path, word: str) -> None:
    (folder / "hosts.txt").write_text("gpu01\n")
    with pytest.raises(InputError, match="no inventory file") as caught:
        read_inventory(word, None)
    assert "hosts.txt" in caught.value.hint or "one host a line" in caught.value.hint


def test_file_of_that_name_wins(folder: Path) -> None:
    (folder / "gpu[1-2]").write_text("a\n")
    assert read_inventory("gpu[1-2]", None).hosts == (Host("a"),)
    assert read_inventory("^gpu[1-2]", None).hosts == (Host("a"),)


def test_wrong_word_has_neither_file_nor_line() -> None:
    with pytest.raises(InputError) as caught:
        read_inventory("gpu[1-", None)
    assert not caught.value.line
    assert str(caught.value).startswith("'gpu[1-'")


def test_node_set_longer_than_a_file_name_may_be() -> None:
    names = ",".join(f"node-of-the-cluster-{number}" for number in range(400))
    assert len(read_inventory(names, None).hosts) == 400
