"""What the commands that look say when they are done, from the first line to the last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

from envsync.compare import Row
from envsync.judge import level_of, may_differ
from envsync.model import Host
from envsync.observation import Switch
from envsync.ping import Pong
from envsync.prune import Kept, Pruned
from envsync.ranks import measures
from envsync.render import listing, table
from envsync.render.ends import count_holding, count_nodes, troubles
from envsync.render.table import Fold
from envsync.report import Entry, HostReport
from envsync.rules import Level
from envsync.sides import jump
from envsync.verify import Verdict

_MOST_COMMANDS = 10
"""More of them are the same again."""


def history(to: Console, entries: Sequence[Entry]) -> None:
    """What was done from this folder."""
    to.print(listing.history(entries))


def histories(
    to: Console,
    found: Mapping[Host, Sequence[Switch]],
    reports: Sequence[HostReport],
    fold: Fold,
) -> None:
    """What became current on the nodes, by whom."""
    if found:
        to.print(listing.switches(found, fold))
    troubles(to, reports, fold)


def pinged(
    to: Console,
    pongs: Mapping[Host, Pong],
    commands: Mapping[Host, str],
    reports: Sequence[HostReport],
    fold: Fold,
) -> None:
    """How each node was reached, and what to look at for those that were not."""
    if pongs:
        to.print(listing.pongs(pongs, fold))
    troubles(to, reports, fold)
    if commands:
        to.print(listing.commands(dict(list(commands.items())[:_MOST_COMMANDS]), fold))
    said = f"{len(pongs)} of {count_nodes(len(reports))} answered."
    to.print(Text(said, "bold red" if commands else "bold green"))


def verified(
    to: Console,
    name: str,
    verdict: Verdict,
    reports: Sequence[HostReport],
    fold: Fold,
) -> None:
    """The nodes in groups of equals, the differences, and what is wrong where."""
    drift = [each for each in verdict.findings if each.drift]
    rest = [each for each in verdict.findings if not each.drift and each.level is not Level.INFO]
    rest.sort(key=lambda each: each.level is not Level.ERROR)
    warned = {each.host for each in rest if each.level is Level.WARNING}
    unfit = {each.host for each in rest if each.level is Level.ERROR}
    drifted = {each.host for each in drift}
    marks = dict.fromkeys(warned, "warned") | dict.fromkeys(unfit, "unfit")
    to.print(table.results(reports, fold, marks | dict.fromkeys(drifted, "drifted")))
    troubles(to, reports, fold)
    differing = [row for row in verdict.rows if row.differs]
    if differing:
        to.print(table.differences(differing, tuple(verdict.seen), fold))
    if drift:
        to.print(listing.findings(drift, fold))
    listing.remarks(rest, fold, to)
    if found := measures(verdict.gathering):
        to.print(listing.measures(found, fold))
    for said in verdict.checks:
        to.print(Text(said))
    if verdict.unknown:
        to.print(
            Text.assemble(
                ("note: ", "yellow"),
                f"the lock says nothing for the platform of {fold(verdict.unknown)}: compared with"
                " the others only; `envsync push` solves for it",
            )
        )
    failed = sum(report.failure is not None for report in reports)
    if not failed and not drifted and not unfit:
        alike = f"{count_holding(len(reports))} {name}, all alike"
        end = f"; {len(warned)} with warnings." if warned else "."
        to.print(Text(alike + end, "bold yellow" if warned else "bold green"))
        return
    parts = [f"{len(drifted)} drifted"] if drifted else []
    parts += [f"{len(unfit)} unfit"] if unfit else []
    parts += [f"{failed} could not be checked"] if failed else []
    of = f"of {count_nodes(len(reports))}"
    to.print(Text(f"{name}: {of} {' and '.join(parts)}.", "bold red"))


def counted(
    to: Console,
    name: str,
    kept: Mapping[Host, Kept],
    reports: Sequence[HostReport],
    fold: Fold,
) -> None:
    """The generations of each node, and the processes that run in them."""
    to.print(listing.generations(kept, fold))
    running = {host: each.census.processes for host, each in kept.items()}
    if any(running.values()):
        to.print(table.processes(running, fold))
    troubles(to, reports, fold)
    if kept and not any(each.census.generations for each in kept.values()):
        to.print(f"No node has a generation of {name}.")


def pruned(
    to: Console,
    done: Mapping[Host, Pruned],
    reports: Sequence[HostReport],
    fold: Fold,
    *,
    dry_run: bool,
) -> None:
    """What went, what stayed and why, and what it won."""
    to.print(listing.pruned(done, fold))
    troubles(to, reports, fold)
    count = sum(len(each.generations) for each in done.values())
    what = "1 generation" if count == 1 else f"{count} generations"
    if dry_run:
        to.print(Text(f"Nothing was removed; {what} would be.", "bold"))
    else:
        freed = table.size(sum(each.freed for each in done.values()))
        to.print(Text(f"{what} removed, {freed} won.", "bold"))


def diffed(
    to: Console,
    rows: Sequence[Row],
    hosts: Sequence[Host],
    reports: Sequence[HostReport],
    fold: Fold,
    *,
    everything: bool,
) -> None:
    """The rows that differ, or all of them; two columns."""
    troubles(to, reports, fold)
    if len(hosts) < 2:  # noqa: PLR2004 (a diff takes two)
        return
    shown = [row for row in rows if everything or row.differs]
    if shown:
        more = {
            "level": [level_of(row).value if row.differs else "" for row in shown],
            "jump": [jump(row).value for row in shown],
        }
        to.print(table.beside(shown, hosts, fold, more))
    rows = [row for row in rows if not may_differ(row)]
    differing = sum(row.differs for row in rows)
    names = " and ".join(fold([host]) for host in hosts)
    if differing:
        things = "1 thing differs" if differing == 1 else f"{differing} things differ"
        to.print(Text(f"{things} between {names}; {len(rows) - differing} are equal.", "bold red"))
    else:
        to.print(Text(f"{names} are equal in all {len(rows)} things.", "bold green"))
