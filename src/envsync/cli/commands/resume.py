"""envsync resume and envsync log."""

from __future__ import annotations

from pathlib import Path

from envsync.cli.bundles import Connecting, Where
from envsync.cli.history import Deeds
from envsync.cli.session import Session
from envsync.cli.target import find_target
from envsync.errors import ExitCode, InputError
from envsync.hold import Ticket
from envsync.render import changes, envelope, screens
from envsync.render.console import console
from envsync.resume import histories
from envsync.resume import resume as carry_on
from envsync.store import Store


def resume(file: Path, connecting: Connecting, ticket: Ticket, *, as_json: bool) -> int:
    """Carry out what was decided; with nothing pending there is nothing to do."""
    store = Store(file.parent)
    decision = store.decision()
    if decision is None:
        out = console(stderr=as_json)
        out.print("Nothing is pending: every decision of this folder was carried out.")
        if as_json:
            print(envelope.envelope("resume", ExitCode.OK, {"hosts": []}))
        return ExitCode.OK
    connecting = connecting.or_remembered(dict(store.last_push().connection))
    session = Session("resume", decision.hosts, connecting, store, as_json=as_json, logged=True)
    deeds = Deeds(store, session, "resume")
    deeds.decided = decision
    with deeds.telling_interruptions(), session:
        done = carry_on(session.fleet, decision, ticket)
    generations = tuple(sorted({flip.slot.generation for flip in decision.flips}))
    deeds.done(decision.name, generations, "", changes.push_outcome(session.reports))
    changes.resumed(session.out, decision.name, done, session.reports, session.fold)
    return session.finish(
        session.exit_code,
        {
            "name": decision.name,
            "generations": generations,
            "hosts": [envelope.host_record(report) for report in session.reports],
        },
    )


def log(where: Where, *, as_json: bool) -> int:
    """This folder's history, or that of the hosts."""
    if where.hosts is None:
        return _folder(Store(where.file.parent), where.name, as_json=as_json)
    target = find_target(where)
    session = Session("log", target.hosts, target.connecting, target.store, as_json=as_json)
    with session:
        found = histories(session.fleet, target.hosts, target.name)
    screens.histories(session.out, found, session.reports, session.fold)
    return session.finish(
        session.exit_code,
        {
            "name": target.name,
            "hosts": [envelope.host_record(report) for report in session.reports],
            "switches": envelope.plain(found),
        },
    )


def _folder(store: Store, name: str | None, *, as_json: bool) -> int:
    entries = [each for each in store.history() if name in (None, each.name)]
    if not entries and not as_json:
        raise InputError(
            f"nothing was pushed from {store.folder.parent.resolve()} yet",
            hint="go to the folder that was pushed from, or name hosts: `envsync log hosts.txt`",
        )
    screens.history(console(stderr=as_json), entries)
    if as_json:
        print(envelope.envelope("log", ExitCode.OK, {"entries": envelope.plain(entries)}))
    return ExitCode.OK
