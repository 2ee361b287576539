"""Hosts that Slurm knows: a partition's, a job's, those of the allocation around us."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence

from envsync.errors import InputError
from envsync.hostnames import fold_names
from envsync.inventory.nodeset import hosts_of
from envsync.inventory.reading import Inventory, Reading
from envsync.model import Notice
from envsync.slurmnodes import Ask, SlurmNode, job_nodes, slurm_nodes

_SCHEME = "slurm:"
_JOB = re.compile(r"job=([0-9]{1,10}(?:[_+][0-9]{1,10})?)")
_PARTITIONS = re.compile(r"[A-Za-z0-9_.-]+(?:,[A-Za-z0-9_.-]+)*")
_FORMS = "slurm:PARTITION, slurm:job=ID, or slurm: alone inside an allocation"


def is_slurm(word: str) -> bool:
    """Whether HOSTS is meant for Slurm."""
    return word.startswith(_SCHEME)


def job_of(word: str | None) -> str:
    """The job that HOSTS names; empty when it names none."""
    found = _JOB.fullmatch((word or "").removeprefix(_SCHEME)) if is_slurm(word or "") else None
    return found[1] if found else ""


def partition_named(word: str | None) -> str:
    """The one partition that HOSTS names; empty when it names none or several."""
    rest = (word or "").removeprefix(_SCHEME)
    named = is_slurm(word or "") and _PARTITIONS.fullmatch(rest) and "," not in rest
    return rest if named else ""


def read_slurm(word: str, ask: Ask, environ: Mapping[str, str]) -> Inventory:
    """The hosts of `slurm:...`; nodes of a partition that are out are left out, and told.

    Raises InputError for what Slurm does not know.
    """
    rest = word.removeprefix(_SCHEME)
    if not rest:
        return _unfolded([_around(environ)])
    if job := job_of(word):
        return _unfolded(job_nodes(ask, job))
    if not _PARTITIONS.fullmatch(rest):
        raise InputError(f"{word!r} is not understood", hint=f"write {_FORMS}")
    return _of_partitions(rest.split(","), slurm_nodes(ask))


def _around(environ: Mapping[str, str]) -> str:
    nodes = environ.get("SLURM_JOB_NODELIST") or environ.get("SLURM_NODELIST") or ""
    if not nodes:
        raise InputError(
            "this is not inside an allocation of Slurm ($SLURM_JOB_NODELIST is not set)",
            hint=f"write {_FORMS}",
        )
    return nodes


def _of_partitions(wanted: Sequence[str], nodes: Mapping[str, SlurmNode]) -> Inventory:
    known = dict.fromkeys(name for node in nodes.values() for name in node.partitions)
    for name in wanted:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=2)
            raise InputError(
                f"Slurm has no partition {name}",
                hint=f"did you mean {' or '.join(near)}?"
                if near
                else f"its partitions are {', '.join(known) or 'none'}",
            )
    mine = [node for node in nodes.values() if set(wanted) & set(node.partitions)]
    out = [node for node in mine if node.out]
    if len(out) == len(mine):
        raise InputError(
            f"no node of {', '.join(wanted)} is up: {_told(out)}",
            hint="name the nodes to try them all the same",
        )
    notices = [Notice(f"left out, since Slurm starts nothing there: {_told(out)}")] if out else []
    return _unfolded([node.name for node in mine if not node.out], notices)


def _told(nodes: Sequence[SlurmNode]) -> str:
    """The nodes with why they are out; those for the same reason together."""
    by_reason: dict[str, list[str]] = {}
    for node in nodes:
        by_reason.setdefault(node.out, []).append(node.name)
    return "; ".join(f"{fold_names(names)}: {why}" for why, names in by_reason.items())


def _unfolded(lists: Sequence[str], notices: Sequence[Notice] = ()) -> Inventory:
    reading = Reading("slurm")
    for names in lists:
        reading.add(hosts_of(names, reading.room, reading.wrong_in(0)), 0)
    made = reading.finish()
    return Inventory(made.hosts, (*notices, *made.warnings))
