"""What the file says of the environment itself: its name and its place."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envsync.lint.rule import Blame, Rule
from envsync.spec import EnvironmentSpec

# `base` and `root` are conda's own; reading the file refuses them already.
_VAGUE = re.compile(
    r"(?:my|new|the|a)?[-_.]?"
    r"(?:env|environment|venv|conda|python|py|torch|pytorch|test|testing|tmp|temp|default|dev"
    r"|foo|bar|new|old|work|project|untitled|cuda|gpu)"
    r"[-_.]?(?:env|environment)?[-_.]?[0-9.]*",
    re.IGNORECASE,
)


def _vague(spec: EnvironmentSpec) -> Iterator[Blame]:
    if _VAGUE.fullmatch(spec.name):
        yield Blame(
            spec.marks.name,
            f"the name {spec.name} does not say what the environment is for",
            "name the work and the hardware, such as nlp-pretrain-a100",
        )


def _prefix(spec: EnvironmentSpec) -> Iterator[Blame]:
    if spec.marks.prefix:
        yield Blame(
            spec.marks.prefix,
            "`prefix:` is ignored: envsync chooses the place on each node",
            "remove the line: it is a path of the machine that the file was exported on",
        )


RULES = (
    Rule(
        "ENV101",
        "warning",
        "the name says nothing",
        "several people share a cluster, and `env1` of one replaces `env1` of the other",
        _vague,
    ),
    Rule(
        "ENV102",
        "info",
        "a `prefix:` is given",
        "it is a path of the machine that the file was exported on",
        _prefix,
    ),
)
