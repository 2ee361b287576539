"""envsync push."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from envsync.cli.options import Connecting
from envsync.cli.session import Session, operator
from envsync.compare import compare
from envsync.errors import ExitCode, InputError
from envsync.generations import generation_id
from envsync.inventory import read_inventory
from envsync.lint import lint
from envsync.push import PushOptions
from envsync.push import push as push_to
from envsync.render import envelope, screens
from envsync.spec import EnvironmentSpec, read_environment
from envsync.store import LastPush, Store


@dataclass(frozen=True)
class Request:
    """The command's words."""

    hosts: str
    file: Path
    name: str | None
    timeout: float
    dry_run: bool
    rebuild: bool
    connecting: Connecting
    as_json: bool


def push(request: Request) -> int:
    """Read everything, check everything, and only then touch a host."""
    inventory = read_inventory(request.hosts, sys.stdin)
    spec = _checked(read_environment(request.file, request.name))
    store = Store(request.file.parent)
    session = Session(
        "push",
        inventory.hosts,
        request.connecting,
        None if request.dry_run else store,
        as_json=request.as_json,
    )
    screens.notices(session.out, (*inventory.warnings, *spec.notices))
    try:
        with session:
            if not request.dry_run:
                store.remember(_last_push(request, session, spec))
            options = PushOptions(request.timeout, request.dry_run, request.rebuild, operator())
            pushed = push_to(session.fleet, inventory.hosts, spec, options, session.emit)
    except KeyboardInterrupt:
        screens.interrupted(session.out, session.reports, session.fold)
        raise
    rows = compare(list(pushed.facts.values()))
    exit_code = ExitCode.OK
    if session.failed or any(row.matters for row in rows):
        exit_code = ExitCode.DIFFERENT
    screens.pushed(session.out, spec.name, pushed, rows, session.reports, session.fold)
    return session.finish(
        exit_code,
        {
            "name": spec.name,
            "generation": pushed.generation,
            "dry_run": request.dry_run,
            "hosts": [envelope.host_record(report) for report in session.reports],
            "differences": envelope.rows_record(
                [row for row in rows if row.differs], tuple(pushed.facts)
            ),
        },
    )


def _checked(spec: EnvironmentSpec) -> EnvironmentSpec:
    """Raises InputError when lint knows that a push of this file cannot go well."""
    errors = [each for each in lint(spec) if each.level == "error"]
    if errors:
        first, more = errors[0], len(errors) - 1
        raise InputError(
            first.message + (f" (and {more} more)" if more else ""),
            file=first.file,
            line=first.line,
            hint=f"{first.hint}; `envsync lint` shows all",
        )
    return spec


def _last_push(request: Request, session: Session, spec: EnvironmentSpec) -> LastPush:
    return LastPush(
        tuple(session.hosts),
        spec.name,
        generation_id(spec.raw),
        spec.source,
        spec.raw,
        request.connecting.record(),
    )
