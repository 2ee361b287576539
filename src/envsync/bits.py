"""Judges what the nodes computed: who would not give bit-equal results, and why. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from envsync.compare import ABSENT, Row
from envsync.judge import UNFIT, UNLIKE, Finding
from envsync.model import UNKNOWN, Host
from envsync.probes.numeric import Numeric
from envsync.rules import Level

NUMERIC = "numeric"
"""The group of the rows, and what the findings are about."""

_SHOWN = 6
"""Operations that a sentence names; the rows have all."""

_TOLD_ELSEWHERE = frozenset({"threads", "CPU", "CPU flags", "CPU kernels", "cuDNN", "GPUs"})
"""Settings whose difference alone is judged as a fact of torch and of the machine."""

_REASON = "Ranks that compute other bits drift apart, and no run can be repeated on other nodes."
_FLAG_REASON = "Other shapes than those that were tried may take other kernels by it."


def numeric_rows(answers: Sequence[Numeric | None]) -> tuple[Row, ...]:
    """A row for each operation; what a node did not compute is no difference."""
    return _rows(NUMERIC, [each.operations if each else {} for each in answers], UNKNOWN)


def _rows(group: str, tables: Sequence[Mapping[str, str]], absent: str) -> tuple[Row, ...]:
    names = dict.fromkeys(name for table in tables for name in table)
    return tuple(
        Row(group, name, tuple(t.get(name, absent) if t else UNKNOWN for t in tables), machine=True)
        for name in names
    )


def unequal(answers: Mapping[Host, Numeric | None]) -> list[Finding]:
    """One finding for each node that does not compute the same bits as most do, and the like."""
    given = tuple(answers.values())
    rows = [row for row in numeric_rows(given) if row.differs]
    settings = _rows("", [each.settings if each else {} for each in given], UNKNOWN)
    # No variable at all is an answer as well, which an empty table would not be.
    told = [{"": "", **each.variables} if each and each.settings else {} for each in given]
    variables = _rows("", told, ABSENT)
    found = []
    for position, (host, own) in enumerate(answers.items()):
        if own is not None:
            odd = [row.name for row in rows if position in row.odd]
            causes = list(_causes(position, (*settings, *variables)))
            flags = list(_causes(position, settings, _TOLD_ELSEWHERE)) if not odd else []
            found += [*_alone(host, own), *_beside(host, odd, len(own.operations), causes, flags)]
    return found


def _alone(host: Host, own: Numeric) -> Iterator[Finding]:
    """What is wrong with a node, or worth knowing, whatever the others computed."""
    if own.missing:
        message = "torch is not installed: nothing was computed"
        yield Finding(host, UNFIT, message, "", NUMERIC, Level.INFO)
    if own.failed:
        reason = "Whether it gives the same bits as the others is not known in full."
        hint = "run `envsync verify --numeric` again; see the node's load"
        yield Finding(host, UNFIT, own.failed, hint, NUMERIC, Level.WARNING, reason)
    if own.unequal_gpus:
        message = f"its GPUs do not agree among themselves in {_some(own.unequal_gpus)}"
        hint = "see whether they are of one kind; if so, test them (dcgmi diag -r 3)"
        yield Finding(host, UNFIT, message, hint, NUMERIC, Level.ERROR, _REASON)


def _beside(
    host: Host, odd: Sequence[str], count: int, causes: Sequence[str], flags: Sequence[str]
) -> Iterator[Finding]:
    if odd:
        verb = "gives" if len(odd) == 1 else "give"
        message = f"{len(odd)} of {count} operations {verb} other bits than on most nodes: "
        message += f"{_some(odd)}; "
        message += "; ".join(causes) if causes else "nothing that was looked at differs"
        hint = "set alike what differs, or train on nodes that are alike"
        if not causes:
            hint = "run it again; if the bits change, test the node's memory, processor and GPUs"
        yield Finding(host, UNLIKE, message, hint, NUMERIC, Level.ERROR, _REASON)
    for each in flags:
        message = f"{each}; what was computed is equal all the same"
        hint = "set it alike on all nodes"
        yield Finding(host, UNLIKE, message, hint, NUMERIC, Level.WARNING, _FLAG_REASON)


def _causes(
    position: int, rows: Iterable[Row], but: Collection[str] = frozenset()
) -> Iterator[str]:
    """What is other on this node than on most, with both values."""
    for row in rows:
        if row.differs and position in row.odd and row.name not in but:
            if row.name == "CPU flags":
                yield _flags(row.values[position], row.majority)
            else:
                here, usual = map(_said, (row.values[position], row.majority))
                yield f"{row.name} is {here}, on most nodes {usual}"


def _flags(here: str, usual: str) -> str:
    """Only those that make the difference: there are dozens."""
    mine, theirs = set(here.split()), set(usual.split())
    parts = [f"lacks {' '.join(sorted(theirs - mine))}"] if theirs - mine else []
    parts += [f"has also {' '.join(sorted(mine - theirs))}"] if mine - theirs else []
    return f"its CPU {' and '.join(parts)}"


def _said(value: str) -> str:
    return "not set" if value == ABSENT else value


def _some(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def computed(answers: Mapping[Host, Numeric | None]) -> str:
    """What it came to, as one sentence; empty if nobody was asked."""
    given = [each for each in answers.values() if each is not None]
    able = [each for each in given if each.operations]
    if not given:
        return ""
    if not able:
        return "numeric: nothing was computed, since no node has a torch that works"
    rows = numeric_rows(able)
    differing = sum(row.differs for row in rows)
    nodes = "1 node" if len(able) == 1 else f"{len(able)} nodes"
    if differing:
        return (
            f"numeric: {differing} of {len(rows)} operations do not give the same bits on {nodes}"
        )
    return f"numeric: all {len(rows)} operations give the same bits on {nodes}"
