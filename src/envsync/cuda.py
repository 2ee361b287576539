"""CUDA: which driver runs which, and which a set of packages is for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from envsync.model import Package

DRIVER_FLOORS: Mapping[int, str] = {11: "450.80.02", 12: "525.60.13", 13: "580.65.06"}
"""The oldest driver that runs every CUDA of a major version (CUDA Toolkit Release Notes, "CUDA
minor version compatibility"); a newer driver runs older CUDA as well."""

SELECTORS = frozenset({"cudatoolkit", "cuda-version", "pytorch-cuda", "cuda-toolkit"})
"""Conda packages whose version is the version of CUDA."""
_TORCH = frozenset({"pytorch", "torch"})


def major_of(packages: Iterable[Package]) -> int:
    """The newest major version of CUDA that `packages` bring; 0 for none."""
    return max(map(_major, packages), default=0)


def _major(package: Package) -> int:
    found: re.Match[str] | None = None
    if package.kind == "conda" and package.name in SELECTORS:
        found = re.match(r"(\d+)", package.version)
    elif package.kind == "conda" and package.name in _TORCH:
        found = re.search(r"cuda(1\d)", package.build)
    elif package.kind == "pip" and package.name in _TORCH:
        found = re.search(r"\+cu(\d\d)\d", package.version)
    elif package.kind == "pip":
        found = re.fullmatch(r"nvidia-cuda-runtime-cu(\d\d)", package.name)
    return int(found[1]) if found else 0
