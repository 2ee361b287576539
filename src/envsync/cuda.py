"""CUDA: which driver runs which, which a set of packages is for, and which GPU runs what."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from envsync.model import Package

DRIVER_FLOORS: Mapping[int, str] = {11: "450.80.02", 12: "525.60.13", 13: "580.65.06"}
"""The oldest driver that runs every CUDA of a major version (CUDA Toolkit Release Notes, "CUDA
minor version compatibility"); a newer driver runs older CUDA as well."""

TOOLKIT_DRIVERS: Mapping[str, str] = {
    "11.0": "450.51.05", "11.1": "455.23", "11.2": "460.27.03", "11.3": "465.19.01",
    "11.4": "470.42.01", "11.5": "495.29.05", "11.6": "510.39.01", "11.7": "515.43.04",
    "11.8": "520.61.05", "12.0": "525.60.13", "12.1": "530.30.02", "12.2": "535.54.03",
    "12.3": "545.23.06", "12.4": "550.54.14", "12.5": "555.42.02", "12.6": "560.28.03",
    "12.8": "570.26", "12.9": "575.51.03", "13.0": "580.65.06",
}  # fmt: skip
"""The driver that came with the first release of each CUDA on Linux (CUDA Toolkit Release Notes,
"CUDA Toolkit and Corresponding Driver Versions")."""

_ARCH = re.compile(r"(sm|compute)_(\d+)(\d)([a-z]?)")

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


def covers(archs: Iterable[str], capability: str) -> bool:
    """Whether code for these architectures runs on a GPU of this capability (`9.0`, `gfx90a`).

    Machine code runs on the same major version from its own minor one on, PTX on all that is
    as new or newer; what is marked `a` only on exactly that, and what is marked `f` on the same
    major version alone, PTX too (CUDA C++ Programming Guide, "Application Compatibility" and
    "Family-Specific Features"). ROCm's code runs on the GPU that it names, or, as
    `gfx11-generic`, on a family (LLVM, "User Guide for AMDGPU Backend", "Generic processors").
    """
    if capability.startswith("gfx"):
        return any(_rocm_covers(arch.partition(":")[0], capability) for arch in archs)
    gpu = tuple(map(int, capability.split(".")))
    for kind, major, minor, mark in _ARCH.findall(" ".join(archs)):
        built = (int(major), int(minor))
        if mark == "a":
            fits = built == gpu
        elif kind == "sm" or mark == "f":
            fits = built[:1] == gpu[:1] and built <= gpu
        else:
            fits = built <= gpu
        if fits:
            return True
    return False


def _rocm_covers(arch: str, gpu: str) -> bool:
    """`gfx9-4-generic` is for gfx942 and the like; where a family has exceptions they count too."""
    family, generic, _ = arch.partition("-generic")
    return arch == gpu or bool(generic and gpu.startswith(family.replace("-", "")))
