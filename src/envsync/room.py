"""Does what a lock installs fit on a node? Known before the first install; decisions are pure.

What is certain refuses a host, what is only likely is told. Of pip's packages a lock knows no
size, and a conda package that lies unpacked in the node's cache is linked from there and takes
next to nothing: both can only make what is certain less.
"""

from __future__ import annotations

from envsync import scripts
from envsync.flavours import Conda
from envsync.lock import LockedPackage, Section
from envsync.observation import Observation
from envsync.ports import Command, Completed

UNPACKED = 4
"""How many times its archive a package takes unpacked, by estimate: bzip2 makes 3.9 times less
of the Silesia corpus (bzip3, etc/BENCHMARKS.md), and zstd at conda's level is close to it."""
TAKEN = UNPACKED + 1
"""conda keeps the archive itself as well."""
PIP_FILES = 3
"""A pip package has METADATA, RECORD and its folder at least (PyPA, "Recording installed
projects"); a conda package has its record in conda-meta."""
LIMIT = 60.0
"""Seconds for the question what lies in the package caches; conda starts once."""


def shortage(seen: Observation, section: Section) -> str:
    """Why this certainly does not fit on that node; empty where it may.

    An unpacked package takes its archive's size at least, one way or another: archives are made
    to be smaller. Without knowledge of the node's package caches no size is certain.
    """
    files = len(section.conda) + PIP_FILES * len(section.pip + section.direct)
    if seen.free_inodes is not None and seen.free_inodes < files:
        return (
            f"only {seen.free_inodes} more files can be made where {seen.envs_dir} lies, and the"
            f" lock's packages need {files} inodes at the very least"
        )
    if seen.cached is None or seen.free_bytes is None:
        return ""
    least = missing(seen, section)
    if seen.free_bytes >= least:
        return ""
    return (
        f"only {_mib(seen.free_bytes)} are free where {seen.envs_dir} lies, and the lock's packages"
        f" that it lacks are {_mib(least)} even while packed"
    )


def remark(seen: Observation, section: Section) -> str:
    """Why this probably does not fit on that node; empty where it should."""
    if not tight(seen, section):
        return ""
    return (
        f"{_mib(seen.free_bytes or 0)} are free where {seen.envs_dir} lies, and the lock's packages"
        f" that it lacks may take {_mib(TAKEN * missing(seen, section))}"
    )


def tight(seen: Observation, section: Section) -> bool:
    """Whether more than is free may be needed, for all that is known of this node."""
    return seen.free_bytes is not None and seen.free_bytes < TAKEN * missing(seen, section)


def missing(seen: Observation, section: Section) -> int:
    """Bytes of the archives that the node's caches do not hold unpacked; all, if nobody asked."""
    cached = seen.cached or frozenset()
    return sum(each.size for each in section.conda if folder(each) not in cached)


def folder(package: LockedPackage) -> str:
    """What conda calls the package's folder in a cache."""
    return package.url.rpartition("/")[2].removesuffix(".conda").removesuffix(".tar.bz2")


def ask_cache(conda: Conda, section: Section) -> Command:
    """Which packages lie unpacked in the node's caches; `parse_cached` reads the answer."""
    names = "".join(f"{folder(each)}\n" for each in section.conda)
    return Command(
        scripts.load("cached.sh"), conda.information(), stdin=names.encode(), timeout=LIMIT
    )


def parse_cached(done: Completed) -> frozenset[str] | None:
    """The packages; None where conda did not say which caches it has."""
    return None if done.exit_code else frozenset(done.text.splitlines())


def _mib(size: int) -> str:
    return f"{size / 2**20:.1f} MiB"
