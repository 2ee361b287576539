"""What was measured, as figures, as a table, and as a verdict."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from peers.contenders import OURS, YARDSTICK, Contender
from peers.measure import Run

NEAR = 1.15
"""How far envsync may be above the bare loop, as a ratio of times beyond the start."""

LINEAR = 1.1
"""How much longer a node may take among the most nodes than among the fewest."""


@dataclass(frozen=True)
class Result:
    """One contender on one number of nodes."""

    nodes: int
    runs: tuple[Run, ...]
    peak: int
    """Bytes, from a run of its own."""

    @property
    def wall(self) -> float:
        """Seconds, the median."""
        return statistics.median(run.wall for run in self.runs)

    @property
    def cpu_a_node(self) -> float:
        """Seconds of the client's CPU time, the median."""
        return statistics.median(run.cpu for run in self.runs) / (self.nodes or 1)


Results = Mapping[str, Mapping[int, Result | str]]
"""By contender and number of nodes; a text says why there is no figure."""


START = 0
"""The number of nodes of the runs that show what a contender's start takes."""


def growth(row: Mapping[int, Result | str]) -> float | None:
    """Time a node among the most nodes over that among the fewest; None for a single size."""
    measured = [row[count] for count in sorted(row) if count != START]
    if len(measured) < 2:  # noqa: PLR2004 (a growth needs two)
        return None
    few, many = measured[0], measured[-1]
    if isinstance(few, str) or isinstance(many, str):
        return None
    return (many.wall / many.nodes) / (few.wall / few.nodes)


def table(everyone: Sequence[Contender], results: Results, sizes: Sequence[int]) -> str:
    """The Markdown table, which reads well on a terminal too."""
    most = max(sizes)
    head = ["contender", "how", "start, s", *(f"{count} nodes, s" for count in sizes)]
    head += ["CPU a node, ms", "peak memory, MB", "growth"]
    rows = [head, ["---", "---", *["---:"] * (len(sizes) + 4)]]
    for each in everyone:
        row = results[each.name]
        last = row[most]
        tail = ["–", "–"]  # noqa: RUF001 (a dash where there is no figure)
        if isinstance(last, Result):
            tail = [f"{last.cpu_a_node * 1000:.1f}", f"{last.peak / 1e6:.0f}"]
        grown = growth(row)
        walls = (row[count] for count in (START, *sizes))
        figures = [wall if isinstance(wall, str) else f"{wall.wall:.2f}" for wall in walls]
        last_cell = "–" if grown is None else f"{grown:.2f}"  # noqa: RUF001
        rows.append([each.name, each.how, *figures, *tail, last_cell])
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    )


def verdict(results: Results, sizes: Sequence[int]) -> list[str]:
    """What is not as promised, a sentence each; nothing when all is well.

    What nodes take is compared without the start, which is the same for one node and for a
    thousand; on the most nodes whole runs are compared as well.
    """
    faults = []
    for count in sizes:
        ours = results.get(OURS, {}).get(count)
        if not isinstance(ours, Result):
            faults.append(f"{count} nodes: envsync gave no result ({ours})")
            continue
        for name, row in results.items():
            theirs = row[count]
            if name == OURS or isinstance(theirs, str):
                continue
            limit = NEAR if name == YARDSTICK else 1.0
            pairs = {"beyond the start": (_beyond(results[OURS], count), _beyond(row, count))}
            if count == max(sizes):
                pairs["in all"] = (ours.wall, theirs.wall)
            faults += [
                f"{count} nodes: {mine:.2f} s {what} is {mine / other:.2f} times the {other:.2f} s"
                f" of {name} (at most {limit})"
                for what, (mine, other) in pairs.items()
                if mine > limit * other
            ]
    grown = growth(results.get(OURS, {}))
    if grown is not None and grown > LINEAR:
        faults.append(
            f"a node takes {grown:.2f} times as long among {max(sizes)} as among {min(sizes)}"
            f" (at most {LINEAR})"
        )
    return faults


def _beyond(row: Mapping[int, Result | str], count: int) -> float:
    """Seconds that `count` nodes take once the contender has started."""
    start, whole = row[START], row[count]
    if isinstance(start, str) or isinstance(whole, str):
        raise TypeError(f"no figure: {start} {whole}")
    return whole.wall - start.wall
