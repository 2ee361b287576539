"""Where errors end: a sentence or an envelope, and the right exit code."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
import typer

from envsync.cli.app import app as cli
from envsync.cli.boundary import guarded
from envsync.errors import EnvsyncError, HostError, InputError


def app_that(error: BaseException) -> typer.Typer:
    app = typer.Typer()

    @app.command()
    def one(as_json: bool = typer.Option(False, "--json")) -> None:  # noqa: ARG001, FBT001
        raise error

    @app.command()
    def two() -> None: ...

    return app


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputError("bad", file="f", line=3, hint="do this"), 2),
        (HostError("refused", "nothing listens"), 1),
        (EnvsyncError("odd"), 3),
        (KeyboardInterrupt(), 130),
        (ZeroDivisionError("ours"), 3),
        (typer.Exit(1), 1),
        (typer.BadParameter("no"), 2),
    ],
)
def test_exit_codes(
    error: BaseException,
    code: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    out = io.StringIO()
    assert guarded(app_that(error), ["one"], out) == code
    assert out.getvalue() == ""
    assert "Traceback" not in capsys.readouterr().err


def test_input_error_names_file_line_and_hint(capsys: pytest.CaptureFixture[str]) -> None:
    guarded(app_that(InputError("bad", file="f", line=3, hint="do this")), ["one"], io.StringIO())
    assert capsys.readouterr().err == "envsync: f:3: bad\n  do this\n"


def test_json_gets_the_error_as_an_envelope() -> None:
    out = io.StringIO()
    error = InputError("bad", file="f", line=3, hint="do this")
    assert guarded(app_that(error), ["one", "--json"], out) == 2
    envelope = json.loads(out.getvalue())
    assert envelope["exit_code"] == 2
    assert envelope["error"] == {"message": "bad", "hint": "do this", "file": "f", "line": 3}


def test_interruption_is_said_and_an_envelope(capsys: pytest.CaptureFixture[str]) -> None:
    out = io.StringIO()
    assert guarded(app_that(KeyboardInterrupt()), ["one", "--json"], out) == 130
    assert json.loads(out.getvalue())["error"]["message"] == "interrupted"
    assert capsys.readouterr().err == "envsync: interrupted\n"


def test_no_word_at_all_shows_the_help_and_is_no_success(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert guarded(app_that(KeyboardInterrupt()), [], io.StringIO()) == 2
    assert "Usage: envsync" in capsys.readouterr().out


def test_fault_of_ours_is_kept_in_a_file_that_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert guarded(app_that(ZeroDivisionError("ours")), ["one"], io.StringIO()) == 3
    (file,) = tmp_path.iterdir()
    assert str(file) in capsys.readouterr().err
    assert "ZeroDivisionError: ours" in file.read_text()


def test_fault_of_ours_without_a_folder_to_write_to(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(**_: object) -> None:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr("envsync.cli.boundary.tempfile.mkstemp", full)
    assert guarded(app_that(ZeroDivisionError("ours")), ["one"], io.StringIO()) == 3
    err = capsys.readouterr().err
    assert "a fault of envsync itself: ZeroDivisionError: ours" in err
    assert "TMPDIR" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("option", ["--deadline", "--connect-timeout", "--timeout"])
@pytest.mark.parametrize("seconds", ["inf", "nan", "1e300", "-1"])
def test_times_that_nobody_can_wait_for(
    option: str, seconds: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["push", "n1,", "--launcher", "local", option, seconds]
    assert guarded(cli, words, io.StringIO()) == 2
    assert f"'{option}'" in capsys.readouterr().err


def test_error_that_quotes_a_file_gives_the_terminal_no_orders(
    capsys: pytest.CaptureFixture[str],
) -> None:
    error = InputError("\x1b[2Jodd\x07", file="f\x9b", hint="\x1b]0;t\x07do this")
    assert guarded(app_that(error), ["one"], io.StringIO()) == 2
    assert capsys.readouterr().err == "envsync: f: [2Jodd\n  ]0;tdo this\n"
