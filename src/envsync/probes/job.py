"""Programs that run in an environment as a job would: their commands, and their answers."""

from __future__ import annotations

import json
import signal
from typing import Any

from envsync import scripts
from envsync.ports import Command, Completed
from envsync.probes.wide import load
from envsync.redact import redact

_GRACE = 20.0
"""Seconds beyond a program's own limit, after which the node's `timeout` ends it."""

_ALARM = 128 + signal.SIGALRM
"""Exit code of a program that its own alarm has ended."""


def job(prefix: str, name: str, limit: int, call: str, *arguments: str) -> Command:
    """Run `node/NAME.py` in `prefix`, for `limit` seconds at most, with `call` as its end.

    The limit is an alarm of the kernel's, which ends also what hangs in a library.
    """
    alarm = f"import signal\nsignal.alarm({limit})\n"
    program = "\n".join([alarm, load("asking"), load(name), call])
    given = (prefix, scripts.load("as_job.sh"), program, *arguments)
    return Command(scripts.load("job.sh"), given, timeout=limit + _GRACE)


def said(done: Completed) -> dict[str, Any]:
    """The facts that a program gave, line by line, up to where it ended."""
    facts: dict[str, Any] = {}
    for line in done.text.splitlines():
        try:
            found = json.loads(line)
        except ValueError:  # cut off in the middle
            continue
        if isinstance(found, dict):
            facts |= found
    return facts


def why_ended(done: Completed, limit: int) -> str:
    """Why a program did not come to its end, as a sentence's rest; empty when it did."""
    if done.exit_code == 0:
        return ""
    if done.exit_code == _ALARM:
        return f"it was not done within {limit} s"
    last = (done.log.strip().splitlines() or ["it said nothing"])[-1]
    return redact(f"it ended with exit code {done.exit_code}: {last}")
