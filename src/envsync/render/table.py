"""The tables that a person reads: equal nodes in one row, differences beside each other."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from rich import box
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from envsync.census import Process
from envsync.compare import ABSENT, BROKEN, Row
from envsync.facts import Facts
from envsync.model import Host
from envsync.report import HostReport

Fold = Callable[[Iterable[Host]], str]
"""Hosts to one short text: gpu01, gpu02, gpu03 to gpu[01-03]."""

Cells = TypeVar("Cells", bound=Hashable)

OUTPUT_LINES = 40
"""Lines of a failed host's output that are shown; the run's log has all of them."""

_FACTS = ("python", "torch", "built for", "cuda available")


def results(
    reports: Sequence[HostReport], fold: Fold, marks: Mapping[Host, str] | None = None
) -> Table:
    """One row for all nodes that ended alike and hold the same.

    `marks` are results that say more than a host's own end does.
    """
    marks = marks or {}
    table = make("nodes", "result", "python", "torch", "built for", "cuda", "packages")
    if not any(report.facts for report in reports):
        table = make("nodes", "result")
    width = len(table.columns)
    for cells, hosts in grouped(
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
        *(_short(runtime.get(name, ABSENT)) for name in _FACTS),
        f"{len(facts.conda)} conda, {len(facts.pip)} pip",
    )


def _short(value: str) -> str:
    """Without the reason, which is told with the findings."""
    return "broken" if value.startswith(BROKEN) else value


def failures(reports: Sequence[HostReport], fold: Fold) -> Table:
    """One row a cause: which nodes, what happened, what to do next."""
    table = make("nodes", "while", "what happened", "what to do")
    failed = {
        report.host: (report.failure.phase, report.failure.message, report.failure.hint)
        for report in reports
        if report.failure
    }
    for (phase, message, hint), hosts in grouped(failed).items():
        table.add_row(Text(fold(hosts), "red"), phase, Text(message), Text(hint))
    return table


def outputs(reports: Sequence[HostReport], fold: Fold, to: Console) -> None:
    """What failed hosts printed themselves; equal outputs once."""
    printed = {
        report.host: report.failure.output.strip()
        for report in reports
        if report.failure and report.failure.output.strip()
    }
    for output, hosts in grouped(printed).items():
        lines = output.splitlines()
        to.print(Text(f"{fold(hosts)} said:", "bold"))
        if len(lines) > OUTPUT_LINES:
            to.print(Text(f"  ... {len(lines) - OUTPUT_LINES} lines before ...", "dim"))
        # Not folded: a line must be found again by whoever searches for it.
        to.print(Text("".join(f"  {line}\n" for line in lines[-OUTPUT_LINES:])), soft_wrap=True)


def beside(
    rows: Sequence[Row], hosts: Sequence[Host], fold: Fold, more: Mapping[str, Sequence[str]]
) -> Table:
    """A column for each host, a row for each thing; `more` are columns that say something of it."""
    return _columns(rows, [[position] for position in range(len(hosts))], hosts, fold, more)


def differences(rows: Sequence[Row], hosts: Sequence[Host], fold: Fold) -> Table:
    """A column for each group of equal nodes, the largest first; a row for each difference."""
    columns: dict[tuple[str, ...], list[int]] = {}
    for position in range(len(hosts)):
        key = tuple(row.values[position] for row in rows)
        columns.setdefault(key, []).append(position)
    groups = sorted(columns.values(), key=len, reverse=True)
    return _columns(rows, groups, hosts, fold)


def _columns(
    rows: Sequence[Row],
    groups: Sequence[Sequence[int]],
    hosts: Sequence[Host],
    fold: Fold,
    more: Mapping[str, Sequence[str]] | None = None,
) -> Table:
    told = {title: texts for title, texts in (more or {}).items() if any(texts)}
    table = make("", "what", *(fold(hosts[i] for i in group) for group in groups), *told)
    title = ""
    for number, row in enumerate(rows):
        values = (_value(row, group[0]) for group in groups)
        cells = [Text(texts[number], "dim") for texts in told.values()]
        group_cell = Text("" if row.group == title else row.group, "dim")
        table.add_row(group_cell, row.name, *values, *cells)
        title = row.group
    return table


def _value(row: Row, position: int) -> Text:
    value = row.values[position]
    if not row.differs:
        return Text(value)
    return Text(_short(value), "bold" if value == row.majority else "bold red")


def processes(running: Mapping[Host, Sequence[Process]], fold: Fold) -> Table:
    """Who runs in which generation."""
    table = make("node", "pid", "user", "generation", "came", "command")
    for host, found in running.items():
        for one in found:
            came = Text("by the link", "yellow") if one.by_link else Text("")
            row = (fold([host]), str(one.pid), one.user, one.generation or "unknown")
            table.add_row(*row, came, Text(one.command))
    return table


def notes(reports: Sequence[HostReport], fold: Fold) -> Table:
    """What is worth knowing of hosts that go on."""
    table = make("nodes", "note")
    rows: dict[str, list[Host]] = {}
    for report in reports:
        for note in report.notes:
            rows.setdefault(note, []).append(report.host)
    for note, hosts in rows.items():
        table.add_row(fold(hosts), Text(note, "yellow"))
    return table


def size(count: int) -> str:
    """Bytes as a person reads them."""
    return str(decimal(count))


def grouped(cells: Mapping[Host, Cells]) -> Mapping[Cells, list[Host]]:
    """Hosts by equal cells, in the order in which each kind first appears."""
    groups: dict[Cells, list[Host]] = {}
    for host, key in cells.items():
        groups.setdefault(key, []).append(host)
    return groups


def make(*columns: str) -> Table:
    """An empty table, as all of them look."""
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
