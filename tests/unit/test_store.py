"""What a folder remembers, and what happens when it cannot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from envsync.commit import Decision, Flip
from envsync.errors import InputError
from envsync.events import Failed, Outcome, Phase, Progress
from envsync.generations import Slot
from envsync.model import Host
from envsync.report import Entry
from envsync.store import KEPT_RUNS, LastPush, Store

PUSH = LastPush(
    hosts=(Host("gpu01", "ops", 22), Host("gpu02")),
    name="train",
    source="environment.yml",
    raw=b"name: train\r\n\xef\xbb\xbf",
    lock=b"envsync-lock: 1\n",
    connection={"identity": ["/k"], "known_hosts": None},
)


def test_what_was_remembered_comes_back(tmp_path: Path) -> None:
    Store(tmp_path).remember(PUSH)
    assert Store(tmp_path).last_push() == PUSH


def test_folder_is_for_its_owner_and_not_for_git(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.remember(PUSH)
    assert store.folder.stat().st_mode & 0o777 == 0o700
    assert (store.folder / "last.json").stat().st_mode & 0o777 == 0o600
    assert (store.folder / "environment.yml").stat().st_mode & 0o777 == 0o600
    assert (store.folder / ".gitignore").read_text() == "*\n"


def test_no_push_is_a_sentence_and_makes_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there was no push"):
        Store(tmp_path).last_push()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"hosts": [{"x": 1}]}', '{"hosts": []}', "1"])
def test_damaged_memory_is_a_sentence_with_the_file(tmp_path: Path, text: str) -> None:
    store = Store(tmp_path)
    store.remember(PUSH)
    (store.folder / "last.json").write_text(text)
    with pytest.raises(InputError) as caught:
        store.last_push()
    assert caught.value.file.endswith("last.json")
    assert caught.value.hint


def test_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / ".envsync").write_text("a file is in the way")
    with pytest.raises(InputError, match="cannot be written"):
        Store(tmp_path).remember(PUSH)


def test_events_are_lines_and_on_disk_at_once(tmp_path: Path) -> None:
    with Store(tmp_path).log("push") as log:
        log.write(Progress(Host("gpu01"), Phase.BUILD, "Solving"))
        log.write(Failed(Host("gpu02"), Phase.CONNECT, "refused", "nothing listens", "start it"))
        lines = [json.loads(line) for line in log.file.read_text().splitlines()]
    assert [(line["event"], line["host"]) for line in lines] == [
        ("progress", "gpu01"),
        ("failed", "gpu02"),
    ]
    assert (lines[0]["phase"], lines[0]["line"]) == ("building", "Solving")
    assert (lines[1]["cause"], lines[1]["hint"]) == ("refused", "start it")


def test_old_logs_are_dropped(tmp_path: Path) -> None:
    for _ in range(KEPT_RUNS + 3):
        Store(tmp_path).log("push").__exit__()
    assert len(list((tmp_path / ".envsync" / "runs").iterdir())) == KEPT_RUNS


DECISION = Decision(
    "train",
    "ops@login",
    (Flip(Host("gpu01", "ops", 22), Slot("/e", "train", "abc"), "old", Outcome.INSTALLED),),
)


def test_decision_is_kept_until_it_is_settled(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.decision() is None
    store.decide(DECISION)
    assert Store(tmp_path).decision() == DECISION
    store.settle()
    store.settle()
    assert store.decision() is None


def test_damaged_decision_is_a_sentence(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.decide(DECISION)
    (store.folder / "decision.json").write_text("{")
    with pytest.raises(InputError) as caught:
        store.decision()
    assert caught.value.hint


def test_history_is_in_order_and_survives_a_line_that_was_cut_off(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.history() == ()
    first = Entry("2026-01-01T10:00:00+00:00", "a@b", "push", "x", ("g",), "", "n[1-3]", "ok")
    store.record(first)
    with (store.folder / "log.jsonl").open("a") as stream:
        stream.write('{"at": "20\n')
    store.record(first)
    assert store.history() == (first, first)
