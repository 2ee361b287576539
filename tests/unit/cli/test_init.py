"""envsync init as a command: questions, options, and a file that is never lost."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from envsync.cli.app import app
from envsync.cli.boundary import guarded
from envsync.spec import read_environment


class Terminal(io.StringIO):
    """Answers, as somebody types them."""

    def isatty(self) -> bool:
        return True


def run(*words: str) -> int:
    return guarded(app, ["init", *words], io.StringIO())


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("nobody reads this\n"))


def test_without_a_terminal_the_defaults_are_taken_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(str(tmp_path)) == 0
    assert read_environment(tmp_path / "environment.yml").name == "pretrain-a100"
    assert "taking the defaults for name, cuda, torch, channel" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "name", "torch"),
    [
        ("NLP pretrain\nh100\n2.7\npip\n", "nlp-pretrain-h100", "torch==2.7.1+cu128"),
        ("\n\n\n\n", "pretrain-a100", "pytorch=2.9.*=*cuda*"),
        ("vision-cpu\ncpu\n2.5\n\n", "vision-cpu", "pytorch=2.5.*=*cpu*"),
        ("asr\n12.6\n2.6\n", "asr-cu126", "pytorch=2.6.*=*cuda*"),
    ],
)
def test_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, name: str, torch: str
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    assert run(str(tmp_path)) == 0
    found = read_environment(tmp_path / "environment.yml")
    assert found.name == name
    assert torch in {each.text for each in found.conda + found.pip}


def test_an_option_is_not_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("speech\n\n"))
    assert run(str(tmp_path), "--cuda", "h200", "--channel", "pip") == 0
    assert read_environment(tmp_path / "environment.yml").name == "speech-h200"
    assert capsys.readouterr().err.count("? [") == 2


def test_yes_asks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("typed\n"))
    assert run("-o", str(tmp_path / "x.yml"), "--yes", "--python", "3.12", "--json") == 0
    out, err = capsys.readouterr()
    assert "?" not in err
    assert json.loads(out)["result"]["text"] == (tmp_path / "x.yml").read_text()
    assert "  - python=3.12\n" in (tmp_path / "x.yml").read_text()


def test_a_file_is_replaced_with_force_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("\n\n\n\n"))
    file = tmp_path / "environment.yml"
    file.write_text("mine")
    assert run(str(tmp_path)) == 2
    assert file.read_text() == "mine"
    err = capsys.readouterr().err
    assert "is there already" in err
    assert "? [" not in err
    assert run(str(tmp_path), "--force", "--yes") == 0
    assert file.read_text().startswith("# torch 2.9")


@pytest.mark.parametrize(
    "words", [["--torch", "9.9"], ["--name", "base"], ["-o", "/nowhere/at/all.yml"]]
)
def test_bad_words_write_nothing(tmp_path: Path, words: list[str]) -> None:
    assert run(str(tmp_path), "--yes", *words) == 2
    assert list(tmp_path.iterdir()) == []
