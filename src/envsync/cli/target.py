"""Which environment on which hosts a command is about: its words, or the last push."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from envsync.cli.bundles import Connecting, Where
from envsync.cli.choices import Launcher
from envsync.cli.options import DEFAULT_FILE
from envsync.config import OWN, read_config
from envsync.errors import InputError
from envsync.inventory import (
    Choice,
    Inventory,
    is_slurm,
    read_inventory,
    read_slurm,
    select,
)
from envsync.lock import lock_file, parse_lock
from envsync.luggage import Luggage
from envsync.manifest import lock_beside, parse_manifest, read_manifest, read_measure
from envsync.model import Host, Notice
from envsync.recipe import Wanted, remembered, without_credentials
from envsync.spec import environment_name
from envsync.store import LastPush, Store


@dataclass(frozen=True)
class Chosen:
    """The hosts a command is for, and those that its words would name without a choice."""

    hosts: tuple[Host, ...]
    all_hosts: tuple[Host, ...]
    notices: tuple[Notice, ...]

    def only_some(self) -> Sequence[Notice]:
        """For a command that switches hosts: what becomes of the others."""
        left = len(self.all_hosts) - len(self.hosts)
        if not left:
            return ()
        keep = "1 host keeps what it has" if left == 1 else f"{left} hosts keep what they have"
        return [Notice(f"only {len(self.hosts)} of {len(self.all_hosts)} hosts: {keep}")]


@dataclass(frozen=True)
class Target:
    """Which environment to look at, on which hosts, and what it should be."""

    chosen: Chosen
    name: str
    wanted: Wanted | None
    """None when only a name is known: then the nodes are just compared."""
    connecting: Connecting
    notices: Sequence[Notice]
    store: Store

    @property
    def hosts(self) -> tuple[Host, ...]:
        return self.chosen.hosts


def find_target(where: Where, *, judging: bool = False) -> Target:
    """From the words given, or from what the last push from this folder left.

    Only with `judging` the environment that is wanted is read, which takes its time.
    """
    store = Store(where.file.parent)
    where = _with_configured_hosts(where, store)
    if where.prefix:
        return _at_prefix(where, store, judging=judging)
    pending = _pending(store)
    if where.hosts is not None:
        return _named(where, store, pending)
    last = store.last_push()
    notices = list(pending)
    if judging and where.file.exists() and _changed(where, last):
        notices.append(
            Notice("changed since the last push; comparing with what was pushed", str(where.file))
        )
    return Target(
        _choose(Inventory(last.hosts), where, store),
        where.name or last.name,
        _wanted(last) if judging and where.name in (None, last.name) else None,
        where.connecting.or_remembered(dict(last.connection)),
        notices,
        store,
    )


def find_hosts(where: Where) -> tuple[Chosen, Connecting, Store]:
    """Just the hosts, of whatever environment: those named, or those of the last push."""
    store = Store(where.file.parent)
    where = _with_configured_hosts(where, store)
    if where.hosts is not None:
        return _choose(_read(where.hosts), where, store), where.connecting, store
    last = store.last_push()
    chosen = _choose(Inventory(last.hosts), where, store)
    return chosen, where.connecting.or_remembered(dict(last.connection)), store


def named_hosts(where: Where, store: Store) -> Chosen:
    """The hosts that the command line or the config names, as far as they are chosen.

    Raises InputError.
    """
    if where.hosts is None:
        raise InputError(
            "no hosts are named",
            hint=f"name them, or write `hosts = ...` into {where.file.parent / OWN}",
        )
    return _choose(_read(where.hosts), where, store)


def chosen_of(hosts: tuple[Host, ...], where: Where, store: Store) -> tuple[Host, ...]:
    """The hosts that the command line names, or else these, as far as they are chosen."""
    if where.hosts is not None:
        return named_hosts(where, store).hosts
    return _choose(Inventory(hosts), where, store).hosts


def _read(hosts: str) -> Inventory:
    if is_slurm(hosts):
        from envsync.transport.slurmtools import ask  # noqa: PLC0415 (on need: start-up time)

        return read_slurm(hosts, ask, os.environ)
    return read_inventory(hosts, sys.stdin)


def _with_configured_hosts(where: Where, store: Store) -> Where:
    """The config's hosts where the command line names none; reached as the last push did."""
    hosts = read_config(where.file.parent).hosts() if where.hosts is None else None
    if hosts is None:
        return where
    connecting = where.connecting
    with contextlib.suppress(InputError):  # nothing was pushed yet
        connecting = connecting.or_remembered(dict(store.last_push().connection))
    return replace(where, hosts=hosts, connecting=replace(connecting, hosts=hosts))


def _choose(inventory: Inventory, where: Where, store: Store) -> Chosen:
    """The hosts that --limit, --exclude and --failed leave."""
    words = where.selecting
    choice = Choice(words.limit, words.exclude, store.failed() if words.failed else None)
    chosen = inventory if choice.is_all else select(inventory, choice)
    return Chosen(chosen.hosts, inventory.hosts, inventory.warnings)


def _changed(where: Where, last: LastPush) -> bool:
    """Whether the file is not what was pushed, whatever has become of its credentials."""
    raw = where.file.read_bytes()
    if not last.raw or raw == last.raw:
        return False
    try:
        if without_credentials(raw, str(where.file)) == last.raw:
            return False
        # It may have been sent with other paths than it has.
        return remembered(read_manifest(where.file, where.name or last.name).spec) != last.raw
    except InputError:  # it can no longer be read
        return True


def _wanted(last: LastPush) -> Wanted | None:
    if not last.raw:
        return None
    spec = parse_manifest(last.raw, last.source, last.name).spec
    spec = replace(spec, luggage=Luggage(identity=last.luggage))
    return Wanted(spec, parse_lock(last.lock, "environment.lock") if last.lock else None)


def _pending(store: Store) -> Sequence[Notice]:
    decision = store.decision()
    if decision is None:
        return ()
    return [
        Notice(
            f"a switch of {decision.name} on {len(decision.hosts)} hosts was decided and not seen"
            " to be done on all of them: `envsync resume` completes it"
        )
    ]


def left_behind(store: Store, name: str, hosts: Sequence[Host]) -> Sequence[Notice]:
    """What a push of `name` to `hosts` will not complete of an earlier decision."""
    decision = store.decision()
    if decision is None or (decision.name == name and set(decision.hosts) <= set(hosts)):
        return ()
    return [
        Notice(
            f"a switch of {decision.name} on {len(decision.hosts)} hosts was decided and not seen"
            " to be done on all of them, and this push is not for all of that: complete it with"
            " `envsync resume` first, or it is forgotten"
        )
    ]


def _named(where: Where, store: Store, pending: Sequence[Notice]) -> Target:
    chosen = named_hosts(where, store)
    notices = [*pending, *chosen.notices]
    if where.name is not None and not where.file.exists():
        return Target(chosen, where.name, None, where.connecting, notices, store)
    manifest = read_manifest(where.file, where.name)
    lock, why = lock_beside(manifest, where.file)
    if why:
        notices.append(Notice(f"not compared with: {why}", str(lock_file(where.file))))
    wanted = None if why else Wanted(manifest.spec, lock)
    notices += manifest.spec.notices
    return Target(chosen, manifest.spec.name, wanted, where.connecting, notices, store)


def _at_prefix(where: Where, store: Store, *, judging: bool) -> Target:
    """The environment at a path. What was pushed from here has no say in what that one holds."""
    if where.hosts is None and where.connecting.launcher is Launcher.LOCAL:
        where = replace(where, hosts="localhost,")
    chosen, connecting, _ = find_hosts(where)
    called = where.name or _called(PurePosixPath(where.prefix).name)
    if not judging:
        return Target(chosen, called, None, connecting, chosen.notices, store)
    wanted, notices = read_wanted(where, called)
    name = wanted.spec.name if wanted else called
    return Target(chosen, name, wanted, connecting, [*chosen.notices, *notices], store)


def read_wanted(where: Where, called: str) -> tuple[Wanted | None, Sequence[Notice]]:
    """What FILE, or the lock beside it, says of an environment `called` so, whoever made it.

    Raises InputError where FILE is named and not there, and where its lock does not fit it.
    """
    if where.file == DEFAULT_FILE and not where.file.exists():
        alone = "it is not there: hosts are compared with each other alone"
        return None, [Notice(alone, str(where.file))]
    manifest = read_measure(where.file, where.name, called)
    lock, why = lock_beside(manifest, where.file)
    if why:
        beside = lock_file(where.file)
        raise InputError(
            f"the lock does not fit: {why}",
            file=str(beside),
            hint=f"`envsync lock HOSTS` makes it anew; -f {beside} compares with it as it is",
        )
    return Wanted(manifest.spec, lock, alone=bool(manifest.lock)), manifest.spec.notices


def _called(folder: str) -> str:
    """What an environment in a folder of this name is called in messages."""
    try:
        return environment_name(folder)
    except InputError:
        return "environment"
