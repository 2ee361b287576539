"""envsync diff: two nodes, or files that say what is in one, beside each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from envsync.cli.bundles import Where
from envsync.cli.session import Session
from envsync.cli.target import find_target
from envsync.compare import RUNTIME, Row
from envsync.errors import ExitCode, InputError
from envsync.hostnames import resolve
from envsync.judge import MACHINE, VARIABLES, level_of, may_differ
from envsync.model import Host
from envsync.render import envelope, screens
from envsync.sides import Side, is_file, jump, read_side, side_rows
from envsync.sight import Looks, Seen, look_at_all
from envsync.store import Store

_WIDE = frozenset({RUNTIME, MACHINE, VARIABLES})
"""Groups for which nodes are asked for their wider facts, which takes longer."""


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
            wide = _wants_wide(files.values(), showing)
            seen = look_at_all(
                session.fleet, tuple(hosts.values()), name, Looks(wide=wide, prefix=where.prefix)
            )
    sides = [
        files.get(word) or _side_of(hosts[word], seen[hosts[word]])
        for word in pair
        if word in files or hosts[word] in seen
    ]
    rows = side_rows(sides[0], sides[1]) if len(sides) == len(pair) else ()
    return _show(session, name, [side.label for side in sides], rows, showing)


def _wants_wide(files: Iterable[Side], showing: Showing) -> bool:
    """Whether the wider facts of a node have anything to be compared with, and are shown."""
    return all(each.node for each in files) and (not showing.only or bool(_WIDE & {*showing.only}))


def _side_of(host: Host, seen: Seen) -> Side:
    return Side(str(host), facts=seen.facts, platform=seen.platform, node=True)


def _show(
    session: Session, name: str, labels: Sequence[str], found: Sequence[Row], showing: Showing
) -> int:
    rows = [
        row
        for row in found
        if (not showing.only or row.group in showing.only)
        and (showing.everything or not may_differ(row))
    ]
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
            "level": level_of(row),
        }
        for row in shown
    ]
    differs = any(row.differs and not may_differ(row) for row in rows)
    return session.finish(
        ExitCode.DIFFERENT if session.failed or differs else ExitCode.OK,
        {
            "name": name,
            "hosts": [envelope.host_record(report) for report in session.reports],
            "rows": records,
        },
    )
