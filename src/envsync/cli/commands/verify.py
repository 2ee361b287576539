"""envsync verify and envsync diff: look, compare, judge."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from envsync.cli.bundles import Where
from envsync.cli.options import FailOn
from envsync.cli.reporting import Reports
from envsync.cli.session import Session
from envsync.cli.target import find_target
from envsync.errors import ExitCode, InputError
from envsync.hostnames import resolve
from envsync.render import envelope, reading, screens
from envsync.rules import Level
from envsync.verify import judge, look_at_all


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


def diff(pair: tuple[str, str], where: Where, *, everything: bool, as_json: bool) -> int:
    """Probe two hosts and show what differs between them."""
    target = find_target(where)
    chosen = [resolve(target.hosts, word) for word in pair]
    if chosen[0] == chosen[1]:
        raise InputError(f"{pair[0]} and {pair[1]} are the same host", hint="name two hosts")
    session = Session("diff", chosen, target.connecting, target.store, as_json=as_json)
    with session:
        seen = look_at_all(session.fleet, chosen, target.name)
    rows = judge(seen, None).rows
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
