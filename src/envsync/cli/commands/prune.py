"""envsync status and envsync prune."""

from __future__ import annotations

from dataclasses import dataclass

from envsync.cli.bundles import Where
from envsync.cli.session import Session
from envsync.cli.target import find_target
from envsync.hold import Ticket
from envsync.prune import prune as prune_all
from envsync.prune import status as count_all
from envsync.render import envelope, reading, screens


def status(where: Where, *, as_json: bool) -> int:
    """Count the generations of every host and show them."""
    target = find_target(where)
    session = Session("status", target.hosts, target.connecting, target.store, as_json=as_json)
    reading.notices(session.out, target.notices)
    with session:
        kept = count_all(session.fleet, target.hosts, target.name)
    screens.counted(session.out, target.name, kept, session.reports, session.fold)
    return session.finish(
        session.exit_code,
        {
            "name": target.name,
            "hosts": [envelope.host_record(report) for report in session.reports],
            "kept": envelope.plain(kept),
        },
    )


@dataclass(frozen=True)
class Wishes:
    """What to keep, and how to go about it."""

    keep: int
    ticket: Ticket
    dry_run: bool
    clean: bool


def prune(where: Where, wishes: Wishes, *, as_json: bool) -> int:
    """Remove what nobody needs any more, and say what that won."""
    target = find_target(where)
    session = Session("prune", target.hosts, target.connecting, target.store, as_json=as_json)
    reading.notices(session.out, target.notices)
    with session:
        pruned = prune_all(
            session.fleet,
            target.hosts,
            target.name,
            wishes.keep,
            wishes.ticket,
            dry_run=wishes.dry_run,
            clean_cache=wishes.clean,
        )
    screens.pruned(session.out, pruned, session.reports, session.fold, dry_run=wishes.dry_run)
    return session.finish(
        session.exit_code,
        {
            "name": target.name,
            "dry_run": wishes.dry_run,
            "hosts": [envelope.host_record(report) for report in session.reports],
            "pruned": envelope.plain(pruned),
        },
    )
