"""envsync lint."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from envsync.errors import ExitCode
from envsync.lint import RULES, selected
from envsync.lint import lint as lint_spec
from envsync.render import reading
from envsync.render.console import console
from envsync.spec import read_environment


def lint(
    file: Path,
    name: str | None,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    *,
    as_json: bool,
) -> int:
    """Read FILE and say what will hurt, as far as the codes of `select` and `ignore` go."""
    rules = selected(RULES, select, ignore)
    spec = read_environment(file, name)
    found = lint_spec(spec, rules)
    exit_code = ExitCode.DIFFERENT if any(each.level == "error" for each in found) else ExitCode.OK
    out = console(stderr=as_json)
    reading.notices(out, spec.notices)
    reading.linted(out, found, spec.source)
    if as_json:
        from envsync.render.envelope import envelope, plain  # noqa: PLC0415 (takes longer than lint)

        print(envelope("lint", exit_code, {"findings": plain(found)}))
    return exit_code
