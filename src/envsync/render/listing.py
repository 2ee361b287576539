"""The tables of commands that look: findings, generations, histories, ways to hosts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from envsync.bootstrap import Provided
from envsync.judge import Finding
from envsync.model import Host
from envsync.observation import Switch
from envsync.ping import Pong
from envsync.prune import Kept, Pruned
from envsync.render.table import Fold, grouped, make, size
from envsync.report import Entry, HostReport

_EACH_BY_ITSELF = 20
"""Hosts up to which each is shown with its address; more are folded."""


def findings(found: Sequence[Finding], fold: Fold) -> Table:
    """One row for each thing that is wrong, with all nodes that have it."""
    table = make("nodes", "what is wrong", "what to do")
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


def measures(found: Mapping[Host, tuple[str, str, str]], fold: Fold) -> Table:
    """How each node's link to its neighbours is; one row a node, since no two are alike."""
    table = make("node", "rank", "latency", "bandwidth")
    for host, cells in found.items():
        table.add_row(fold([host]), *cells)
    return table


def generations(kept: Mapping[Host, Kept], fold: Fold) -> Table:
    """One row for each generation of a node, nodes with the same in one."""
    table = make("nodes", "generation", "state", "built", "size")
    cells: dict[tuple[str, ...], list[Host]] = {}
    for host, each in kept.items():
        for one in each.census.generations:
            row = (one.id, each.state(one.id), _when(one.built), size(one.size))
            cells.setdefault(row, []).append(host)
    for (name, state, built, size_), hosts in cells.items():
        table.add_row(fold(hosts), name, Text(state, "green"), built, size_)
    return table


def history(entries: Sequence[Entry]) -> Table:
    """What was done from a folder, one row each."""
    table = make("when", "who", "what", "environment", "lock", "hosts", "outcome")
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
    table = make("when", "who", "generation", "nodes")
    rows: dict[tuple[str, str, str], list[Host]] = {}
    for host, each in found.items():
        for one in each:
            rows.setdefault((_when(one.at), one.operator, one.generation), []).append(host)
    for row, hosts in sorted(rows.items()):
        table.add_row(*row, fold(hosts))
    return table


def pongs(found: Mapping[Host, Pong], fold: Fold) -> Table:
    """One row for all hosts that were reached alike; the time is the longest of them."""
    table = make("nodes", "address", "user", "login with", "host key", "through", "conda", "time")
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
    for cells, hosts in grouped(alike).items():
        longest = max(found[host].connecting + found[host].answering for host in hosts)
        table.add_row(fold(hosts), *cells, f"{longest:.2f} s")
    return table


def _short_key(key: str) -> str:
    """A fingerprint as far as it takes to tell keys apart."""
    return re.sub(r"(SHA256:\S{12})\S+", r"\1...", key) or "-"


def commands(found: Mapping[Host, str], fold: Fold) -> Table:
    """What to run to see a failure by hand."""
    table = make("nodes", "the same by hand")
    for host, command in found.items():
        table.add_row(fold([host]), command)
    return table


def pruned(done: Mapping[Host, Pruned], fold: Fold) -> Table:
    """One row for all nodes that lose the same."""
    table = make("nodes", "generations", "")
    for (names, why), hosts in grouped(
        {host: (each.generations, each.kept_for) for host, each in done.items()}
    ).items():
        table.add_row(fold(hosts), "\n".join(names) or "none", Text(why, "yellow"))
    return table


def provided(done: Mapping[Host, Provided], reports: Sequence[HostReport], fold: Fold) -> Table:
    """One row for all nodes that have the same conda now."""
    table = make("nodes", "result", "conda", "in", "installed with")
    nothing = Provided("")
    cells = {}
    for report in reports:
        each = done.get(report.host, nothing)
        result = f"failed: {report.failure.cause}" if report.failure else str(report.outcome or "")
        result += f" (shared with {fold([report.shares])})" if report.shares else ""
        cells[report.host] = (result, each.conda or "-", each.prefix or "-", each.installer or "-")
    for (result, *rest), hosts in grouped(cells).items():
        style = "red" if result.startswith("failed") else "green"
        table.add_row(fold(hosts), Text(result, style), *rest)
    return table


def settings(rows: Sequence[tuple[str, str, str]]) -> Table:
    """Key, value, and where that comes from."""
    table = make("key", "value", "from")
    for key, value, whence in rows:
        table.add_row(key, Text(value, "dim" if whence == "default" else ""), whence)
    return table


def _when(epoch: int | None) -> str:
    if epoch is None:
        return "not whole"
    return datetime.fromtimestamp(epoch, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
