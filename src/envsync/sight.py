"""What verify, diff and export ask of a node: an environment, by its name or by its path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from envsync.collective import Gathering, Request, gather
from envsync.errors import HostError
from envsync.events import Ended, Outcome, Phase
from envsync.facts import Facts
from envsync.generations import Slot
from envsync.model import Host, Platform
from envsync.node import Node
from envsync.observation import Observation
from envsync.probes.deep import Files, deep_probe, parse_deep
from envsync.probes.numeric import Numeric, numeric_probe, parse_numeric
from envsync.runner import Fleet
from envsync.survey import observe, probe


@dataclass(frozen=True)
class Seen:
    """One node: its environment's facts, and which generation is current (None: not ours)."""

    facts: Facts
    generation: str | None
    platform: Platform
    files: Files | None = None
    """Its files beside what was recorded of them, if they were looked at."""
    numeric: Numeric | None = None
    """What it computed, if it was asked to."""
    by_prefix: bool = False
    """It was looked at by its path: whoever made it, it need not be a generation."""


@dataclass(frozen=True)
class Looks:
    """What is looked at on every node besides its packages."""

    wide: bool = False
    """The machine as well, and torch more closely."""
    deep: bool = False
    """Every file."""
    numeric: bool = False
    """The bits of a computation."""
    prefix: str = ""
    """Where the environment is, by its path on the nodes; empty: where envsync puts it."""


def look_at_all(
    fleet: Fleet,
    hosts: Sequence[Host],
    name: str,
    looks: Looks = Looks(),
    *,
    again: bool = False,
    stay: bool = False,
) -> Mapping[Host, Seen]:
    """Probe the environment `name` on every host; failures are events.

    Where there will be another look, `again`, the connections are kept. So they are with `stay`:
    something follows, and no host's end is said yet.
    """
    seen = fleet.each(
        hosts, lambda node: look(node, name, looks), last=not (again or stay), renew=again
    )
    if not stay:
        _end(fleet, seen)
    return seen


def _end(fleet: Fleet, hosts: Iterable[Host]) -> None:
    for host in hosts:
        fleet.emit(Ended(host, Outcome.PROBED))


def reduce_over(fleet: Fleet, seen: Mapping[Host, Seen], request: Request) -> Gathering:
    """Let the nodes that were looked at run an all-reduce, and say their end."""
    prefixes = {host: each.facts.prefix for host, each in seen.items()}
    known = {host: each.facts.wide for host, each in seen.items()}
    gathering = gather(fleet, prefixes, known, request)
    _end(fleet, seen)
    return gathering


def look(node: Node, name: str, looks: Looks = Looks()) -> Seen:
    """Probe what `name` is on this node now; raises HostError where there is no such thing."""
    there = observe(node, name)
    prefix = looks.prefix or _own_prefix(there, name)
    facts = _probe(node, prefix, looks)
    files, numeric = None, None
    if looks.deep:
        root = there.conda.root_prefix if there.conda else ""
        files = parse_deep(node.run(Phase.PROBE, deep_probe(prefix, root)))
    if looks.numeric:
        numeric = parse_numeric(node.run(Phase.PROBE, numeric_probe(prefix)))
    generation = None if looks.prefix else there.current(name)
    return Seen(facts, generation, there.platform, files, numeric, bool(looks.prefix))


def _probe(node: Node, prefix: str, looks: Looks) -> Facts:
    try:
        return probe(node, prefix, wide=looks.wide)
    except HostError as error:
        if looks.prefix and error.cause == "no-environment":
            error.hint = "is that the path there, is its volume mounted, and may you read it?"
        raise


def _own_prefix(there: Observation, name: str) -> str:
    if there.conda is None or (there.link is None and there.plain is None):
        where = f"in {there.envs_dir}" if there.conda else "since there is no conda"
        raise HostError(
            "no-environment",
            f"there is no environment {name} {where}",
            hint="`envsync push` makes it; --prefix looks at one that envsync did not make",
        )
    return Slot(there.envs_dir, name, "").link
