"""envsync verify and envsync diff: look, compare, judge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from envsync.cli.bundles import Where
from envsync.cli.options import FailOn
from envsync.cli.reporting import Reports
from envsync.cli.session import Session
from envsync.cli.target import find_target
from envsync.compare import Row
from envsync.errors import ExitCode, InputError
from envsync.hostnames import resolve
from envsync.model import Host
from envsync.render import envelope, reading, screens
from envsync.rules import Level
from envsync.sides import Side, is_file, jump, read_side, side_rows
from envsync.store import Store
from envsync.verify import Seen, judge, look_at_all


def verify(
    where: Where,
    fail_on: FailOn,
    *,
    deep: bool,
    as_json: bool,
    report_files: Sequence[Path] = (),
) -> int:
    """Probe all hosts and say what is not as it should be."""
    reports = Reports.named(report_files)
    target = find_target(where, judging=True)
    session = Session("verify", target.hosts, target.connecting, target.store, as_json=as_json)
    reading.notices(session.out, target.notices)
    with session:
        seen = look_at_all(session.fleet, target.hosts, target.name, wide=True, deep=deep)
    verdict = judge(seen, target.wanted)
    failing = {Level.ERROR, Level(fail_on)}
    found = verdict.findings
    wrong = any(finding.level in failing for finding in found)
    exit_code = ExitCode.DIFFERENT if session.failed or wrong else ExitCode.OK
    screens.verified(session.out, target.name, verdict, session.reports, session.fold)
    result = {
        "name": target.name,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "fail_on": fail_on,
        "generations": verdict.generations,
        "hosts": [envelope.host_record(report) for report in session.reports],
        "findings": envelope.plain([each for each in found if each.level is Level.ERROR]),
        "remarks": envelope.plain([each for each in found if each.level is not Level.ERROR]),
        "files": {str(host): envelope.plain(each.files) for host, each in seen.items()}
        if deep
        else None,
        "not_in_lock": [str(host) for host in verdict.unknown],
        "differences": envelope.rows_record(
            [row for row in verdict.rows if row.differs], tuple(seen)
        ),
    }
    reports.write(envelope.envelope_record("verify", exit_code, result))
    return session.finish(exit_code, result)


@dataclass(frozen=True)
class Showing:
    """What of a diff is shown."""

    everything: bool
    only: tuple[str, ...]
    """Groups; empty: all."""


def diff(pair: tuple[str, str], where: Where, showing: Showing, *, as_json: bool) -> int:
    """Show what differs between two nodes or files; only nodes that are named are asked."""
    files = {word: read_side(word) for word in pair if is_file(word)}
    words = [word for word in pair if word not in files]
    if words:
        target = find_target(where)
        hosts = {word: resolve(target.hosts, word) for word in words}
        name, connecting, store = target.name, target.connecting, target.store
    else:
        hosts, name, connecting = {}, where.name or "", where.connecting
        store = Store(where.file.parent)
    if pair[0] == pair[1] or (len(hosts) == len(pair) and len(set(hosts.values())) == 1):
        raise InputError(f"{pair[0]} and {pair[1]} are the same", hint="name two")
    session = Session("diff", tuple(hosts.values()), connecting, store, as_json=as_json)
    seen: Mapping[Host, Seen] = {}
    if hosts:
        with session:
            seen = look_at_all(session.fleet, tuple(hosts.values()), name)
    sides = [
        files.get(word) or _side_of(hosts[word], seen[hosts[word]])
        for word in pair
        if word in files or hosts[word] in seen
    ]
    rows = side_rows(sides[0], sides[1]) if len(sides) == len(pair) else ()
    return _show(session, name, [side.label for side in sides], rows, showing)


def _side_of(host: Host, seen: Seen) -> Side:
    return Side(str(host), facts=seen.facts, platform=seen.platform, node=True)


def _show(
    session: Session, name: str, labels: Sequence[str], found: Sequence[Row], showing: Showing
) -> int:
    rows = [row for row in found if not showing.only or row.group in showing.only]
    columns = tuple(Host(label) for label in labels)
    short = {str(host): session.fold([host]) for host in session.hosts}

    def fold(hosts: Iterable[Host]) -> str:
        return ",".join(short.get(str(host)) or short.get(host.name, host.name) for host in hosts)

    screens.diffed(session.out, rows, columns, session.reports, fold, everything=showing.everything)
    shown = [row for row in rows if showing.everything or row.differs]
    records = [
        {
            "group": row.group,
            "name": row.name,
            "matters": row.matters,
            "values": dict(zip(labels, row.values, strict=True)),
            "jump": jump(row),
        }
        for row in shown
    ]
    differs = any(row.differs for row in rows)
    return session.finish(
        ExitCode.DIFFERENT if session.failed or differs else ExitCode.OK,
        {
            "name": name,
            "hosts": [envelope.host_record(report) for report in session.reports],
            "rows": records,
        },
    )
