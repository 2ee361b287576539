"""Every rule has a page, and what the pages show as wrong and right is just that."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from envsync.lint import RULES, lint
from envsync.lint.rule import Rule
from envsync.spec import parse_environment

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
PAGES = {page.stem: page.read_text() for page in (REFERENCE / "lint").glob("*.md")}


def codes(page: str, heading: str) -> list[str]:
    """What lint says of the file under a heading."""
    shown = re.search(rf"^## {heading}\n+```yaml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert shown is not None, f"no file under {heading}"
    return [each.code for each in lint(parse_environment(shown[1].encode(), "f.yml"))]


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    assert sorted(PAGES) == [rule.code for rule in RULES]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_page(rule: Rule) -> None:
    page = PAGES[rule.code]
    assert page.startswith(f"# {rule.code}: {rule.title}\n\nLevel: {rule.level}.\n")
    assert "## Why it hurts\n" in page
    assert codes(page, "Wrong") == [rule.code]
    assert codes(page, "Right") == []


def test_the_index_lists_the_rules_as_they_are() -> None:
    rows = re.findall(r"^\| \[(ENV\d+)\]\(lint/\1\.md\) \| (.*) \|$", index(), re.MULTILINE)
    told = [(rule.code, f"{rule.level} | {rule.title} | {rule.reason}") for rule in RULES]
    assert rows == told


def index() -> str:
    return (REFERENCE / "lint.md").read_text()
