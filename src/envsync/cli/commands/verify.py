"""envsync verify and envsync diff: look, compare, judge."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from envsync.cli.options import Connecting
from envsync.cli.session import Session
from envsync.errors import ExitCode, InputError
from envsync.generations import generation_id
from envsync.inventory import read_inventory, resolve
from envsync.model import Host, Notice
from envsync.render import envelope, screens
from envsync.spec import EnvironmentSpec, parse_environment, read_environment
from envsync.store import Store
from envsync.verify import judge, look_at_all


@dataclass(frozen=True)
class Target:
    """Which environment to look at, on which hosts, and what it should be."""

    hosts: Sequence[Host]
    name: str
    spec: EnvironmentSpec | None
    """None when only a name is known: then the nodes are just compared."""
    generation: str | None
    connecting: Connecting
    notices: Sequence[Notice]


def verify(
    hosts: str | None, file: Path, name: str | None, connecting: Connecting, *, as_json: bool
) -> int:
    """Probe all hosts and say what is not as it should be."""
    target = _target(hosts, file, name, connecting)
    session = Session("verify", target.hosts, target.connecting, None, as_json=as_json)
    screens.notices(session.out, target.notices)
    with session:
        seen = look_at_all(session.fleet, target.hosts, target.name, session.emit)
    verdict = judge(seen, target.spec, target.generation)
    exit_code = ExitCode.DIFFERENT if session.failed or verdict.findings else ExitCode.OK
    screens.verified(session.out, target.name, verdict, session.reports, session.fold)
    return session.finish(
        exit_code,
        {
            "name": target.name,
            "generation": target.generation,
            "hosts": [envelope.host_record(report) for report in session.reports],
            "findings": envelope.findings_record(verdict.findings),
            "differences": envelope.rows_record(
                [row for row in verdict.rows if row.differs], tuple(seen)
            ),
        },
    )


def diff(
    pair: tuple[str, str],
    hosts: str | None,
    file: Path,
    name: str | None,
    connecting: Connecting,
    *,
    everything: bool,
    as_json: bool,
) -> int:
    """Probe two hosts and show what differs between them."""
    target = _target(hosts, file, name, connecting)
    chosen = [resolve(target.hosts, word) for word in pair]
    if chosen[0] == chosen[1]:
        raise InputError(f"{pair[0]} and {pair[1]} are the same host", hint="name two hosts")
    session = Session("diff", chosen, target.connecting, None, as_json=as_json)
    with session:
        seen = look_at_all(session.fleet, chosen, target.name, session.emit)
    rows = judge(seen, None, None).rows
    differs = any(row.differs for row in rows)
    screens.diffed(
        session.out, rows, tuple(seen), session.reports, session.fold, everything=everything
    )
    return session.finish(
        ExitCode.DIFFERENT if session.failed or differs else ExitCode.OK,
        {
            "name": target.name,
            "hosts": [envelope.host_record(report) for report in session.reports],
            "rows": envelope.rows_record(
                [row for row in rows if everything or row.differs], tuple(seen)
            ),
        },
    )


def _target(hosts: str | None, file: Path, name: str | None, connecting: Connecting) -> Target:
    """From the words given, or from what the last push from this folder left."""
    if hosts is not None:
        return _named(hosts, file, name, connecting)
    last = Store(file.parent).last_push()
    spec = parse_environment(last.raw, last.source, last.name)
    notices = []
    if file.exists() and file.read_bytes() != last.raw:
        notices.append(
            Notice("changed since the last push; comparing with what was pushed", str(file))
        )
    return Target(
        last.hosts,
        name or last.name,
        spec if name in (None, last.name) else None,
        last.generation if name in (None, last.name) else None,
        connecting.or_remembered(dict(last.connection)),
        notices,
    )


def _named(hosts: str, file: Path, name: str | None, connecting: Connecting) -> Target:
    inventory = read_inventory(hosts, sys.stdin)
    if name is not None and not file.exists():
        return Target(inventory.hosts, name, None, None, connecting, inventory.warnings)
    spec = read_environment(file, name)
    return Target(
        inventory.hosts,
        spec.name,
        spec,
        generation_id(spec.raw),
        connecting,
        (*inventory.warnings, *spec.notices),
    )
