"""What changes nodes: the grammar of push, lock, rollback, resume, prune and bootstrap.

What a command does is imported when it is called, so that `--help` pays for none of it.
"""

from __future__ import annotations

from typing import Annotated

import typer

from envsync.cli.bundles import Connecting, Selecting, Where, configured
from envsync.cli.installing import (
    ForceRemoval,
    Init,
    Installing,
    InstallTimeout,
    Remove,
    Upgrade,
)
from envsync.cli.options import (
    BUILD_TIMEOUT,
    DEFAULT_FILE,
    AsJson,
    BestEffort,
    BreakLock,
    BundleFile,
    Canary,
    DryRun,
    EnvironmentFile,
    Force,
    MaybeHosts,
    NoLock,
    Offline,
    OnlyDrifted,
    Rebuild,
    Relay,
    Relock,
    Replace,
    Timeout,
)
from envsync.cli.reaching import Reaching


@configured
def push(
    dry_run: DryRun = False,
    relock: Relock = False,
    no_lock: NoLock = False,
    rebuild: Rebuild = False,
    only_drifted: OnlyDrifted = False,
    offline: Offline = False,
    bundle: BundleFile = None,
    relay: Relay = False,
    canary: Canary = 0,
    best_effort: BestEffort = False,
    replace: Replace = False,
    force: Force = False,
    break_lock: BreakLock = False,
    timeout: Timeout = BUILD_TIMEOUT,
    *,
    reaching: Reaching,
    named: Where,
    as_json: AsJson = False,
) -> None:
    """Make FILE's environment on every host; all switch, or none.

    FILE is solved once, on one host of each platform; the lock beside it says what every host
    installs. A host that holds that already is left alone. A host that fails is named with its
    cause and the next step; the others get ready, and a second push needs to do just the rest.
    """
    from envsync.cli.access import access_of
    from envsync.cli.commands.push import Request, push, source_of
    from envsync.cli.session import ticket
    from envsync.push import PushOptions

    access = access_of(reaching)
    options = PushOptions(
        ticket(break_lock=break_lock),
        timeout=timeout,
        dry_run=dry_run,
        rebuild=rebuild,
        best_effort=best_effort,
        canary=canary,
        force=force,
        replace=replace,
        only_drifted=only_drifted,
        source=source_of(bundle, named.file, access, offline=offline),
        relay=relay,
        access=access,
    )
    request = Request(named, options, relock, no_lock, as_json)
    raise typer.Exit(push(request))


@configured
def lock(
    relock: Relock = False,
    break_lock: BreakLock = False,
    timeout: Timeout = BUILD_TIMEOUT,
    *,
    reaching: Reaching,
    named: Where,
    as_json: AsJson = False,
) -> None:
    """Solve FILE once a platform, and write the lock beside it.

    Nothing is installed. `push` does the same by itself when there is no lock for FILE.
    """
    from envsync.cli.access import access_of
    from envsync.cli.commands.push import Request, lock
    from envsync.cli.session import ticket
    from envsync.push import PushOptions

    options = PushOptions(
        ticket(break_lock=break_lock), timeout=timeout, access=access_of(reaching)
    )
    request = Request(named, options, relock, as_json=as_json)
    raise typer.Exit(lock(request))


@configured
def rollback(
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="GENERATION", help="Which one, instead of the one before."),
    ] = None,
    force: Force = False,
    break_lock: BreakLock = False,
    *,
    where: Where,
    as_json: AsJson = False,
) -> None:
    """Go back to the generation before this one on every host.

    All hosts or none: a host that cannot go back leaves all where they are. Nothing is built
    or downloaded.
    """
    from envsync.cli.commands.rollback import rollback
    from envsync.cli.session import ticket

    whose = ticket(break_lock=break_lock)
    raise typer.Exit(rollback(where, to, whose, force=force, as_json=as_json))


@configured
def resume(
    file: EnvironmentFile = DEFAULT_FILE,
    break_lock: BreakLock = False,
    *,
    connecting: Connecting,
    as_json: AsJson = False,
) -> None:
    """Complete a switch that not all hosts were seen to do."""
    from envsync.cli.commands.resume import resume
    from envsync.cli.session import ticket

    whose = ticket(break_lock=break_lock)
    raise typer.Exit(resume(file, connecting, whose, as_json=as_json))


@configured
def prune(
    keep: Annotated[
        int, typer.Option("--keep", min=1, help="How many to keep, the current one included.")
    ] = 3,
    clean: Annotated[
        bool, typer.Option("--clean", help="Let conda clean its package cache, too.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be removed, and remove nothing.")
    ] = False,
    break_lock: BreakLock = False,
    *,
    where: Where,
    as_json: AsJson = False,
) -> None:
    """Remove old generations from every host.

    Never the current one, and never one in which a process runs.
    """
    from envsync.cli.commands.prune import Wishes, prune
    from envsync.cli.session import ticket

    wishes = Wishes(keep, ticket(break_lock=break_lock), dry_run, clean)
    raise typer.Exit(prune(where, wishes, as_json=as_json))


@configured
def bootstrap(
    hosts: MaybeHosts = None,
    *,
    installing: Installing,
    shell: Init = False,
    upgrade: Upgrade = False,
    remove: Remove = False,
    force: ForceRemoval = False,
    dry_run: DryRun = False,
    break_lock: BreakLock = False,
    timeout: InstallTimeout = BUILD_TIMEOUT,
    file: EnvironmentFile = DEFAULT_FILE,
    selecting: Selecting,
    connecting: Connecting,
    as_json: AsJson = False,
) -> None:
    """Install a conda on the hosts that have none.

    Miniforge in the user's home, unless told otherwise; no root is needed, and no shell file is
    touched without --init. The installer is fetched once, checked by its sha256, and sent to
    each host once. A host that has a conda is left alone.
    """
    from envsync.cli.commands.bootstrap import Request, bootstrap
    from envsync.cli.session import ticket
    from envsync.fetch import Source
    from envsync.installers import Flavour
    from envsync.provision import Wishes

    source = Source(
        Flavour(installing.flavour or Flavour.MINIFORGE), installing.mirror, installing.sums
    )
    wishes = Wishes(
        installing.prefix, installing.channels, shell, upgrade, remove, force, dry_run, timeout
    )
    where = Where.of(hosts, file, None, selecting=selecting, connecting=connecting)
    request = Request(
        where, wishes, source, installing.installers, installing.accept_terms, as_json
    )
    raise typer.Exit(bootstrap(request, ticket(break_lock=break_lock)))
