"""The wide set of probes: the programs that a node runs beside each other, and their answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from envsync.probes.answers import Answers
from envsync.probes.gpu import parse_gpus
from envsync.probes.leaks import parse_leaks
from envsync.probes.runtimes import parse_runtimes
from envsync.probes.system import parse_system
from envsync.probes.torch import parse_torch
from envsync.wide import Clock, Wide

LIMITS: Mapping[str, int] = {
    "base": 40,
    "torch": 60,
    "gpu": 45,
    "system": 20,
    "leaks": 20,
    "runtimes": 60,
}
"""Seconds for each probe. CUDA's initialisation can hang, and so can nvidia-smi."""

LONGEST = max(LIMITS.values()) + 15
"""Seconds for all together, with those in which the driver gives up on what does not end."""

_ARGUMENTS: Mapping[str, str] = {"torch": "True"}

# What imports print goes to standard error; the answer to what was standard output.
_OPEN = "import os\nos.dup2(1, 3)\nos.dup2(2, 1)\n"


@cache
def load(name: str) -> str:
    """The text of a program for a node."""
    return (Path(__file__).with_name("node") / f"{name}.py").read_text(encoding="utf-8")


@cache
def narrow_program() -> str:
    """The few facts that a push needs, in one process, answered at once on descriptor 3."""
    parts = [load(name) for name in ("asking", "base", "torch")]
    call = "facts = collect(base_facts())\nfacts['torch'] = collect(torch_facts(False))\n"
    return "\n".join([*parts, call, "answer(facts)\n"])


@cache
def wide_programs() -> str:
    """For node/driver.py: every probe's limit and program."""
    return json.dumps(
        {
            name: (
                limit,
                "\n".join(
                    [
                        _OPEN,
                        load("asking"),
                        load(name),
                        f"answer_each({name}_facts({_ARGUMENTS.get(name, '')}))\n",
                    ]
                ),
            )
            for name, limit in LIMITS.items()
        }
    )


def parse_wide(answer: Mapping[str, Any], asked: float, answered: float) -> Wide:
    """What the driver's probes said.

    `asked` and `answered` are seconds since the epoch by this machine's clock, before the
    command was sent and after its answer was here.
    """
    said = {name: _answers(answer["probes"], name) for name in LIMITS}
    failures = [
        failure for name, each in said.items() if name != "base" for failure in each.failures
    ]
    return Wide(
        parse_torch(said["torch"]),
        parse_gpus(said["gpu"]),
        parse_system(said["system"]),
        parse_leaks(said["leaks"]),
        parse_runtimes(said["runtimes"]),
        _clock(answer, asked, answered),
        tuple(failures),
    )


def as_narrow(answer: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The same answer as `narrow_program` gives, and why there is none if there is none."""
    base, torch = (_probe(answer["probes"], name) for name in ("base", "torch"))
    facts = dict(base["facts"])
    if "distributions" not in facts:
        return {}, str(base["failed"] or facts.get("error") or "it gave no answer")
    facts["torch"] = dict(torch["facts"])
    if torch["failed"]:
        facts["torch"].setdefault("error", torch["failed"])
    return facts, ""


def _probe(probes: object, name: str) -> dict[str, Any]:
    found = probes.get(name) if isinstance(probes, dict) else None
    found = found if isinstance(found, dict) else {"failed": "it was not run"}
    facts = found.get("facts")
    return {"facts": facts if isinstance(facts, dict) else {}, "failed": found.get("failed", "")}


def _answers(probes: object, name: str) -> Answers:
    found = _probe(probes, name)
    return Answers(name, found["facts"], str(found["failed"]))


def _clock(answer: Mapping[str, Any], asked: float, answered: float) -> Clock | None:
    """The node looked at its clock first after we asked, and last before we had the answer."""
    began, ended = answer.get("began"), answer.get("ended")
    if not isinstance(began, float) or not isinstance(ended, float):
        return None
    return Clock(lowest=ended - answered, highest=began - asked)
