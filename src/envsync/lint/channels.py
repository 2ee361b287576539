"""Where conda takes packages from."""

from __future__ import annotations

from collections.abc import Iterator

from envsync.lint.rule import Blame, Rule, blame
from envsync.lint.wishes import TORCH_NAMES, channel_name, lowest, shown
from envsync.spec import EnvironmentSpec

LAST_ON_CHANNEL = (2, 5)
"""Announced in pytorch/pytorch, issue 138506: "2.5 will be the last release of PyTorch that
will be published to the pytorch channel"."""


def _mixed(spec: EnvironmentSpec) -> Iterator[Blame]:
    if {"defaults", "conda-forge"} <= {channel_name(each) for each in spec.channels}:
        yield Blame(
            0,
            "the channels defaults and conda-forge are mixed",
            "their builds are not made for each other; keep conda-forge and `nodefaults`",
        )


# Anaconda, Terms of Service (2024): organisations of more than 200 people need a paid licence for
# its channels, which `defaults` stands for; `nodefaults` keeps conda from adding them.
def _defaults(spec: EnvironmentSpec) -> Iterator[Blame]:
    names = {channel_name(each) for each in spec.channels}
    # Both named: that is what ENV006 is for.
    if not spec.conda or "nodefaults" in names or {"defaults", "conda-forge"} <= names:
        return
    yield Blame(
        spec.marks.channels[-1] if spec.marks.channels else 0,
        "a node may take packages from Anaconda's defaults: `nodefaults` is not among the channels",
        "add `- nodefaults`: Anaconda's terms want a paid licence for `defaults` in"
        " organisations above 200 people",
    )


def _ended(spec: EnvironmentSpec) -> Iterator[Blame]:
    listed = {channel_name(each) for each in spec.channels}
    for each in spec.conda:
        at = lowest(each.version) if each.name in TORCH_NAMES else None
        if at is None or at <= LAST_ON_CHANNEL:
            continue
        asked = each.channel == "pytorch"
        if asked or ("pytorch" in listed and "conda-forge" not in listed and not each.channel):
            yield blame(
                each,
                f"the pytorch channel ended with torch {shown(LAST_ON_CHANNEL)}, and this asks for"
                f" {shown(at)}",
                "take it from conda-forge, or as a wheel through pip",
            )


RULES = (
    Rule(
        "ENV006",
        "warning",
        "`defaults` and `conda-forge` are mixed",
        "their builds are not made for each other, and crash in shared C++ libraries",
        _mixed,
    ),
    Rule(
        "ENV201",
        "warning",
        "`nodefaults` is missing",
        "which channels conda adds depends on each node's installation, and the terms of"
        " Anaconda's `defaults` want a paid licence in organisations above 200 people",
        _defaults,
    ),
    Rule(
        "ENV202",
        "warning",
        "the `pytorch` channel is asked for a torch above 2.5",
        "that channel ended with 2.5: the solver finds nothing, or takes another channel's build",
        _ended,
    ),
)
