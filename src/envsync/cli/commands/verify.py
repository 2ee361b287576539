"""envsync verify: look, compare, judge; once, or again and again."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.text import Text

from envsync.cli.bundles import Where
from envsync.cli.choices import FailOn, Launcher
from envsync.cli.reporting import Reports
from envsync.cli.session import Session
from envsync.cli.target import Target, chosen_of, find_target, read_wanted
from envsync.collective import Gathering, Request
from envsync.errors import ExitCode, InputError
from envsync.model import Host, Notice
from envsync.recipe import Wanted
from envsync.render import envelope, reading, screens, watching
from envsync.render.digest import digest
from envsync.report import HostReport
from envsync.rules import Level
from envsync.sight import Looks, Seen, look_at_all, reduce_over
from envsync.store import Store
from envsync.verify import Verdict, judge
from envsync.watch import Change, Look, changes, take
from envsync.witness import expected, witnesses


@dataclass(frozen=True)
class Looking:
    """How verify looks, and where it writes what it saw."""

    fail_on: FailOn
    looks: Looks
    every: int | None
    """Seconds from one look to the next; None: there is just one."""
    report_files: Sequence[Path]
    request: Request | None = None
    """An all-reduce over the nodes that answered."""


@dataclass(frozen=True)
class Sight:
    """What one look came to."""

    at: str
    """ISO 8601, in UTC."""
    verdict: Verdict
    reports: Sequence[HostReport]
    exit_code: ExitCode


def request_for(
    backend: str | None, interface: str | None, port: int | None, wait: int | None
) -> Request | None:
    """The all-reduce that was asked for. Raises InputError for words about none."""
    given = {"backend": backend, "interface": interface, "port": port, "wait": wait}
    words = {name: value for name, value in given.items() if value is not None}
    if backend is None and words:
        raise InputError(
            f"--{next(iter(words))} says how an all-reduce is to be run, and none is asked for",
            hint="add --collective gloo, or nccl",
        )
    return Request(**words) if words else None  # type: ignore[arg-type]  # typer's own kinds


def verify(where: Where, looking: Looking, *, as_json: bool) -> int:
    """Probe all hosts and say what is not as it should be."""
    files = Reports.named(looking.report_files)
    target = find_target(where, judging=True)
    session = Session("verify", target.hosts, target.connecting, target.store, as_json=as_json)
    reading.notices(session.out, target.notices)
    if looking.every is not None:
        return _watch(session, where, target, looking, files)
    with session:
        seen, gathering = _look(session, target, looking)
    sight = _judged(session, judge(seen, target.wanted, gathering), looking)
    return _told(session, target.name, looking, sight, files)


def verify_seen(where: Where, looking: Looking, reports: Sequence[Path], *, as_json: bool) -> int:
    """Judge what earlier runs have seen, each perhaps of one node, as if all had been asked now."""
    asking = where.prefix or looking.every or looking.request
    if asking or looking.looks.deep or looking.looks.numeric:
        raise InputError(
            "--seen asks no host, and an option says how to look at some",
            hint="leave --prefix, --deep, --numeric, --collective and --watch out",
        )
    files = Reports.named(looking.report_files)
    known, notes = witnesses(reports)
    store = Store(where.file.parent)
    known = expected(known, chosen_of(tuple(known), where, store))
    name = where.name or next(iter(known.values())).name
    wanted, notices = read_wanted(where, name)
    connecting = replace(
        where.connecting, launcher=Launcher.SSH
    )  # for nothing; it takes any number
    session = Session("verify", tuple(known), connecting, store, as_json=as_json)
    reading.notices(session.out, [*map(Notice, notes), *notices])
    with session:
        for each in known.values():
            for event in each.events:
                session.emit(event)
    seen = {host: each.seen for host, each in known.items() if each.seen}
    looks = Looks(
        wide=True,
        deep=any(each.files for each in seen.values()),
        numeric=any(each.numeric for each in seen.values()),
    )
    looking = replace(looking, looks=looks)
    return _told(session, name, looking, _judged(session, judge(seen, wanted), looking), files)


def _told(session: Session, name: str, looking: Looking, sight: Sight, files: Reports) -> int:
    screens.verified(session.out, name, sight.verdict, sight.reports, session.fold)
    result = _result(name, looking, sight)
    files.write(envelope.envelope_record("verify", sight.exit_code, result))
    return session.finish(sight.exit_code, result)


def _look(
    session: Session, target: Target, looking: Looking
) -> tuple[Mapping[Host, Seen], Gathering | None]:
    fleet, request = session.fleet, looking.request
    again, stay = looking.every is not None, request is not None
    seen = look_at_all(fleet, target.hosts, target.name, looking.looks, again=again, stay=stay)
    return seen, reduce_over(fleet, seen, request) if request else None


def _judged(session: Session, verdict: Verdict, looking: Looking) -> Sight:
    failing = {Level.ERROR, Level(looking.fail_on)}
    wrong = any(finding.level in failing for finding in verdict.findings)
    exit_code = ExitCode.DIFFERENT if session.failed or wrong else ExitCode.OK
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return Sight(at, verdict, session.reports, exit_code)


def _result(
    name: str, looking: Looking, sight: Sight, changed: Sequence[Change] | None = None
) -> dict[str, Any]:
    verdict = sight.verdict
    found = verdict.findings
    return {
        "name": name,
        "prefix": looking.looks.prefix or None,
        "at": sight.at,
        "fail_on": looking.fail_on,
        "generations": verdict.generations,
        "hosts": [envelope.host_record(report) for report in sight.reports],
        "findings": envelope.plain([each for each in found if each.level is Level.ERROR]),
        "remarks": envelope.plain([each for each in found if each.level is not Level.ERROR]),
        **_beyond(verdict, looking.looks),
        "not_in_lock": [str(host) for host in verdict.unknown],
        "differences": envelope.rows_record(
            [row for row in verdict.rows if row.differs], tuple(verdict.seen)
        ),
        "changes": None if changed is None else envelope.plain(list(changed)),
    }


def _beyond(verdict: Verdict, looks: Looks) -> dict[str, object]:
    """What only some runs look at; null where this one did not."""
    files = {str(host): envelope.plain(each.files) for host, each in verdict.seen.items()}
    numeric = {str(host): envelope.plain(each.numeric) for host, each in verdict.seen.items()}
    return {
        "files": files if looks.deep else None,
        "numeric": numeric if looks.numeric else None,
        "collective": envelope.plain(verdict.gathering),
        "checks": list(verdict.checks),
    }


class _Watcher:
    """Tells what each look has changed, on a terminal or in lines."""

    def __init__(self, session: Session, name: str, looking: Looking, files: Reports) -> None:
        self._session = session
        self._name = name
        self._looking = looking
        self._files = files
        self._before = Look()
        self._number = 0
        self._earlier: list[Text] = []

    def tell(self, sight: Sight) -> None:
        """Everything about one look: text, JSON, files."""
        self._number += 1
        now = take(self._before, sight.reports, sight.verdict.findings)
        changed = changes(self._before, now, sight.reports)
        self._before = now
        result = _result(self._name, self._looking, sight, changed)
        record = envelope.envelope_record("verify", sight.exit_code, result)
        summary = digest(record).headline
        self._files.write(record)  # first: who reads the line finds its report there
        self._show(sight, watching.Moment(self._number, sight.at, changed, summary))
        self._session.finish(sight.exit_code, result, on_one_line=True)

    def _show(self, sight: Sight, moment: watching.Moment) -> None:
        session = self._session
        if not session.out.is_terminal:
            watching.log(session.out, moment, session.fold)
            return

        def draw() -> None:
            screens.verified(session.out, self._name, sight.verdict, sight.reports, session.fold)

        if moment.number > 1:  # what there is at first is on the screen, and no change
            self._earlier += watching.lines(moment, session.fold)
        watching.screen(session.out, moment, self._earlier, self._looking.every or 0, draw)


def _watch(
    session: Session, where: Where, target: Target, looking: Looking, files: Reports
) -> ExitCode:
    """Look until ^C, or until the run's time is over; the exit code of the last whole look."""
    watcher = _Watcher(session, target.name, looking, files)
    exit_code = None
    try:
        with session:
            while True:
                began = time.monotonic()
                seen, gathering = _look(session, target, looking)
                if exit_code is not None and not _is_before(session.deadline):
                    return exit_code  # a look that was cut short says nothing of the hosts
                verdict = judge(seen, _wanted_now(where, target), gathering)
                sight = _judged(session, verdict, looking)
                with session.between_looks():
                    watcher.tell(sight)
                    exit_code = sight.exit_code
                    if not _wait(began + (looking.every or 0), session.deadline):
                        return exit_code
    except KeyboardInterrupt:
        if exit_code is None:
            raise
        return exit_code


def _wait(until: float, deadline: float | None) -> bool:
    """Wait, and say whether there is time for another look then."""
    last = until if deadline is None else min(until, deadline)
    time.sleep(max(0.0, last - time.monotonic()))
    return deadline is None or until < deadline


def _is_before(deadline: float | None) -> bool:
    return deadline is None or time.monotonic() < deadline


def _wanted_now(where: Where, target: Target) -> Wanted | None:
    """What the nodes should hold now: there may have been a push from this folder meanwhile."""
    if where.hosts is None:
        with contextlib.suppress(InputError):  # in the middle of being written
            now = find_target(where, judging=True)
            if (now.hosts, now.name) == (target.hosts, target.name):
                return now.wanted
    return target.wanted
