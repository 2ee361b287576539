"""verify and diff, the verbs: probe what is current on every node, then compare and judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from envsync.compare import RUNTIME, Row, compare
from envsync.errors import HostError
from envsync.events import Ended, EventSink, Outcome
from envsync.generations import Slot, contents
from envsync.model import Facts, Host
from envsync.observation import markers
from envsync.pins import unmet
from envsync.runner import Fleet, Node
from envsync.spec import EnvironmentSpec

REPAIR = "`envsync push` builds the node anew (`--rebuild` if it says in sync)"


@dataclass(frozen=True)
class Seen:
    """One node: its environment's facts, and which generation is current (None: not ours)."""

    facts: Facts
    generation: str | None
    subdir: str = ""
    """The node's platform, for requirements that depend on it."""


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it should be on one node."""

    host: Host
    cause: str
    message: str
    hint: str


@dataclass(frozen=True)
class Verdict:
    """What verify found. Rows and columns follow the order of `seen`."""

    seen: Mapping[Host, Seen]
    rows: tuple[Row, ...]
    findings: tuple[Finding, ...]

    @property
    def equal(self) -> bool:
        """True when no difference between the nodes matters."""
        return not any(row.matters for row in self.rows)


def look_at_all(
    fleet: Fleet, hosts: Sequence[Host], name: str, emit: EventSink
) -> Mapping[Host, Seen]:
    """Probe the environment `name` on every host; failures are events."""
    seen = fleet.each(hosts, lambda node: look(node, name))
    for host in seen:
        emit(Ended(host, Outcome.PROBED))
    return seen


def look(node: Node, name: str) -> Seen:
    """Probe what `name` is on this node now; raises HostError where there is no such thing."""
    there = node.observe(name)
    if there.conda is None or (there.link is None and there.plain is None):
        where = f"in {there.envs_dir}" if there.conda else "since there is no conda"
        raise HostError(
            "no-environment",
            f"there is no environment {name} {where}",
            hint="`envsync push` makes it",
        )
    facts = node.probe(Slot(there.envs_dir, name, "").link)
    return Seen(facts, there.current(name), there.subdir)


def judge(
    seen: Mapping[Host, Seen], spec: EnvironmentSpec | None, generation: str | None
) -> Verdict:
    """Compare the nodes with each other, with the file's pins and with the last push."""
    own = {
        host: [*_broken(host, each), *_pins(host, each, spec), *_link(host, each, generation)]
        for host, each in seen.items()
    }
    doubtful = [position for position, found in enumerate(own.values()) if found]
    rows = compare([each.facts for each in seen.values()], doubtful)
    odd = _odd_ones(seen, rows)
    findings = (
        finding
        for host, found in own.items()
        for finding in (*found, *(each for each in odd if each.host == host))
    )
    return Verdict(seen, rows, tuple(findings))


def _broken(host: Host, seen: Seen) -> list[Finding]:
    if not seen.facts.blind:
        return []
    message = f"python is {dict(seen.facts.runtime)['python']}"
    return [Finding(host, "broken", message, "`envsync push --rebuild` builds the node anew")]


def _odd_ones(seen: Mapping[Host, Seen], rows: Sequence[Row]) -> list[Finding]:
    hosts = tuple(seen)
    return [
        Finding(
            hosts[position],
            "differs",
            f"{row.name} is {row.values[position]}, on most nodes {row.majority}",
            REPAIR,
        )
        for row in rows
        if row.matters
        for position in row.odd
        # A Python that gives no answer is a finding of its own already.
        if row.group != RUNTIME or not seen[hosts[position]].facts.blind
    ]


def _pins(host: Host, seen: Seen, spec: EnvironmentSpec | None) -> list[Finding]:
    if spec is None:
        return []
    return [
        Finding(
            host,
            "unmet",
            f"{spec.source}:{lack.line} asks for {lack.text}, the node has"
            f" {lack.found or 'nothing of that name'}",
            REPAIR,
        )
        for lack in unmet(spec, seen.facts, markers(seen.subdir))
    ]


def _link(host: Host, seen: Seen, generation: str | None) -> list[Finding]:
    if generation is None or contents(seen.generation or "") == generation:
        return []
    return [
        Finding(
            host,
            "other-generation",
            f"its current environment is {seen.generation or 'not one of envsync'},"
            f" the last push made {generation}",
            "`envsync push` brings it back",
        )
    ]
