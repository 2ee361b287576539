"""envsync push and envsync lock."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from envsync.access import Access
from envsync.cli.bundles import Where
from envsync.cli.choices import Launcher
from envsync.cli.history import Deeds
from envsync.cli.session import Session
from envsync.cli.target import Chosen, left_behind, named_hosts
from envsync.compare import Row, compare
from envsync.errors import ExitCode, InputError
from envsync.lint import lint
from envsync.lock import Lock, digest, format_lock, lock_file
from envsync.manifest import Manifest, lock_beside, read_manifest
from envsync.model import Notice
from envsync.parcels import Source
from envsync.push import Keep, Pushed, PushOptions
from envsync.push import push as push_to
from envsync.recipe import remembered
from envsync.render import changes, envelope, reading
from envsync.report import traffic
from envsync.solve import Solving, make_lock
from envsync.store import LastPush, Store, write_whole


@dataclass(frozen=True)
class Request:
    """The command's words."""

    where: Where
    options: PushOptions
    relock: bool = False
    no_lock: bool = False
    as_json: bool = False


@dataclass(frozen=True)
class _Inputs:
    """All that is read before any host is touched."""

    chosen: Chosen
    manifest: Manifest
    lock: Lock | None
    notices: tuple[Notice, ...]


class _Memory:
    """What a push leaves in its folder: the lock, and what the nodes should hold."""

    def __init__(self, request: Request, inputs: _Inputs, store: Store) -> None:
        self._where = request.where
        self._inputs = inputs
        self._store = store
        self._lock = inputs.lock

    def keep(self, lock: Lock) -> None:
        """A lock was solved: it counts from now on."""
        self._lock = lock
        _write_lock(self._where.file, lock)

    def remember(self) -> None:
        """This is what the nodes hold, or are about to."""
        spec = self._inputs.manifest.spec
        self._store.remember(
            LastPush(
                self._inputs.chosen.all_hosts,
                spec.name,
                spec.source,
                remembered(spec),
                format_lock(self._lock).encode() if self._lock else b"",
                self._where.connecting.record(),
                spec.luggage.identity,
            )
        )


def source_of(bundle: Path | None, file: Path, access: Access, *, offline: bool) -> Source | None:
    """Where the files come from that are sent; None where the hosts fetch them themselves.

    Beside `file` what a bundle says of the environment is put where it is missing.
    """
    # Imported only now: others need not wait for it.
    if bundle is None:
        if not offline:
            return None
        from envsync.downloads import cache_folder  # noqa: PLC0415 (see above)
        from envsync.supply import Internet  # noqa: PLC0415

        return Internet(cache_folder("packages"), access)
    from envsync.unbundle import read_bundle, settle  # noqa: PLC0415

    found = read_bundle(bundle)
    settle(found, file)
    return found


def push(request: Request) -> int:
    """Read everything, check everything, and only then touch a host."""
    if request.relock and request.options.only_drifted:
        raise InputError(
            "--only-drifted brings hosts back to the lock, and --relock makes another one",
            hint="leave one of them out",
        )
    if request.options.source and (request.relock or request.no_lock):
        raise InputError(
            f"{'--relock' if request.relock else '--no-lock'} solves, which takes the internet",
            hint="leave one of the options out; `envsync lock HOSTS` solves on hosts that have it",
        )
    _refuse_relay(request)
    inputs = _read(request, switching=True)
    spec, options = inputs.manifest.spec, request.options
    store = Store(request.where.file.parent)
    session = _session("push", request, inputs, logged=not options.dry_run)
    deeds = Deeds(store, session, "push")
    memory = _Memory(request, inputs, store)
    keep = Keep(memory.keep, deeds.deciding(memory.remember))
    with deeds.telling_interruptions(), session:
        pushed = push_to(session.fleet, inputs.chosen.hosts, spec, inputs.lock, options, keep)
    rows = compare(list(pushed.facts.values()))
    exit_code = session.exit_code
    if exit_code is ExitCode.OK and any(row.matters for row in rows):
        exit_code = ExitCode.DIFFERENT
    if not options.dry_run:
        if not deeds.decided and exit_code is ExitCode.OK:
            memory.remember()
        lock_digest = digest(format_lock(pushed.lock).encode()) if pushed.lock else ""
        outcome = changes.push_outcome(session.reports)
        deeds.done(spec.name, pushed.generations, lock_digest, outcome)
    changes.pushed(session.out, spec.name, pushed, rows, session.reports, session.fold)
    return session.finish(exit_code, {"name": spec.name, **_record(request, pushed, rows, session)})


def _refuse_relay(request: Request) -> None:
    """Raises InputError where nodes have nothing to hand on, or no way to do it."""
    if not request.options.relay:
        return
    if request.options.source is None:
        raise InputError(
            "--relay hands on what this machine sends, and without --offline it sends nothing",
            hint="push with --offline or --bundle as well",
        )
    if request.where.connecting.launcher is not Launcher.SSH:
        raise InputError(
            f"--relay goes from node to node by ssh, and not with --launcher"
            f" {request.where.connecting.launcher}",
            hint="leave one of them out",
        )


def _record(
    request: Request, pushed: Pushed, rows: Sequence[Row], session: Session
) -> dict[str, object]:
    """What --json tells of a push, besides the name."""
    return {
        "generations": pushed.generations,
        "lock": str(lock_file(request.where.file)) if pushed.lock else None,
        "dry_run": request.options.dry_run,
        "packages": envelope.plain(traffic(session.reports)),
        "hosts": [
            {**envelope.host_record(report), "packages": envelope.packages_record(report)}
            for report in session.reports
        ],
        "differences": envelope.rows_record(
            [row for row in rows if row.differs], tuple(pushed.facts)
        ),
    }


def lock(request: Request) -> int:
    """Solve what the lock beside the file does not say yet, and write it; nothing is installed."""
    inputs = _read(request, switching=False)
    if inputs.manifest.lock:
        raise InputError(
            "it is a lock already", file=str(request.where.file), hint="push it as it is"
        )
    spec = inputs.manifest.spec
    before = inputs.lock or Lock(())
    if not os.access(request.where.file.parent, os.W_OK):
        raise InputError(
            f"{lock_file(request.where.file)} cannot be written",
            hint="the lock lies beside the environment file: copy that to a folder of yours",
        )
    session = _session("lock", request, inputs, logged=False)
    with session:
        ticket = request.options.ticket
        solving = Solving(request.options.timeout, request.options.access)
        made = make_lock(session.fleet, inputs.chosen.hosts, spec, before, ticket, solving)
    if made.sections and made != before:
        _write_lock(request.where.file, made)
    file = lock_file(request.where.file)
    changes.locked(session.out, str(file), before, made, session.reports, session.fold)
    return session.finish(
        session.exit_code,
        {
            "name": spec.name,
            "lock": str(file),
            "changed": made != before,
            "sections": [envelope.section_record(each) for each in made.sections],
            "hosts": [envelope.host_record(report) for report in session.reports],
        },
    )


def _read(request: Request, *, switching: bool) -> _Inputs:
    where = request.where
    chosen = named_hosts(where, Store(where.file.parent))
    manifest, doubts = _checked(read_manifest(where.file, where.name))
    notices = [*chosen.notices, *manifest.spec.notices, *doubts]
    if switching:
        notices += chosen.only_some()
        notices += left_behind(Store(where.file.parent), manifest.spec.name, chosen.hosts)
    if request.no_lock:
        if manifest.lock:
            raise InputError(
                "it is a lock, and --no-lock wants none",
                file=str(request.where.file),
                hint="name an environment file with -f, or leave the option out",
            )
        request.options.access.way(manifest.spec).must_be_solvable()
        return _Inputs(chosen, manifest, None, tuple(notices))
    found, why = lock_beside(manifest, request.where.file)
    if request.options.source and found is None:
        raise InputError(
            f"{why or 'there is none'}, and nothing is solved without the internet",
            file=str(lock_file(request.where.file)),
            hint="`envsync lock HOSTS` makes it on hosts that have it; then push again",
        )
    if why:
        notices.append(Notice(f"not used: {why}; solving anew", str(lock_file(request.where.file))))
    if found is None or (request.relock and not manifest.lock):
        request.options.access.way(manifest.spec).must_be_solvable()
        found = Lock((), tuple((key, digest(raw)) for key, raw in manifest.sources.items()))
    return _Inputs(chosen, manifest, found, tuple(notices))


def _session(command: str, request: Request, inputs: _Inputs, *, logged: bool) -> Session:
    session = Session(
        command,
        inputs.chosen.hosts,
        request.where.connecting,
        Store(request.where.file.parent),
        as_json=request.as_json,
        logged=logged,
    )
    reading.notices(session.out, inputs.notices)
    return session


def _checked(manifest: Manifest) -> tuple[Manifest, tuple[Notice, ...]]:
    """The manifest with lint's warnings on it.

    Raises InputError when lint knows that a push of this file cannot go well.
    """
    found = lint(manifest.spec)
    errors = [each for each in found if each.level == "error"]
    if errors:
        first, more = errors[0], len(errors) - 1
        raise InputError(
            first.message + (f" (and {more} more)" if more else ""),
            file=first.file,
            line=first.line,
            hint=f"{first.hint}; `envsync lint` shows all",
        )
    return manifest, tuple(
        Notice(f"{each.code}: {each.message}; {each.hint}", each.file, each.line)
        for each in found
        if each.level == "warning"
    )


def _write_lock(environment: Path, lock: Lock) -> None:
    file = lock_file(environment)
    try:
        write_whole(file, format_lock(lock).encode(), mode=0o644)
    except OSError as error:
        raise InputError(
            f"it cannot be written: {error.strerror}",
            file=str(file),
            hint="the lock lies beside the environment file; push with --no-lock to do without",
        ) from error
