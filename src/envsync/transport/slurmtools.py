"""The programs of Slurm on this machine, run for their answers."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence

from envsync.errors import InputError
from envsync.slurmnodes import Answer

_PATIENCE = 30.0
"""Seconds; Slurm's own programs give up on a controller after about ten (MessageTimeout)."""

_SETTINGS = ("SINFO_", "SQUEUE_")
"""Variables that change what they print, and are meant for people's eyes."""


def ask(argv: Sequence[str]) -> Answer:
    """What `argv` prints. Raises InputError when it cannot be run, or does not answer in time."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(_SETTINGS)}
    try:
        done = subprocess.run(
            argv,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
            check=False,
        )
    except OSError as error:
        raise missing(argv[0], error) from error
    except subprocess.TimeoutExpired as error:
        raise InputError(
            f"{argv[0]} gave no answer in {_PATIENCE:.0f} s",
            hint="does `scontrol ping` reach Slurm's controller?",
        ) from error
    return Answer(done.returncode, done.stdout, done.stderr)


def missing(program: str, error: OSError) -> InputError:
    """For a machine on which Slurm is not installed."""
    return InputError(
        f"{program} cannot be run here: {error.strerror}",
        hint="run envsync where `sinfo` works, such as a login node; or name the hosts",
    )


def outside(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without what an allocation around us would say for another one's steps.

    What a user sets for salloc (SALLOC_ACCOUNT, SALLOC_TIMELIMIT, ...) stays.
    """
    keep = ("SLURM_CONF", "SLURM_CLUSTERS")
    return {
        key: value
        for key, value in environ.items()
        if key in keep or not key.startswith(("SLURM_", "SRUN_"))
    }
