"""The one place where errors end: expected ones as a sentence, others as a fault of ours."""

from __future__ import annotations

import contextlib
import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import typer
from typer.exceptions import TyperException
from typer.main import get_command

from envsync import __version__
from envsync.errors import EnvsyncError, ExitCode


def guarded(app: typer.Typer, argv: list[str], out: TextIO) -> int:
    """Run `app` with `argv`; the exit code. With --json, errors are an envelope on `out`."""
    as_json = "--json" in argv
    program = get_command(app)
    named = next((word for word in argv if not word.startswith("-")), "")
    command = named if named in getattr(program, "commands", {named: None}) else ""
    try:
        # No word at all asks for help, and is no command that could have succeeded.
        code = program.main(argv or ["--help"], prog_name="envsync", standalone_mode=False)
        code = code if argv else ExitCode.BAD_INPUT
        out.flush()
        if code == ExitCode.INTERRUPTED:  # what typer makes of a ^C in a command
            raise KeyboardInterrupt
    except EnvsyncError as error:
        return _tell(error, command, out if as_json else None)
    except TyperException as error:
        usage = EnvsyncError(
            error.format_message() if hasattr(error, "format_message") else str(error),
            hint=f"see `envsync {command} --help`".replace("  ", " "),
        )
        usage.exit_code = ExitCode.BAD_INPUT
        return _tell(usage, command, out if as_json else None)
    except (KeyboardInterrupt, typer.Abort):
        stopped = EnvsyncError("interrupted")
        stopped.exit_code = ExitCode.INTERRUPTED
        return _tell(stopped, command, out if as_json else None)
    except BrokenPipeError:
        # The reader went away (`| head`); Python would complain once more at exit.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
        return ExitCode.OK
    except Exception:  # noqa: BLE001 (the boundary)
        return _tell(_fault(argv), command, out if as_json else None)
    return int(code or 0)


def _tell(error: EnvsyncError, command: str, json_out: TextIO | None) -> int:
    if json_out is not None:
        from envsync.render.envelope import envelope, error_record  # noqa: PLC0415 (on need)

        print(envelope(command, error.exit_code, error=error_record(error)), file=json_out)
    from envsync.redact import harmless  # noqa: PLC0415 (on need)

    print(harmless(f"envsync: {error}"), file=sys.stderr)
    if error.hint:
        print(harmless(f"  {error.hint}"), file=sys.stderr)
    return error.exit_code


def _fault(argv: list[str]) -> EnvsyncError:
    """Write the traceback to a file and make a sentence that names it."""
    error = sys.exception()
    text = "".join([*(f"{line}\n" for line in _circumstances(argv)), traceback.format_exc()])
    try:
        handle, name = tempfile.mkstemp(prefix="envsync-fault-", suffix=".log")
        with os.fdopen(handle, "w") as stream:
            stream.write(text)
    except OSError:  # as in a container whose file systems are all read-only
        hint = "run it again with TMPDIR naming a folder that can be written: it says more there"
    else:
        hint = f"please report it with {Path(name)}"
    return EnvsyncError(f"a fault of envsync itself: {type(error).__name__}: {error}", hint=hint)


def _circumstances(argv: list[str]) -> Iterator[str]:
    yield f"envsync {__version__}, Python {platform.python_version()}, {platform.platform()}"
    yield f"arguments: {argv}"
