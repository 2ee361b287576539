"""What each command says when it is done, from the first line to the last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.text import Text

from envsync.compare import Row
from envsync.events import Outcome, Phase
from envsync.lint import Finding as LintFinding
from envsync.model import Host, Notice
from envsync.prune import Kept, Pruned
from envsync.push import Pushed
from envsync.render import table
from envsync.render.table import Fold
from envsync.report import HostReport
from envsync.rollback import RolledBack
from envsync.verify import Verdict


def notices(to: Console, found: Iterable[Notice]) -> None:
    """What was read and is worth knowing, one line each."""
    for each in found:
        to.print(Text.assemble(("note: ", "yellow"), str(each)))


def pushed(
    to: Console,
    name: str,
    done: Pushed,
    rows: Sequence[Row],
    reports: Sequence[HostReport],
    fold: Fold,
) -> None:
    """The result of each host, what went wrong, what differs, and one closing line."""
    to.print(table.results(reports, fold))
    _troubles(to, reports, fold)
    matter = [row for row in rows if row.differs]
    if matter:
        to.print(Text("The nodes were solved each on its own and differ:", "bold"))
        to.print(table.differences(matter, tuple(done.facts), fold))
    to.print(_closing(name, done, reports, equal=not any(row.matters for row in matter)))


def _closing(name: str, done: Pushed, reports: Sequence[HostReport], *, equal: bool) -> Text:
    failed = [report for report in reports if report.failure]
    good = [report for report in reports if report.outcome and not report.failure]
    what = f"{name} (generation {done.generation})"
    if not good:
        return Text(f"No node holds {what} by this push.", "bold red")
    if all(report.outcome is Outcome.IN_SYNC for report in good):
        text = f"Already in sync: {_nodes(len(good))} with {what}."
    elif any(report.outcome in _INTENTIONS for report in good):
        text = f"Nothing was changed. {_nodes(len(good))} would hold {what}."
    else:
        equally = " and are equal" if equal and len(good) > 1 else ""
        text = f"{_hold(len(good))} {what}{equally}."
    if failed:
        return Text(f"{text} {_nodes(len(failed))} failed: see above.", "bold red")
    return Text(text, "bold green" if equal else "bold yellow")


_INTENTIONS = {Outcome.WOULD_INSTALL, Outcome.WOULD_SWITCH}


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"


def _hold(count: int) -> str:
    return "1 node holds" if count == 1 else f"{count} nodes hold"


def interrupted(to: Console, reports: Sequence[HostReport], fold: Fold) -> None:
    """Which hosts are where after a ^C."""
    switched = [
        report.host for report in reports if report.outcome in {Outcome.INSTALLED, Outcome.SWITCHED}
    ]
    in_doubt = [
        report.host for report in reports if report.phase is Phase.SWITCH and not report.over
    ]
    rest = [report.host for report in reports if report.host not in {*switched, *in_doubt}]
    if switched:
        to.print(f"Switched before the interruption: {fold(switched)}")
    if in_doubt:
        to.print(f"Were just switching, see `envsync verify`: {fold(in_doubt)}")
    if rest:
        to.print(f"Left as they were: {fold(rest)}")


def verified(
    to: Console,
    name: str,
    verdict: Verdict,
    reports: Sequence[HostReport],
    fold: Fold,
) -> None:
    """The nodes in groups of equals, the differences, and what is wrong where."""
    drifted = {finding.host for finding in verdict.findings}
    to.print(table.results(reports, fold, drifted))
    _troubles(to, reports, fold)
    differing = [row for row in verdict.rows if row.differs]
    if differing:
        to.print(table.differences(differing, tuple(verdict.seen), fold))
    if verdict.findings:
        to.print(table.findings(verdict.findings, fold))
    failed = sum(report.failure is not None for report in reports)
    if not failed and not drifted:
        to.print(Text(f"{_hold(len(reports))} {name}, all alike.", "bold green"))
        return
    parts = [f"{len(drifted)} drifted"] if drifted else []
    parts += [f"{failed} could not be checked"] if failed else []
    of = f"of {_nodes(len(reports))}"
    to.print(Text(f"{name}: {of} {' and '.join(parts)}.", "bold red"))


def rolled_back(
    to: Console, name: str, done: RolledBack, reports: Sequence[HostReport], fold: Fold
) -> None:
    """Which hosts are back, and why not where they are not."""
    to.print(table.results(reports, fold))
    _troubles(to, reports, fold)
    switched = sum(report.outcome is Outcome.SWITCHED for report in reports)
    if not done.generation:
        to.print(Text("No node was switched: all go back, or none.", "bold red"))
    elif switched < len(reports):
        rest = _nodes(len(reports) - switched)
        to.print(Text(f"{rest} failed while switching: see above.", "bold red"))
    else:
        to.print(
            Text(
                f"{_hold(switched)} {name} as it was (generation {done.generation}).", "bold green"
            )
        )


def counted(
    to: Console,
    name: str,
    kept: Mapping[Host, Kept],
    reports: Sequence[HostReport],
    fold: Fold,
) -> None:
    """The generations of each node, and the processes that run in them."""
    to.print(table.generations(kept, fold))
    if any(each.census.processes for each in kept.values()):
        to.print(table.processes(kept, fold))
    _troubles(to, reports, fold)
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
    to.print(table.pruned(done, fold))
    _troubles(to, reports, fold)
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
    _troubles(to, reports, fold)
    if len(hosts) < 2:  # noqa: PLR2004 (a diff takes two)
        return
    shown = [row for row in rows if everything or row.differs]
    if shown:
        to.print(table.beside(shown, hosts, fold))
    differing = sum(row.differs for row in rows)
    names = " and ".join(fold([host]) for host in hosts)
    if differing:
        things = "1 thing differs" if differing == 1 else f"{differing} things differ"
        to.print(Text(f"{things} between {names}; {len(rows) - differing} are equal.", "bold red"))
    else:
        to.print(Text(f"{names} are equal in all {len(rows)} things.", "bold green"))


def linted(to: Console, found: Sequence[LintFinding], source: str) -> None:
    for each in found:
        style = "red" if each.level == "error" else "yellow"
        where = f"{each.file}:{each.line}: " if each.line else f"{each.file}: "
        to.print(Text.assemble(where, (f"{each.level} {each.code} ", style), each.message))
        to.print(Text(f"    {each.hint}", "dim"))
    if not found:
        to.print(Text(f"{source}: nothing to complain about.", "bold green"))


def _troubles(to: Console, reports: Sequence[HostReport], fold: Fold) -> None:
    if any(report.failure for report in reports):
        to.print(table.failures(reports, fold))
        table.outputs(reports, fold, to)
