"""The table of rules, and the page that shows it."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path

from envsync.rules import RULES

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "verify.md"


def test_page_shows_every_rule_in_order() -> None:
    lines = PAGE.read_text().splitlines()
    shown = lines[lines.index("| fact | nodes | level | why it matters |") + 2 :]
    assert list(takewhile(bool, shown)) == [
        f"| {each.fact} | {each.comparison} | {each.level} | {each.reason} |" for each in RULES
    ]
