"""envsync rollback."""

from __future__ import annotations

from pathlib import Path

from envsync.cli.options import Connecting
from envsync.cli.session import Session, operator
from envsync.cli.target import find_target
from envsync.errors import ExitCode
from envsync.render import envelope, screens
from envsync.rollback import rollback as roll_back
from envsync.store import LastPush, Store


def rollback(
    hosts: str | None,
    to: str | None,
    file: Path,
    name: str | None,
    connecting: Connecting,
    *,
    as_json: bool,
) -> int:
    """Go back on all hosts, and remember that this is what they hold now."""
    target = find_target(hosts, file, name, connecting)
    store = Store(file.parent)
    session = Session("rollback", target.hosts, target.connecting, store, as_json=as_json)
    try:
        with session:
            done = roll_back(session.fleet, target.hosts, target.name, to, operator(), session.emit)
    except KeyboardInterrupt:
        screens.interrupted(session.out, session.reports, session.fold)
        raise
    if done.generation:
        store.remember(
            LastPush(
                tuple(target.hosts),
                target.name,
                done.generation,
                str(file),
                done.raw,
                target.connecting.record(),
            )
        )
    screens.rolled_back(session.out, target.name, done, session.reports, session.fold)
    return session.finish(
        ExitCode.DIFFERENT if session.failed else ExitCode.OK,
        {
            "name": target.name,
            "generation": done.generation or None,
            "hosts": [envelope.host_record(report) for report in session.reports],
        },
    )
