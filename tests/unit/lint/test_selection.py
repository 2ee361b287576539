"""Words of --select and --ignore, and the rules that they mean."""

from __future__ import annotations

import pytest

from envsync.errors import InputError
from envsync.lint import RULES, selected


def codes(select: list[str], ignore: list[str]) -> list[str]:
    return [rule.code for rule in selected(RULES, select, ignore)]


def test_no_words_mean_all() -> None:
    assert selected(RULES) == RULES


def test_a_beginning_means_all_that_begin_so() -> None:
    assert codes(["ENV2"], []) == ["ENV201", "ENV202"]
    assert codes(["env2, ENV601"], []) == ["ENV201", "ENV202", "ENV601"]
    assert codes(["ENV2", "ENV601"], ["ENV201"]) == ["ENV202", "ENV601"]
    assert codes(["ENV2"], ["ENV"]) == []


@pytest.mark.parametrize("word", ["ENV999", "E5", "", "ENV201,", "ENV2011"])
def test_what_no_rule_begins_with_is_refused(word: str) -> None:
    for words in (([word], []), ([], [word])):
        with pytest.raises(InputError) as caught:
            codes(*words)
        assert "is no code of a rule" in str(caught.value)


def test_a_near_match_is_named() -> None:
    with pytest.raises(InputError) as caught:
        codes(["ENV2O1"], [])
    assert caught.value.hint == "did you mean ENV201?"
