"""A computation whose bits are to be equal on all nodes: the command, and its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from envsync.ports import Command, Completed
from envsync.probes.answers import Answers
from envsync.probes.job import job, said, why_ended
from envsync.redact import redact

LIMIT = 120
"""Seconds: a second of computing, and torch's import from a slow shared file system."""


@dataclass(frozen=True)
class Numeric:
    """What one node computed, and what that may depend on."""

    operations: Mapping[str, str] = field(default_factory=dict)
    """Operation, kind of number and device to the hash of the bits, or to what went wrong.

    Where the GPUs of a node do not agree, the hash of each.
    """
    settings: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    unequal_gpus: tuple[str, ...] = ()
    """Operations in which the GPUs of this node do not agree among themselves."""
    missing: bool = False
    """torch is not installed: there was nothing to compute with."""
    failed: str = ""
    """Why the computation did not come to its end, if so."""


def numeric_probe(prefix: str) -> Command:
    """The command whose answer `parse_numeric` reads."""
    return job(prefix, "numeric", LIMIT, "answer_each(numeric_facts())\n")


def parse_numeric(done: Completed) -> Numeric:
    """Read the answer. A program that failed or was too slow is a fact, not an error."""
    facts = said(done)
    if facts.get("missing") is True:
        return Numeric(missing=True)
    failed = why_ended(done, LIMIT)
    if not failed and isinstance(facts.get("error"), str):
        failed = redact(facts["error"])
    if not failed and not any(name.startswith("op:") for name in facts):
        failed = "it computed nothing"
    operations, unequal = _over_gpus(_named(facts, "op:"))
    variables = Answers("numeric", facts).table("variables") or {}
    return Numeric(
        operations,
        _named(facts, "set:"),
        {name: redact(str(value)) for name, value in variables.items()},
        unequal,
        failed=f"the computation did not end: {failed}" if failed else "",
    )


def _named(facts: Mapping[str, Any], prefix: str) -> dict[str, str]:
    return {
        name.removeprefix(prefix): _text(value)
        for name, value in facts.items()
        if name.startswith(prefix)
    }


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        # An error's first line: addresses and places in the source follow.
        return redact(f"error: {value.get('error')}".splitlines()[0])
    return "none" if value is None else str(value)


def _over_gpus(found: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """`matmul fp32 cuda:0`, `cuda:1`, ... as one operation; and those that they do not agree in."""
    operations: dict[str, str] = {}
    by_gpu: dict[str, list[str]] = {}
    for name, value in found.items():
        operation, on_gpu, _ = name.partition(" cuda:")
        if on_gpu:
            by_gpu.setdefault(f"{operation} cuda", []).append(value)
        else:
            operations[name] = value
    for name, values in by_gpu.items():
        operations[name] = values[0] if len(set(values)) == 1 else ", ".join(values)
    return operations, tuple(name for name, values in by_gpu.items() if len(set(values)) > 1)
