"""envsync status and envsync prune."""

from __future__ import annotations

from pathlib import Path

from envsync.cli.options import Connecting
from envsync.cli.session import Session
from envsync.cli.target import find_target
from envsync.errors import ExitCode
from envsync.prune import prune as prune_all
from envsync.prune import status as count_all
from envsync.render import envelope, screens


def status(
    hosts: str | None, file: Path, name: str | None, connecting: Connecting, *, as_json: bool
) -> int:
    """Count the generations of every host and show them."""
    target = find_target(hosts, file, name, connecting)
    session = Session("status", target.hosts, target.connecting, None, as_json=as_json)
    with session:
        kept = count_all(session.fleet, target.hosts, target.name)
    screens.counted(session.out, target.name, kept, session.reports, session.fold)
    return session.finish(
        ExitCode.DIFFERENT if session.failed else ExitCode.OK,
        {
            "name": target.name,
            "hosts": [envelope.host_record(report) for report in session.reports],
            "kept": envelope.plain(kept),
        },
    )


def prune(
    hosts: str | None,
    keep: int,
    file: Path,
    name: str | None,
    connecting: Connecting,
    *,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Remove what nobody needs any more, and say what that won."""
    target = find_target(hosts, file, name, connecting)
    session = Session("prune", target.hosts, target.connecting, None, as_json=as_json)
    with session:
        pruned = prune_all(session.fleet, target.hosts, target.name, keep, dry_run=dry_run)
    screens.pruned(session.out, pruned, session.reports, session.fold, dry_run=dry_run)
    return session.finish(
        ExitCode.DIFFERENT if session.failed else ExitCode.OK,
        {
            "name": target.name,
            "dry_run": dry_run,
            "hosts": [envelope.host_record(report) for report in session.reports],
            "pruned": envelope.plain(pruned),
        },
    )
