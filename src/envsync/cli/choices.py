"""The words that an option takes where it takes some and no others."""

from __future__ import annotations

from enum import StrEnum


class Launcher(StrEnum):
    """How commands reach a host."""

    SSH = "ssh"
    LOCAL = "local"
    SLURM = "slurm"


class Group(StrEnum):
    """What rows of a diff are grouped by."""

    TORCH = "torch"
    CONDA = "conda"
    PIP = "pip"
    SYSTEM = "system"
    VARIABLES = "variables"


class FailOn(StrEnum):
    """From which level on a finding makes verify fail."""

    ERROR = "error"
    WARNING = "warning"


class Backend(StrEnum):
    """What carries an all-reduce; see `envsync.probes.collective`."""

    GLOO = "gloo"
    NCCL = "nccl"


class FlavourName(StrEnum):
    """What `envsync bootstrap` installs."""

    MINIFORGE = "miniforge"
    MINICONDA = "miniconda"
    MICROMAMBA = "micromamba"


class ImageFormat(StrEnum):
    """What reads the text that `envsync image` prints."""

    DOCKER = "docker"
    APPTAINER = "apptainer"
