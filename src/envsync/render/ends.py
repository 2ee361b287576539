"""What every command says in the end: how many nodes, what was noted, what went wrong."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from envsync.render import table
from envsync.render.table import Fold
from envsync.report import HostReport


def count_nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"


def count_holding(count: int) -> str:
    return "1 node holds" if count == 1 else f"{count} nodes hold"


def host_notes(to: Console, reports: Sequence[HostReport], fold: Fold) -> None:
    if any(report.notes for report in reports):
        to.print(table.notes(reports, fold))


def troubles(to: Console, reports: Sequence[HostReport], fold: Fold) -> None:
    running = {report.host: report.busy for report in reports if report.busy}
    if running:
        to.print(table.processes(running, fold))
    if any(report.failure for report in reports):
        to.print(table.failures(reports, fold))
        table.outputs(reports, fold, to)
