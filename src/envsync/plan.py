"""What to do on which node: decided here from observations, with no side effects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from envsync.flavours import Conda
from envsync.generations import Slot, contents, repair
from envsync.model import Host
from envsync.observation import Observation

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
    """Where the link points now; empty: there is none. Checked again when it is moved."""


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


def make_plan(
    name: str,
    generation: str,
    observations: Mapping[Host, Observation],
    *,
    rebuild: bool = False,
) -> Plan:
    """Decide for each observed host how it comes to hold `generation` as `name`.

    With `rebuild` what is there already does not count, whole as it may look.
    """
    if rebuild:
        observations = {host: _distrusted(seen) for host, seen in observations.items()}
    decisions = [_decide(host, seen, name, generation) for host, seen in observations.items()]
    return Plan(
        steps=tuple(each for each in decisions if isinstance(each, Step)),
        refusals=tuple(each for each in decisions if isinstance(each, Refusal)),
    )


def _distrusted(seen: Observation) -> Observation:
    return replace(seen, sealed=(), changed=(*seen.sealed, *seen.changed))


def _decide(host: Host, seen: Observation, name: str, generation: str) -> Step | Refusal:
    if seen.conda is None or not seen.subdir:
        return _unable(host, seen)
    if seen.plain or (seen.link is not None and seen.current(name) is None):
        return _not_ours(host, seen, name)
    whole = [each for each in seen.sealed if contents(each) == generation]
    current = seen.current(name)
    if current in whole:
        action, chosen = Action.KEEP, current or generation
    elif whole:
        action, chosen = Action.SWITCH, whole[-1]
    elif seen.free_bytes is not None and seen.free_bytes < LEAST_FREE:
        return Refusal(
            host,
            "disk-full",
            f"only {seen.free_bytes / 2**20:.1f} MiB are free where {seen.envs_dir} lies",
            "make room there",
        )
    else:
        action, chosen = Action.BUILD, generation
        if generation in seen.changed:
            chosen = repair(generation, seen.changed)
    return Step(
        host, action, Slot(seen.envs_dir, name, chosen), seen.conda, seen.subdir, seen.link or ""
    )


def _unable(host: Host, seen: Observation) -> Refusal:
    if seen.conda is None:
        return Refusal(
            host,
            "no-conda",
            "no conda, mamba or micromamba was found",
            "install Miniforge in that user's home, or set CONDA_EXE in its login shell",
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
            f"rename it there (`mv {name} {name}-old`), or choose another name with -n",
        )
    return Refusal(
        host,
        "not-ours",
        f"{seen.envs_dir}/{name} is a link to {seen.link}, not to a generation of envsync's",
        "remove or rename the link there, or choose another name with -n",
    )
