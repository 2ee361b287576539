"""What was exported on a machine of another kind than the nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envsync.lint.rule import Blame, Rule, blame
from envsync.lint.wishes import is_conditional
from envsync.spec import EnvironmentSpec

_BUILD = re.compile(r"(?:^|_)(win|osx|macos|darwin)(?:[-_]?(?:32|64|arm64))?(?:_|$)", re.IGNORECASE)
_SUBDIR = re.compile(r"(?:win|osx)-\w+")

ELSEWHERE = frozenset(
    {"vc", "vc14_runtime", "vcomp14", "vs2015_runtime", "vs2017_win-64", "vs2019_win-64"}
    | {"vs2022_win-64", "ucrt", "pywin32", "pywinpty", "winpty", "wincertstore"}
    | {"msys2-conda-epoch", "menuinst", "console_shortcut", "appnope", "pyobjc-core"}
)
"""Packages for Windows or macOS alone: conda-forge's feedstocks skip or leave out Linux."""
_FAMILIES = re.compile(r"m2w64-.+|m2-.+|pyobjc-framework-.+")


def _build(spec: EnvironmentSpec) -> Iterator[Blame]:
    for each in spec.conda:
        if _BUILD.search(each.build) or _SUBDIR.fullmatch(each.subdir):
            yield blame(
                each,
                f"{each.name} is asked for in a build for {each.subdir or each.build}",
                "keep the version and drop the build: `conda env export --no-builds` does",
            )


def _package(spec: EnvironmentSpec) -> Iterator[Blame]:
    for each in spec.conda + spec.pip:
        if not is_conditional(each) and (each.name in ELSEWHERE or _FAMILIES.fullmatch(each.name)):
            yield blame(
                each,
                f"{each.name} is for Windows or macOS, and no use on a Linux node",
                "remove it: `conda env export --from-history` leaves such packages out",
            )


RULES = (
    Rule(
        "ENV501",
        "warning",
        "a build for another platform",
        "a build string is made on one platform, and no Linux node can install it",
        _build,
    ),
    Rule(
        "ENV502",
        "warning",
        "a package for Windows or macOS",
        "most of them do not exist for Linux, and the solver fails on the first node",
        _package,
    ),
)
