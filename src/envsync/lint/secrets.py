"""Credentials in the file, which travels to every node and into Git."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envsync.lint.rule import Blame, Rule
from envsync.redact import redact
from envsync.spec import EnvironmentSpec
from envsync.yamlfile import decode

_VARIABLE = r"\$\{?\w+\}?"
_HARMLESS = re.compile(
    rf"(?<=://)(?:[\w.-]*:)?{_VARIABLE}@"  # filled in from the node's own environment
    rf"|(?<=/t/){_VARIABLE}"
    rf"|(?<==){_VARIABLE}"
    r"|(?<=://)(?:git|hg)@"  # the user that SSH wants, who has no password
    r"|(?<=ssh://)[\w.-]+@"
)


def _secrets(spec: EnvironmentSpec) -> Iterator[Blame]:
    """Line by line, comments included: what is in the file is in Git."""
    for file, text in (("", decode(spec.raw, spec.source)), *spec.luggage.texts):
        for number, line in enumerate(text.splitlines(), 1):
            if "/" not in line and "=" not in line:
                continue
            rest = _HARMLESS.sub("", line)
            if redact(rest) != rest:
                yield Blame(
                    number,
                    "a credential stands in this line",
                    "take it out and revoke it: keep it in each node's .condarc, .netrc or"
                    " pip.conf, or write ${VARIABLE} for it",
                    file,
                )


RULES = (
    Rule(
        "ENV601",
        "warning",
        "a secret in an address",
        "the file goes into Git, into logs and to every node, where others can read it",
        _secrets,
    ),
)
