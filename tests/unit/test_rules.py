"""The table of rules, and the page that shows it."""

from __future__ import annotations

from pathlib import Path

from envsync.rules import RULES

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "verify.md"


def test_page_shows_every_rule_in_order() -> None:
    shown = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    assert shown[0] == "| fact | nodes | level | why it matters |"
    assert shown[1:] == [
        f"| {each.fact} | {each.comparison} | {each.level} | {each.reason} |" for each in RULES
    ]
