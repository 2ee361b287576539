"""envsync bootstrap."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from envsync.bootstrap import Tell
from envsync.bootstrap import bootstrap as bootstrap_all
from envsync.cli.bundles import Where
from envsync.cli.session import Session
from envsync.cli.target import find_hosts
from envsync.downloads import cache_folder
from envsync.errors import InputError
from envsync.fetch import Source, fetch, local
from envsync.hold import Ticket
from envsync.installers import (
    PUBLISHERS,
    Flavour,
    Installer,
    check_channels,
    check_prefix,
    consented,
)
from envsync.provision import Wishes
from envsync.render import changes, envelope, reading


@dataclass(frozen=True)
class Request:
    """The command's words."""

    where: Where
    wishes: Wishes
    source: Source
    installers: tuple[Path, ...]
    accepted: bool
    """The user says to have accepted Anaconda's terms."""
    as_json: bool


def bootstrap(request: Request, ticket: Ticket) -> int:
    """Check all that this machine knows, and only then look at a host."""
    wishes, flavour, own = _checked(request)
    chosen, connecting, store = find_hosts(request.where)

    def supply(subdirs: Collection[str], tell: Tell) -> Mapping[str, Installer]:
        source = replace(request.source, flavour=flavour)
        return own or fetch(source, subdirs, tell, cache_folder("installers"))

    session = Session(
        "bootstrap",
        chosen.hosts,
        connecting,
        store,
        as_json=request.as_json,
        logged=not wishes.dry_run,
    )
    reading.notices(session.out, [*chosen.notices, *chosen.only_some()])
    with session:
        done = bootstrap_all(session.fleet, chosen.hosts, wishes, supply, ticket)
    changes.bootstrapped(session.out, done, session.reports, session.fold)
    return session.finish(
        session.exit_code,
        {
            "dry_run": wishes.dry_run,
            "flavour": flavour,
            "hosts": [envelope.host_record(report) for report in session.reports],
            "provided": envelope.plain(done),
        },
    )


def _checked(request: Request) -> tuple[Wishes, Flavour, Mapping[str, Installer]]:
    """The wishes with a prefix, what is installed, and the user's own installers.

    Raises InputError.
    """
    wishes = request.wishes
    if wishes.remove and (wishes.upgrade or wishes.init or request.installers):
        raise InputError(
            "--remove takes a conda away, and --upgrade, --init and --installer bring one",
            hint="leave one of them out",
        )
    if wishes.force and not wishes.remove:
        raise InputError("--force is for --remove alone", hint="leave it out")
    request.source.check()
    check_channels(wishes.channels)
    own = local(request.installers, request.source.sums)
    flavour = next((each.flavour for each in own.values()), request.source.flavour)
    if not wishes.remove:
        consented(flavour, accepted=request.accepted)
    prefix = wishes.prefix or PUBLISHERS[flavour].prefix
    check_prefix(prefix)
    return replace(wishes, prefix=prefix), flavour, own
