"""The tables that a person reads: equal nodes in one row, differences beside each other."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import TypeVar

from rich import box
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from envsync.census import Process
from envsync.compare import ABSENT, Row
from envsync.judge import Finding
from envsync.model import Facts, Host
from envsync.observation import Switch
from envsync.ping import Pong
from envsync.prune import Kept, Pruned
from envsync.report import Entry, HostReport

Fold = Callable[[Iterable[Host]], str]
"""Hosts to one short text: gpu01, gpu02, gpu03 to gpu[01-03]."""

Cells = TypeVar("Cells", bound=Hashable)

OUTPUT_LINES = 40
"""Lines of a failed host's output that are shown; the run's log has all of them."""

_EACH_BY_ITSELF = 20
"""Hosts up to which each is shown with its address; more are folded."""

_FACTS = ("python", "torch", "built for", "cuda available")


def results(
    reports: Sequence[HostReport], fold: Fold, marks: Mapping[Host, str] | None = None
) -> Table:
    """One row for all nodes that ended alike and hold the same.

    `marks` are results that say more than a host's own end does.
    """
    marks = marks or {}
    table = _table("nodes", "result", "python", "torch", "built for", "cuda", "packages")
    if not any(report.facts for report in reports):
        table = _table("nodes", "result")
    width = len(table.columns)
    for cells, hosts in _grouped(
        {report.host: _cells(report, marks.get(report.host, ""), fold) for report in reports}
    ).items():
        result, *rest = cells[: width - 1]
        table.add_row(fold(hosts), Text(result, _style(result)), *rest)
    return table


def _style(result: str) -> str:
    if result.startswith(("failed", "drifted", "unfit")):
        return "red"
    return "yellow" if result.startswith(("prepared", "left alone", "warned")) else "green"


def _cells(report: HostReport, mark: str, fold: Fold) -> tuple[str, ...]:
    failure = report.failure
    result = f"failed: {failure.cause}" if failure else str(report.outcome or "")
    result = mark or result
    if report.shares:
        result += f" (shared with {fold([report.shares])})"
    if report.facts is None:
        return (result, *[""] * 5)
    return (result, *_summary(report.facts))


def _summary(facts: Facts) -> tuple[str, ...]:
    runtime = dict(facts.runtime)
    return (
        *(runtime.get(name, ABSENT) for name in _FACTS),
        f"{len(facts.conda)} conda, {len(facts.pip)} pip",
    )


def failures(reports: Sequence[HostReport], fold: Fold) -> Table:
    """One row a cause: which nodes, what happened, what to do next."""
    table = _table("nodes", "while", "what happened", "what to do")
    failed = {
        report.host: (report.failure.phase, report.failure.message, report.failure.hint)
        for report in reports
        if report.failure
    }
    for (phase, message, hint), hosts in _grouped(failed).items():
        table.add_row(Text(fold(hosts), "red"), phase, Text(message), Text(hint))
    return table


def outputs(reports: Sequence[HostReport], fold: Fold, to: Console) -> None:
    """What failed hosts printed themselves; equal outputs once."""
    printed = {
        report.host: report.failure.output.strip()
        for report in reports
        if report.failure and report.failure.output.strip()
    }
    for output, hosts in _grouped(printed).items():
        lines = output.splitlines()
        to.print(Text(f"{fold(hosts)} said:", "bold"))
        if len(lines) > OUTPUT_LINES:
            to.print(Text(f"  ... {len(lines) - OUTPUT_LINES} lines before ...", "dim"))
        # Not folded: a line must be found again by whoever searches for it.
        to.print(Text("".join(f"  {line}\n" for line in lines[-OUTPUT_LINES:])), soft_wrap=True)


def beside(rows: Sequence[Row], hosts: Sequence[Host], fold: Fold) -> Table:
    """A column for each host, a row for each thing."""
    return _columns(rows, [[position] for position in range(len(hosts))], hosts, fold)


def differences(rows: Sequence[Row], hosts: Sequence[Host], fold: Fold) -> Table:
    """A column for each group of equal nodes, the largest first; a row for each difference."""
    columns: dict[tuple[str, ...], list[int]] = {}
    for position in range(len(hosts)):
        key = tuple(row.values[position] for row in rows)
        columns.setdefault(key, []).append(position)
    groups = sorted(columns.values(), key=len, reverse=True)
    return _columns(rows, groups, hosts, fold)


def _columns(
    rows: Sequence[Row], groups: Sequence[Sequence[int]], hosts: Sequence[Host], fold: Fold
) -> Table:
    table = _table("", "what", *(fold(hosts[i] for i in group) for group in groups))
    for title, block in groupby(rows, key=lambda row: row.group):
        for number, row in enumerate(block):
            values = (_value(row, group[0]) for group in groups)
            table.add_row(Text("" if number else title, "dim"), row.name, *values)
    return table


def _value(row: Row, position: int) -> Text:
    value = row.values[position]
    if not row.differs:
        return Text(value)
    return Text(value, "bold" if value == row.majority else "bold red")


def findings(found: Sequence[Finding], fold: Fold) -> Table:
    """One row for each thing that is wrong, with all nodes that have it."""
    table = _table("nodes", "what is wrong", "what to do")
    grouped: dict[tuple[str, str], list[Host]] = {}
    for each in found:
        grouped.setdefault((each.message, each.hint), []).append(each.host)
    for (message, hint), hosts in grouped.items():
        table.add_row(Text(fold(hosts), "red"), Text(message), Text(hint))
    return table


def remarks(found: Sequence[Finding], fold: Fold, to: Console) -> None:
    """What the machines are unfit for, as lines: level, nodes, what, and below it why."""
    grouped: dict[tuple[str, str, str, str], list[Host]] = {}
    for each in found:
        key = (each.level.value, each.message, each.reason, each.hint)
        grouped.setdefault(key, []).append(each.host)
    for (level, message, reason, hint), hosts in grouped.items():
        style = "red" if level == "error" else "yellow"
        # Not folded: a path must be found again by whoever searches for it.
        to.print(Text.assemble((level, style), f"  {fold(hosts)}: {message}"), soft_wrap=True)
        to.print(Text(f"    {reason} To do: {hint}.", "dim"), soft_wrap=True)


def generations(kept: Mapping[Host, Kept], fold: Fold) -> Table:
    """One row for each generation of a node, nodes with the same in one."""
    table = _table("nodes", "generation", "state", "built", "size")
    cells: dict[tuple[str, ...], list[Host]] = {}
    for host, each in kept.items():
        for one in each.census.generations:
            row = (one.id, each.state(one.id), _when(one.built), size(one.size))
            cells.setdefault(row, []).append(host)
    for (name, state, built, size_), hosts in cells.items():
        table.add_row(fold(hosts), name, Text(state, "green"), built, size_)
    return table


def processes(running: Mapping[Host, Sequence[Process]], fold: Fold) -> Table:
    """Who runs in which generation."""
    table = _table("node", "pid", "user", "generation", "came", "command")
    for host, found in running.items():
        for one in found:
            came = Text("by the link", "yellow") if one.by_link else Text("")
            row = (fold([host]), str(one.pid), one.user, one.generation or "unknown")
            table.add_row(*row, came, Text(one.command))
    return table


def history(entries: Sequence[Entry]) -> Table:
    """What was done from a folder, one row each."""
    table = _table("when", "who", "what", "environment", "lock", "hosts", "outcome")
    for each in entries:
        table.add_row(
            each.at.replace("T", " "),
            each.operator,
            each.command,
            f"{each.name} {', '.join(each.generations)}",
            each.lock.removeprefix("sha256:")[:12],
            each.hosts,
            Text(each.outcome, "red" if "failed" in each.outcome else "green"),
        )
    return table


def switches(found: Mapping[Host, Sequence[Switch]], fold: Fold) -> Table:
    """What became current on which nodes; the same at the same minute in one row."""
    table = _table("when", "who", "generation", "nodes")
    rows: dict[tuple[str, str, str], list[Host]] = {}
    for host, each in found.items():
        for one in each:
            rows.setdefault((_when(one.at), one.operator, one.generation), []).append(host)
    for row, hosts in sorted(rows.items()):
        table.add_row(*row, fold(hosts))
    return table


def pongs(found: Mapping[Host, Pong], fold: Fold) -> Table:
    """One row for all hosts that were reached alike; the time is the longest of them."""
    table = _table("nodes", "address", "user", "login with", "host key", "through", "conda", "time")
    alike = {
        host: (
            each.reached.address if len(found) <= _EACH_BY_ITSELF else "",
            each.reached.user,
            _short_key(each.reached.key),
            _short_key(each.reached.host_key)
            if len(found) <= _EACH_BY_ITSELF
            else each.reached.host_key.partition(" ")[0],
            ", ".join(each.reached.through) or "-",
            str(each.conda or "none found"),
        )
        for host, each in found.items()
    }
    for cells, hosts in _grouped(alike).items():
        longest = max(found[host].connecting + found[host].answering for host in hosts)
        table.add_row(fold(hosts), *cells, f"{longest:.2f} s")
    return table


def _short_key(key: str) -> str:
    """A fingerprint as far as it takes to tell keys apart."""
    return re.sub(r"(SHA256:\S{12})\S+", r"\1...", key) or "-"


def commands(found: Mapping[Host, str], fold: Fold) -> Table:
    """What to run to see a failure in ssh itself."""
    table = _table("nodes", "the same in ssh")
    for host, command in found.items():
        table.add_row(fold([host]), command)
    return table


def notes(reports: Sequence[HostReport], fold: Fold) -> Table:
    """What is worth knowing of hosts that go on."""
    table = _table("nodes", "note")
    rows: dict[str, list[Host]] = {}
    for report in reports:
        for note in report.notes:
            rows.setdefault(note, []).append(report.host)
    for note, hosts in rows.items():
        table.add_row(fold(hosts), Text(note, "yellow"))
    return table


def pruned(done: Mapping[Host, Pruned], fold: Fold) -> Table:
    """One row for all nodes that lose the same."""
    table = _table("nodes", "generations", "")
    for (names, why), hosts in _grouped(
        {host: (each.generations, each.kept_for) for host, each in done.items()}
    ).items():
        table.add_row(fold(hosts), "\n".join(names) or "none", Text(why, "yellow"))
    return table


def size(count: int) -> str:
    """Bytes as a person reads them."""
    return str(decimal(count))


def _when(epoch: int | None) -> str:
    if epoch is None:
        return "not whole"
    return datetime.fromtimestamp(epoch, UTC).astimezone().strftime("%Y-%m-%d %H:%M")


def _grouped(cells: Mapping[Host, Cells]) -> Mapping[Cells, list[Host]]:
    """Hosts by equal cells, in the order in which each kind first appears."""
    groups: dict[Cells, list[Host]] = {}
    for host, key in cells.items():
        groups.setdefault(key, []).append(host)
    return groups


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
