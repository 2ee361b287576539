"""What to do on which node: decided here from observations, with no side effects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from envsync.cuda import DRIVER_FLOORS, major_of
from envsync.flavours import Conda
from envsync.generations import PLAIN, Slot, contents, repair
from envsync.model import Host
from envsync.observation import Observation
from envsync.recipe import Recipe
from envsync.room import remark, shortage

LEAST_FREE = 8 * 2**20
"""Bytes: with less than this free no environment fits, and conda would only say so later."""


class Action(StrEnum):
    """What one host needs."""

    KEEP = "keep"
    """The generation is there and current."""
    SWITCH = "switch"
    """The generation is there, whole, but not current."""
    BUILD = "build"


@dataclass(frozen=True)
class Step:
    """One host's part of the plan."""

    host: Host
    action: Action
    slot: Slot
    conda: Conda
    subdir: str
    expected: str
    """Where the link points now; empty: there is none; PLAIN: an environment that is to be
    renamed aside. Checked again when it is moved."""
    recipe: Recipe
    remark: str = ""
    """What its user should know before it is carried out."""


@dataclass(frozen=True)
class Refusal:
    """A host on which nothing may or can be done, and the way out."""

    host: Host
    cause: str
    message: str
    hint: str


@dataclass(frozen=True)
class Plan:
    """All hosts, in the inventory's order, either with a step or with a refusal."""

    steps: tuple[Step, ...]
    refusals: tuple[Refusal, ...]

    @property
    def changes(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.action is not Action.KEEP)

    def shared(self, shares: Mapping[Host, Host]) -> Plan:
        """With the hosts that share the file system of another: what is done there counts."""
        own = {step.host: step for step in self.steps}
        more = (replace(own[owner], host=host) for host, owner in shares.items() if owner in own)
        return replace(self, steps=(*self.steps, *more))


def refusals(
    name: str, observations: Mapping[Host, Observation], *, replace_plain: bool = False
) -> tuple[Refusal, ...]:
    """The hosts on which nothing may or can be done, whatever is wanted of them.

    With `replace_plain` an environment that envsync did not make is no hindrance.
    """
    found = (_refuse(host, seen, name, replace_plain) for host, seen in observations.items())
    return tuple(each for each in found if each)


def make_plan(
    name: str,
    recipes: Mapping[Host, Recipe],
    observations: Mapping[Host, Observation],
    *,
    rebuild: bool = False,
    replace_plain: bool = False,
) -> Plan:
    """Decide for each observed host how it comes to hold what its recipe makes, as `name`.

    With `rebuild` what is there already does not count, whole as it may look. With
    `replace_plain` an environment that envsync did not make is renamed aside. A host that has
    no recipe, since nothing was solved for it, is left out.
    """
    if rebuild:
        observations = {host: _distrusted(seen) for host, seen in observations.items()}
    refused = refusals(name, observations, replace_plain=replace_plain)
    out = {no.host for no in refused}
    decisions = [
        _decide(host, seen, seen.conda, name, recipes[host])
        for host, seen in observations.items()
        if host in recipes and host not in out and seen.conda
    ]
    return Plan(
        steps=tuple(each for each in decisions if isinstance(each, Step)),
        refusals=(*refused, *(each for each in decisions if isinstance(each, Refusal))),
    )


class Standing(StrEnum):
    """What has become of an environment on a node since a push made it there."""

    IN_SYNC = "in sync"
    DRIFTED = "drifted"
    """Another generation is current, this one was changed by hand, or its link is gone."""
    NEVER = "never installed"


def standing(seen: Observation, name: str, recipe: Recipe | None) -> Standing:
    """How `name` stands on a node that is to hold `recipe`; None: nobody has solved for it.

    A node on which envsync never made that environment has nothing that could have drifted.
    """
    ours = seen.current(name) is not None or seen.sealed or seen.changed or seen.history
    if not ours:
        return Standing.NEVER
    current = seen.current(name)
    if recipe and current in seen.sealed and contents(current or "") == recipe.generation:
        return Standing.IN_SYNC
    return Standing.DRIFTED


def _distrusted(seen: Observation) -> Observation:
    return replace(seen, sealed=(), changed=(*seen.sealed, *seen.changed))


def _refuse(
    host: Host,
    seen: Observation,
    name: str,
    replace_plain: bool,  # noqa: FBT001 (private)
) -> Refusal | None:
    if seen.conda is None or not seen.subdir:
        return _unable(host, seen)
    foreign = seen.link is not None and seen.current(name) is None
    if foreign or (seen.plain and not replace_plain):
        return _not_ours(host, seen, name)
    return None


def _decide(
    host: Host, seen: Observation, conda: Conda, name: str, recipe: Recipe
) -> Step | Refusal:
    expected = PLAIN if seen.plain else seen.link or ""
    whole = [each for each in seen.sealed if contents(each) == recipe.generation]
    current = seen.current(name)
    if current in whole:
        action, chosen = Action.KEEP, current or recipe.generation
    elif whole:
        action, chosen = Action.SWITCH, whole[-1]
    elif seen.free_bytes is not None and seen.free_bytes < LEAST_FREE:
        return Refusal(
            host,
            "disk-full",
            f"only {seen.free_bytes / 2**20:.1f} MiB are free where {seen.envs_dir} lies",
            "make room there",
        )
    elif hindrance := _driver(host, seen, recipe) or _room(host, seen, recipe):
        return hindrance
    else:
        action, chosen = Action.BUILD, recipe.generation
        if chosen in seen.changed:
            chosen = repair(chosen, seen.changed)
    slot = Slot(seen.envs_dir, name, chosen)
    said = remark(seen, recipe.locked) if action is Action.BUILD and recipe.locked else ""
    return Step(host, action, slot, conda, seen.subdir, expected, recipe, said)


def _room(host: Host, seen: Observation, recipe: Recipe) -> Refusal | None:
    """A file system that certainly cannot hold what the lock would install."""
    lacking = shortage(seen, recipe.locked) if recipe.locked else ""
    hint = f"make room where {seen.envs_dir} lies (`envsync prune`, `conda clean --all`)"
    return Refusal(host, "disk-full", lacking, hint) if lacking else None


def _driver(host: Host, seen: Observation, recipe: Recipe) -> Refusal | None:
    """A driver that cannot run what the lock would install; a node without one runs on its CPU."""
    wanted = major_of(recipe.locked.packages) if recipe.locked else 0
    most = dict(seen.virtual_packages).get("__cuda", "")
    if not wanted or not most or int(most.partition(".")[0]) >= wanted:
        return None
    floor = DRIVER_FLOORS.get(wanted)
    return Refusal(
        host,
        "driver-too-old",
        f"the environment is for CUDA {wanted}, and its NVIDIA driver can do {most} at most",
        f"update the driver to {floor or 'one for that CUDA'} or newer, or ask for an older CUDA"
        f" (`cuda-version={most}`)",
    )


def notes(seen: Observation, name: str) -> tuple[str, ...]:
    """What somebody did to the environment's link by hand, since envsync moved it last."""
    if not seen.history or seen.plain:
        return ()
    last = seen.history[-1]
    if seen.link is None:
        return (f"the link {name} was removed by hand; {last.operator} had set it",)
    if seen.current(name) not in {None, last.generation}:
        return (
            f"the link {name} was moved by hand from {last.generation} to {seen.current(name)}",
        )
    return ()


def _unable(host: Host, seen: Observation) -> Refusal:
    if seen.conda is None:
        return Refusal(
            host,
            "no-conda",
            "no conda, mamba or micromamba was found",
            "`envsync bootstrap` installs one; or set CONDA_EXE in that user's login shell",
        )
    return Refusal(
        host,
        "no-platform",
        "conda has no packages for this system",
        "take the host out of the inventory",
    )


def _not_ours(host: Host, seen: Observation, name: str) -> Refusal:
    if seen.plain:
        return Refusal(
            host,
            "not-ours",
            f"{seen.plain} exists and was not made by envsync",
            "--replace renames it aside, and `envsync rollback` can bring it back; or choose"
            " another name with -n",
        )
    return Refusal(
        host,
        "not-ours",
        f"{seen.envs_dir}/{name} is a link to {seen.link}, not to a generation of envsync's",
        "remove or rename the link there, or choose another name with -n",
    )
