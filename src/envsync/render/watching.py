"""What a watch says at each look: a screen that is drawn anew, or lines with a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from envsync.model import Host
from envsync.render.table import Fold
from envsync.rules import Level
from envsync.watch import Change, Turn

KEPT = 12
"""Lines of what happened earlier that stay on the screen."""
_STYLES = {Turn.LOST: "red", Turn.BACK: "green", Turn.GONE: "green"}
_BY_LEVEL = {Level.ERROR: "red", Level.WARNING: "yellow", Level.INFO: "dim"}


@dataclass(frozen=True)
class Moment:
    """One look of a watch."""

    number: int
    """From 1."""
    at: str
    """ISO 8601, in UTC."""
    changes: Sequence[Change]
    summary: str


def lines(moment: Moment, fold: Fold) -> list[Text]:
    """A line for each change, hosts that changed alike in one; what is just worth knowing not."""
    groups: dict[tuple[Turn, Level, str], list[Host]] = {}
    for each in moment.changes:
        if each.level is not Level.INFO or each.turn is Turn.BACK:
            groups.setdefault((each.turn, each.level, each.message), []).append(each.host)
    return [
        Text.assemble(
            f"{moment.at} ",
            (f"{turn:8}", _STYLES.get(turn, _BY_LEVEL[level])),
            f"{fold(hosts)}: {message}",
        )
        for (turn, level, message), hosts in groups.items()
    ]


def log(to: Console, moment: Moment, fold: Fold) -> None:
    """For a file: what changed, and how it stands, each line with its time."""
    said = lines(moment, fold)
    for line in said:
        to.print(line, soft_wrap=True)
    end = "" if said or moment.number == 1 else "; no change"
    to.print(Text(f"{moment.at} {moment.summary}{end}"), soft_wrap=True)


def screen(
    to: Console,
    moment: Moment,
    earlier: Sequence[Text],
    every: int,
    draw: Callable[[], None],
) -> None:
    """For a terminal: how it stands, drawn by `draw`, with what has happened below it."""
    to.clear()
    to.print(Text(f"every {every} s, look {moment.number} at {moment.at}; ^C ends it", "dim"))
    draw()
    if earlier:
        to.print(Text("What changed:", "bold"))
        for line in earlier[-KEPT:]:
            to.print(line)
