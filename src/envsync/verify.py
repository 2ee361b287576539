"""verify, the verb: what was seen on all nodes, compared and judged. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from envsync.altered import altered
from envsync.bits import computed, numeric_rows, unequal
from envsync.check import astray, say_astray
from envsync.collective import Gathering
from envsync.compare import ABSENT, RUNTIME, Row, compare
from envsync.facts import Facts
from envsync.generations import contents
from envsync.judge import BUILT_IN, DERIVED, Finding, say_odd, unfit, unlike, why, wide_rows
from envsync.lock import Section
from envsync.model import Host
from envsync.observation import markers
from envsync.pins import unmet
from envsync.ranks import collected, reduced
from envsync.recipe import Recipe, Wanted
from envsync.rules import Level
from envsync.sight import Seen

_Other = tuple[str, Collection[int], Collection[str]]
"""A fact of torch, the nodes that differ in it, and the facts that differ with it."""

REPAIR = "`envsync push` builds the node anew (`--rebuild` if it says in sync)"
REMAKE = "make that environment anew from the lock, or its image with `envsync image`"


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


def judge(
    seen: Mapping[Host, Seen], wanted: Wanted | None, gathering: Gathering | None = None
) -> Verdict:
    """Compare the nodes with each other, and with what was pushed to them."""
    recipes = _recipes(seen, wanted)
    own = {
        host: [
            *_broken(host, each),
            *_astray(host, each, recipes[host]),
            *_pins(host, each, wanted, recipes[host]),
            *_link(host, each, wanted, recipes[host]),
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
        _with_repair(finding, seen[host])
        for host, found in own.items()
        for finding in (*found, *(each for each in (*odd, *machines) if each.host == host))
    )
    unknown = [h for h, each in seen.items() if wanted and not (each.by_prefix or recipes[h])]
    return Verdict(seen, rows, tuple(findings), tuple(unknown), gathering)


def _recipes(seen: Mapping[Host, Seen], wanted: Wanted | None) -> Mapping[Host, Recipe | None]:
    """What each node should have been made from, if that is known."""
    if wanted is None:
        return dict.fromkeys(seen)
    made = cache(wanted.recipe)
    like = cache(wanted.recipe_like)
    return {
        host: like(_likeliest(wanted, each)) if each.by_prefix else made(each.platform)
        for host, each in seen.items()
    }


def _likeliest(wanted: Wanted, seen: Seen) -> Section | None:
    """The section of the lock that an environment of unknown making comes nearest to.

    Which one it was made from is not on record: an image has another glibc than the nodes that
    the lock was solved for, and often no driver.
    """
    known = wanted.lock.sections if wanted.lock else ()
    fitting = [each for each in known if each.platform.subdir == seen.platform.subdir]
    return min(fitting, key=lambda each: len(astray(each, seen.facts)), default=None)


def _with_repair(finding: Finding, seen: Seen) -> Finding:
    """Envsync pushes over no environment that it did not make."""
    if seen.by_prefix and "`envsync push" in finding.hint:
        return replace(finding, hint=REMAKE)
    return finding


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


def _link(host: Host, seen: Seen, wanted: Wanted | None, recipe: Recipe | None) -> list[Finding]:
    if seen.by_prefix:
        return _unlocked(host, seen, wanted, recipe)
    if recipe is None or wanted is None or wanted.alone:
        return []
    if contents(seen.generation or "") == recipe.generation:
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


def _unlocked(
    host: Host, seen: Seen, wanted: Wanted | None, recipe: Recipe | None
) -> list[Finding]:
    """A lock that says nothing of an environment: with one node alone nothing were compared."""
    if recipe is not None or wanted is None:
        return []
    subdir = seen.platform.subdir or "this system"
    return [
        Finding(
            host,
            "not-locked",
            f"the lock has nothing for {subdir}",
            "name the lock that it was made from with -f",
        )
    ]
