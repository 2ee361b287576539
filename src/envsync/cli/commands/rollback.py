"""envsync rollback."""

from __future__ import annotations

from envsync.cli.bundles import Where
from envsync.cli.history import Deeds
from envsync.cli.session import Session
from envsync.cli.target import find_target
from envsync.hold import Ticket
from envsync.lock import Lock, digest, format_lock, parse_lock
from envsync.render import changes, envelope, reading
from envsync.rollback import Origin, RolledBack
from envsync.rollback import rollback as roll_back
from envsync.store import LastPush


def rollback(where: Where, to: str | None, ticket: Ticket, *, force: bool, as_json: bool) -> int:
    """Go back on all hosts, and remember that this is what they hold now."""
    target = find_target(where)
    store = target.store
    session = Session(
        "rollback", target.hosts, target.connecting, store, as_json=as_json, logged=True
    )
    reading.notices(session.out, [*target.notices, *target.chosen.only_some()])
    deeds = Deeds(store, session, "rollback")
    with deeds.telling_interruptions(), session:
        done = roll_back(
            session.fleet,
            target.hosts,
            target.name,
            to,
            ticket,
            deeds.deciding(lambda: None),
            force=force,
        )
    origin = _merged(done)
    if origin:
        store.remember(
            LastPush(
                target.chosen.all_hosts,
                target.name,
                str(where.file),
                origin.environment,
                origin.lock,
                target.connecting.record(),
            )
        )
    deeds.done(
        target.name,
        tuple(done.origins),
        digest(origin.lock) if origin and origin.lock else "",
        changes.push_outcome(session.reports),
    )
    changes.rolled_back(session.out, target.name, done, session.reports, session.fold)
    return session.finish(
        session.exit_code,
        {
            "name": target.name,
            "generations": tuple(done.origins),
            "hosts": [envelope.host_record(report) for report in session.reports],
        },
    )


def _merged(done: RolledBack) -> Origin | None:
    """One environment file and one lock for all platforms that went back."""
    if not done.origins:
        return None
    locks = [parse_lock(each.lock, "a node") for each in done.origins.values() if each.lock]
    lock = Lock(()).extended(section for each in locks for section in each.sections)
    first = next(iter(done.origins.values()))
    return Origin(first.environment, format_lock(lock).encode() if lock.sections else b"")
