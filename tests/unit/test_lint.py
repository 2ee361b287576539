"""Each rule, with the smallest file that breaks it and one that does not."""

from __future__ import annotations

import pytest

from envsync.lint import RULES, Finding, lint
from envsync.spec import parse_environment

HEAD = "name: x\nchannels: [conda-forge, nodefaults]\ndependencies:\n  - python=3.11\n"

CASES = {
    "ENV001": (
        HEAD + "  - pip\n  - pytorch=2.5\n  - pip:\n    - torch==2.5.1\n",
        HEAD + "  - pip\n  - pip:\n    - torch==2.5.1\n",
        8,
    ),
    "ENV002": (
        HEAD + "  - numpy=1.26\n  - numpy>=2\n",
        HEAD + "  - numpy=1.26\n  - numpy=1.26\n",
        6,
    ),
    "ENV003": (
        HEAD + "  - pip:\n    - einops==0.8\n",
        HEAD + "  - pip\n  - pip:\n    - einops==0.8\n",
        6,
    ),
    "ENV004": (HEAD.replace("=3.11", ""), HEAD, 4),
    "ENV005": (HEAD + "  - pytorch\n", HEAD + "  - pytorch=2.5\n", 5),
    "ENV006": (HEAD.replace("nodefaults", "defaults"), HEAD, 0),
}


HARMLESS = {
    "lines with markers exclude each other": HEAD
    + "  - pip\n  - pip:\n"
    + "    - torch==2.5 ; sys_platform == 'linux'\n    - torch==2.2 ; sys_platform == 'darwin'\n",
    "extras of one package add up": HEAD
    + "  - pip\n  - pip:\n    - ray==2.9\n    - ray[tune]==2.9\n",
    "a build is a pin": HEAD + "  - pytorch[build=*cuda*]\n",
    "so is a URL": HEAD + "  - pip\n  - pip:\n    - torch @ https://h.test/torch.whl\n",
}


def codes(text: str) -> list[Finding]:
    return list(lint(parse_environment(text.encode(), "f.yml")))


@pytest.mark.parametrize("why", HARMLESS)
def test_no_false_alarm(why: str) -> None:
    assert codes(HARMLESS[why]) == []


@pytest.mark.parametrize("text", ["pytorch::pytorch", "pytorch=*"])
def test_a_channel_or_a_star_is_no_pin(text: str) -> None:
    assert [each.code for each in codes(HEAD + f"  - {text}\n")] == ["ENV005"]


def test_a_marker_or_an_extra_is_no_pin() -> None:
    text = HEAD + "  - pip\n  - pip:\n    - torch[x] ; python_version > '3'\n"
    assert [each.code for each in codes(text)] == ["ENV005"]


def test_codes_are_in_order_and_titles_differ() -> None:
    assert [rule.code for rule in RULES] == sorted({rule.code for rule in RULES})
    assert len({rule.title for rule in RULES}) == len(RULES)


def test_every_rule_has_a_case() -> None:
    assert sorted(CASES) == [rule.code for rule in RULES]


@pytest.mark.parametrize("code", CASES)
def test_rule(code: str) -> None:
    broken, good, line = CASES[code]
    (finding,) = codes(broken)
    assert (finding.code, finding.line, finding.file) == (code, line, "f.yml")
    assert finding.hint
    assert codes(good) == []
