"""envsync lint."""

from __future__ import annotations

from pathlib import Path

from envsync.errors import ExitCode
from envsync.lint import lint as lint_spec
from envsync.render import screens
from envsync.render.console import console
from envsync.render.envelope import envelope, plain
from envsync.spec import read_environment


def lint(file: Path, name: str | None, *, as_json: bool) -> int:
    """Read FILE and say what will hurt."""
    spec = read_environment(file, name)
    found = lint_spec(spec)
    exit_code = ExitCode.DIFFERENT if any(each.level == "error" for each in found) else ExitCode.OK
    out = console(stderr=as_json)
    screens.notices(out, spec.notices)
    screens.linted(out, found, spec.source)
    if as_json:
        print(envelope("lint", exit_code, {"findings": plain(found)}))
    return exit_code
