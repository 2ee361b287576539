"""What in an environment file will hurt on a cluster, known before any node is touched.

A family: `rule` says what a rule is, each further module holds the rules of one subject, and
`RULES` lists them all. A rule has a page of its code's name in docs/reference/lint/.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from envsync.lint import channels, names, pins, pip, platforms, secrets, torch
from envsync.lint.rule import Finding, Rule
from envsync.lint.selection import selected
from envsync.redact import redact
from envsync.spec import EnvironmentSpec

__all__ = ["RULES", "Finding", "Rule", "lint", "selected"]

_SUBJECTS = (names, pins, channels, pip, torch, platforms, secrets)
RULES: tuple[Rule, ...] = tuple(
    sorted((rule for each in _SUBJECTS for rule in each.RULES), key=lambda rule: rule.code)
)
"""All rules, in the order of their codes."""


def lint(spec: EnvironmentSpec, rules: Iterable[Rule] = RULES) -> tuple[Finding, ...]:
    """All findings of `rules`, in the order of their lines; no secret is in any of them.

    What the requirements files of the pip section say counts like the section itself.
    """
    whole = replace(spec, pip=(*spec.pip, *spec.luggage.requirements))
    found = [
        Finding(rule.code, rule.level, redact(message), redact(hint), file or spec.source, line)
        for rule in rules
        for line, message, hint, file in rule.check(whole)
    ]
    order = {spec.source: "", **{name: name for name, _ in spec.luggage.texts}}
    return tuple(sorted(found, key=lambda each: (order[each.file], each.line, each.code)))
