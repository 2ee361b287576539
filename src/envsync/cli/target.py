"""Which environment on which hosts a command is about: its words, or the last push."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from envsync.cli.options import Connecting
from envsync.inventory import read_inventory
from envsync.lock import lock_file, parse_lock
from envsync.manifest import lock_beside, parse_manifest, read_manifest
from envsync.model import Host, Notice
from envsync.store import LastPush, Store
from envsync.verify import Wanted


@dataclass(frozen=True)
class Target:
    """Which environment to look at, on which hosts, and what it should be."""

    hosts: Sequence[Host]
    name: str
    wanted: Wanted | None
    """None when only a name is known: then the nodes are just compared."""
    connecting: Connecting
    notices: Sequence[Notice]


def find_target(
    hosts: str | None,
    file: Path,
    name: str | None,
    connecting: Connecting,
    *,
    judging: bool = False,
) -> Target:
    """From the words given, or from what the last push from this folder left.

    Only with `judging` the environment that is wanted is read, which takes its time.
    """
    store = Store(file.parent)
    pending = _pending(store)
    if hosts is not None:
        return _named(hosts, file, name, connecting, pending)
    last = store.last_push()
    notices = list(pending)
    if judging and file.exists() and last.raw and file.read_bytes() != last.raw:
        notices.append(
            Notice("changed since the last push; comparing with what was pushed", str(file))
        )
    return Target(
        last.hosts,
        name or last.name,
        _wanted(last) if judging and name in (None, last.name) else None,
        connecting.or_remembered(dict(last.connection)),
        notices,
    )


def _wanted(last: LastPush) -> Wanted | None:
    if not last.raw:
        return None
    spec = parse_manifest(last.raw, last.source, last.name).spec
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


def _named(
    hosts: str, file: Path, name: str | None, connecting: Connecting, pending: Sequence[Notice]
) -> Target:
    inventory = read_inventory(hosts, sys.stdin)
    notices = [*pending, *inventory.warnings]
    if name is not None and not file.exists():
        return Target(inventory.hosts, name, None, connecting, notices)
    manifest = read_manifest(file, name)
    lock, why = lock_beside(manifest, file)
    if why:
        notices.append(Notice(f"not compared with: {why}", str(lock_file(file))))
    wanted = None if why else Wanted(manifest.spec, lock)
    notices += manifest.spec.notices
    return Target(inventory.hosts, manifest.spec.name, wanted, connecting, notices)
