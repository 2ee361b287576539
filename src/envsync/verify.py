"""verify and diff, the verbs: probe what is current on every node, then compare and judge."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from envsync.altered import altered
from envsync.bits import computed, numeric_rows, unequal
from envsync.check import astray, say_astray
from envsync.collective import Gathering, Request, gather
from envsync.compare import ABSENT, RUNTIME, Row, compare
from envsync.errors import HostError
from envsync.events import Ended, Outcome, Phase
from envsync.generations import Slot, contents
from envsync.judge import BUILT_IN, DERIVED, Finding, say_odd, unfit, unlike, why, wide_rows
from envsync.model import Facts, Host, Platform
from envsync.node import Node
from envsync.observation import markers
from envsync.pins import unmet
from envsync.probes.deep import Files, deep_probe, parse_deep
from envsync.probes.numeric import Numeric, numeric_probe, parse_numeric
from envsync.ranks import collected, reduced
from envsync.recipe import Recipe, Wanted
from envsync.rules import Level
from envsync.runner import Fleet

_Other = tuple[str, Collection[int], Collection[str]]
"""A fact of torch, the nodes that differ in it, and the facts that differ with it."""

REPAIR = "`envsync push` builds the node anew (`--rebuild` if it says in sync)"


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


@dataclass(frozen=True)
class Verdict:
    """What verify found. Rows and columns follow the order of `seen`."""

    seen: Mapping[Host, Seen]
    rows: tuple[Row, ...]
    findings: tuple[Finding, ...]
    unknown: tuple[Host, ...] = ()
    """Nodes of a platform that the lock knows nothing of."""
    gathering: Gathering | None = None
    """The all-reduce over the nodes, if there was to be one."""

    @property
    def checks(self) -> tuple[str, ...]:
        """What the computation and the all-reduce came to, a sentence each."""
        numeric = computed({host: each.numeric for host, each in self.seen.items()})
        return tuple(filter(None, (numeric, reduced(self.gathering))))

    @property
    def generations(self) -> tuple[str, ...]:
        """What is current on the nodes: one for each platform where all is well."""
        return tuple(sorted({each.generation or "" for each in self.seen.values()} - {""}))

    @property
    def equal(self) -> bool:
        """True when no difference between the nodes matters."""
        return not any(row.matters for row in self.rows)


@dataclass(frozen=True)
class Looks:
    """What is looked at on every node besides its packages."""

    wide: bool = False
    """The machine as well, and torch more closely."""
    deep: bool = False
    """Every file."""
    numeric: bool = False
    """The bits of a computation."""


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
    there = node.observe(name)
    if there.conda is None or (there.link is None and there.plain is None):
        where = f"in {there.envs_dir}" if there.conda else "since there is no conda"
        raise HostError(
            "no-environment",
            f"there is no environment {name} {where}",
            hint="`envsync push` makes it",
        )
    prefix = Slot(there.envs_dir, name, "").link
    facts = node.probe(prefix, wide=looks.wide)
    files, numeric = None, None
    if looks.deep:
        done = node.run(Phase.PROBE, deep_probe(prefix, there.conda.root_prefix))
        files = parse_deep(done)
    if looks.numeric:
        numeric = parse_numeric(node.run(Phase.PROBE, numeric_probe(prefix)))
    return Seen(facts, there.current(name), there.platform, files, numeric)


def judge(
    seen: Mapping[Host, Seen], wanted: Wanted | None, gathering: Gathering | None = None
) -> Verdict:
    """Compare the nodes with each other, and with what was pushed to them."""
    recipes = {
        platform: wanted.recipe(platform) if wanted else None
        for platform in {each.platform for each in seen.values()}
    }
    own = {
        host: [
            *_broken(host, each),
            *_astray(host, each, recipes[each.platform]),
            *_pins(host, each, wanted, recipes[each.platform]),
            *_link(host, each, recipes[each.platform]),
            *altered(host, each.files),
        ]
        for host, each in seen.items()
    }
    facts = {host: each.facts for host, each in seen.items()}
    numeric = {host: each.numeric for host, each in seen.items()}
    for finding in (*unfit(facts), *unequal(numeric), *collected(gathering)):
        own[finding.host].append(finding)
    doubtful = [position for position, found in enumerate(own.values()) if any(map(_wrong, found))]
    rows = (*_all_rows(tuple(facts.values()), doubtful), *numeric_rows(tuple(numeric.values())))
    told = {(each.host, each.what) for found in own.values() for each in found if _wrong(each)}
    odd = [each for each in _odd_ones(seen, rows) if (each.host, each.what) not in told]
    machines = list(unlike(tuple(facts), rows)) if any(f.wide for f in facts.values()) else []
    findings = (
        finding
        for host, found in own.items()
        for finding in (*found, *(each for each in (*odd, *machines) if each.host == host))
    )
    unknown = [h for h, each in seen.items() if wanted and recipes[each.platform] is None]
    return Verdict(seen, rows, tuple(findings), tuple(unknown), gathering)


def _wrong(finding: Finding) -> bool:
    return finding.level is Level.ERROR


def _all_rows(facts: Sequence[Facts], doubtful: Sequence[int]) -> tuple[Row, ...]:
    """Torch and CUDA, then the machine, then packages: what is asked first stands first."""
    wide = [replace(row, doubtful=frozenset(doubtful)) for row in wide_rows(facts)]
    plain = compare(facts, doubtful)
    runtime = [row for row in (*plain, *wide) if row.group == RUNTIME]
    rest = (*(row for row in wide if row.group != RUNTIME), *plain)
    return (*runtime, *(row for row in rest if row.group != RUNTIME))


def _astray(host: Host, seen: Seen, recipe: Recipe | None) -> list[Finding]:
    """What is not as the lock has it: exact to the file, whatever other nodes have."""
    if recipe is None or recipe.locked is None:
        return []
    return [
        Finding(host, "not-locked", say_astray(row), REPAIR, row.name)
        for row in astray(recipe.locked, seen.facts)
    ]


def _broken(host: Host, seen: Seen) -> list[Finding]:
    if not seen.facts.blind:
        return []
    message = f"python is {dict(seen.facts.runtime)['python']}"
    return [Finding(host, "broken", message, "`envsync push --rebuild` builds the node anew")]


def _odd_ones(seen: Mapping[Host, Seen], rows: Sequence[Row]) -> list[Finding]:
    hosts = tuple(seen)
    runtime = {row.name: row.odd for row in rows if row.group == RUNTIME}
    others: tuple[_Other, ...] = (
        ("torch", runtime.get("torch", ()), DERIVED),
        ("built for", runtime.get("built for", ()), BUILT_IN),
    )
    return [
        Finding(
            hosts[position],
            "differs",
            say_odd(row, position),
            REPAIR,
            row.name,
            reason=why(row),
        )
        for row in rows
        if row.matters
        for position in row.odd
        if not _follows(row, position, seen[hosts[position]], others)
    ]


def _follows(row: Row, position: int, seen: Seen, others: Sequence[_Other]) -> bool:
    """Whether a difference follows from another that is a finding of its own already."""
    if row.group != RUNTIME:
        return False
    absent = row.values[position] == ABSENT
    return seen.facts.blind or any(
        position in nodes and row.name != fact and (absent or row.name in names)
        for fact, nodes, names in others
    )


def _pins(host: Host, seen: Seen, wanted: Wanted | None, recipe: Recipe | None) -> list[Finding]:
    if wanted is None or (recipe and recipe.locked):
        return []
    return [
        Finding(
            host,
            "unmet",
            f"{lack.file or wanted.spec.source}:{lack.line} asks for {lack.text}, the node has"
            f" {lack.found or 'nothing of that name'}",
            REPAIR,
        )
        for lack in unmet(wanted.spec, seen.facts, markers(seen.platform.subdir))
    ]


def _link(host: Host, seen: Seen, recipe: Recipe | None) -> list[Finding]:
    if recipe is None or contents(seen.generation or "") == recipe.generation:
        return []
    return [
        Finding(
            host,
            "other-generation",
            f"its current environment is {seen.generation or 'not one of envsync'},"
            f" the last push made {recipe.generation}",
            "`envsync push` brings it back",
        )
    ]
