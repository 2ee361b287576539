"""What the commands that change nodes say when they are done, from the first line to the last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from rich.console import Console
from rich.text import Text

from envsync.bootstrap import Provided
from envsync.compare import Row
from envsync.events import Outcome
from envsync.lock import Lock
from envsync.model import Host
from envsync.parcels import megabytes
from envsync.push import Pushed
from envsync.render import listing, table
from envsync.render.ends import count_holding, count_nodes, host_notes, troubles
from envsync.render.table import Fold
from envsync.report import HostReport, Traffic, traffic
from envsync.rollback import RolledBack


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
    host_notes(to, reports, fold)
    if went := traffic(reports):
        to.print(_went(went))
    troubles(to, reports, fold)
    matter = [row for row in rows if row.differs]
    if matter:
        apart = "The nodes were solved each on its own and differ:"
        to.print(Text("The nodes differ:" if done.lock else apart, "bold"))
        to.print(table.differences(matter, tuple(done.facts), fold))
    to.print(_closing(name, done, reports, equal=not any(row.matters for row in matter)))


def _went(went: Traffic) -> str:
    handed = f"; nodes handed on {megabytes(went.handed_on)}" if went.handed_on else ""
    return f"This machine sent {megabytes(went.sent)} of packages{handed}."


def _closing(name: str, done: Pushed, reports: Sequence[HostReport], *, equal: bool) -> Text:
    failed = [report for report in reports if report.failure]
    untold = {None, Outcome.NEVER_INSTALLED}
    ended = [each for each in reports if each.outcome not in untold and not each.failure]
    good = [report for report in ended if report.outcome in _HOLD_IT]
    what = " ".join([name, *_in_brackets(done.generations)])
    if any(report.outcome in _INTENTIONS for report in ended):
        text = f"Nothing was changed. {count_nodes(len(ended))} would hold {what}."
    elif any(report.outcome in _NOT_SWITCHED for report in reports):
        text = f"{_none_switched(good)}, so that they stay alike: all switch, or none."
        ready = sum(report.outcome is Outcome.PREPARED for report in ended)
        text += f" {count_nodes(ready)} {'is' if ready == 1 else 'are'} prepared." if ready else ""
    elif not good:
        return Text(f"No node holds {what} by this push.", "bold red")
    elif all(report.outcome is Outcome.IN_SYNC for report in good):
        text = f"Already in sync: {count_nodes(len(good))} with {what}."
    else:
        equally = " and are equal" if equal and len(good) > 1 else ""
        text = f"{count_holding(len(good))} {what}{equally}."
    if failed:
        return Text(f"{text} {count_nodes(len(failed))} failed: see above.", "bold red")
    return Text(text, "bold green" if equal else "bold yellow")


def _none_switched(good: Sequence[HostReport]) -> str:
    switched = any(report.outcome in {Outcome.INSTALLED, Outcome.SWITCHED} for report in good)
    return "Some nodes were not switched" if switched else "No node was switched"


def _in_brackets(generations: Sequence[str]) -> list[str]:
    if not generations:
        return []
    word = "generation" if len(generations) == 1 else "generations"
    return [f"({word} {', '.join(generations)})"]


def push_outcome(reports: Sequence[HostReport]) -> str:
    """How a push or a rollback ended, in a few words for the log."""
    failed = [report for report in reports if report.failure]
    outcomes = Counter(str(each.outcome) for each in reports if each.outcome and not each.failure)
    parts = [f"{count} {outcome}" for outcome, count in outcomes.items()]
    parts += [f"{len(failed)} failed ({', '.join(sorted(_causes(failed)))})"] if failed else []
    return ", ".join(parts)


def _causes(failed: Sequence[HostReport]) -> set[str]:
    return {report.failure.cause for report in failed if report.failure}


_HOLD_IT = {Outcome.IN_SYNC, Outcome.INSTALLED, Outcome.SWITCHED}
_NOT_SWITCHED = {Outcome.PREPARED, Outcome.LEFT_ALONE}
_INTENTIONS = {Outcome.WOULD_INSTALL, Outcome.WOULD_SWITCH, Outcome.WOULD_SOLVE}


def interrupted(
    to: Console, reports: Sequence[HostReport], fold: Fold, decided: Collection[Host] = ()
) -> None:
    """Which hosts are where after a ^C; `decided` are those that were to switch."""
    switched = {
        report.host for report in reports if report.outcome in {Outcome.INSTALLED, Outcome.SWITCHED}
    }
    waiting = [host for host in decided if host not in switched]
    rest = [each.host for each in reports if each.host not in {*switched, *waiting}]
    if switched:
        to.print(f"Switched before the interruption: {fold(switched)}")
    if waiting:
        to.print(f"Decided, but not seen to have switched: {fold(waiting)}")
        to.print("`envsync resume` completes the switch, and so does a push.")
    if rest:
        to.print(f"Left as they were: {fold(rest)}")


def locked(
    to: Console, file: str, before: Lock, made: Lock, reports: Sequence[HostReport], fold: Fold
) -> None:
    """Which platforms were solved, and whether the file has changed."""
    to.print(table.results(reports, fold))
    host_notes(to, reports, fold)
    troubles(to, reports, fold)
    known = set(before.sections)
    for section in made.sections:
        how = "was there" if section in known else f"solved by {section.solver}"
        count = f"{len(section.conda)} conda, {len(section.pip) + len(section.direct)} pip"
        to.print(f"{section.platform}: {count} ({how})")
    failed = any(report.failure for report in reports)
    if not made.sections:
        to.print(Text("Nothing was solved, and nothing written.", "bold red"))
    elif made == before:
        to.print(Text(f"{file} is up to date.", "bold red" if failed else "bold green"))
    else:
        to.print(Text(f"{file} written.", "bold yellow" if failed else "bold green"))


def bootstrapped(
    to: Console, done: Mapping[Host, Provided], reports: Sequence[HostReport], fold: Fold
) -> None:
    """Which conda each host has now, where, and who installed it."""
    to.print(listing.provided(done, reports, fold))
    host_notes(to, reports, fold)
    troubles(to, reports, fold)
    counts = Counter(report.outcome for report in reports if report.outcome and not report.failure)
    said = ", ".join(f"{count_nodes(count)} {outcome}" for outcome, count in counts.items())
    failures = sum(report.failure is not None for report in reports)
    parts = ([said] if said else []) + (
        [f"{count_nodes(failures)} failed: see above"] if failures else []
    )
    to.print(Text(f"{'; '.join(parts)}.", "bold red" if failures else "bold green"))


def resumed(
    to: Console, name: str, done: Collection[Host], reports: Sequence[HostReport], fold: Fold
) -> None:
    """Which hosts have carried out what was decided."""
    to.print(table.results(reports, fold))
    troubles(to, reports, fold)
    missing = len(reports) - len(done)
    if missing:
        to.print(Text(f"{count_nodes(missing)} did not switch: see above.", "bold red"))
    else:
        to.print(
            Text(f"{count_nodes(len(done))} switched to what was decided for {name}.", "bold green")
        )


def rolled_back(
    to: Console, name: str, done: RolledBack, reports: Sequence[HostReport], fold: Fold
) -> None:
    """Which hosts are back, and why not where they are not."""
    to.print(table.results(reports, fold))
    troubles(to, reports, fold)
    switched = len(done.switched)
    if not done.origins:
        to.print(Text("No node was switched: all go back, or none.", "bold red"))
    elif switched < len(reports):
        rest = count_nodes(len(reports) - switched)
        to.print(Text(f"{rest} failed while switching: see above.", "bold red"))
    else:
        what = " ".join([name, *_in_brackets(tuple(done.origins))])
        to.print(Text(f"{count_holding(switched)} {what} again.", "bold green"))
