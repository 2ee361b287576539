"""Which rules are meant by the words of --select and --ignore."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from envsync.errors import InputError
from envsync.lint.rule import Rule


def selected(
    rules: Sequence[Rule], select: Iterable[str] = (), ignore: Iterable[str] = ()
) -> tuple[Rule, ...]:
    """Those of `select` (all, when it is empty) without those of `ignore`.

    Each word holds codes or beginnings of codes (`ENV4`), with commas between them. Raises
    InputError for one that no rule begins with.
    """
    codes = [rule.code for rule in rules]
    wanted, unwanted = (tuple(_prefixes(words, codes)) for words in (select, ignore))
    return tuple(
        rule
        for rule in rules
        if (not wanted or rule.code.startswith(wanted)) and not rule.code.startswith(unwanted)
    )


def _prefixes(words: Iterable[str], codes: Sequence[str]) -> Iterable[str]:
    for word in (each.strip() for text in words for each in text.split(",")):
        prefix = word.upper()
        if not word or not any(code.startswith(prefix) for code in codes):
            near = difflib.get_close_matches(prefix, codes, n=1, cutoff=0.5)
            raise InputError(
                f"{word!r} is no code of a rule",
                hint=f"did you mean {near[0]}?" if near else f"codes are {codes[0]} to {codes[-1]}",
            )
        yield prefix
