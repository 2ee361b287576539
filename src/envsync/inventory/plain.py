"""One host or node set a line; the host files of MPI and DeepSpeed add `slots=` to it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from envsync.errors import InputError, Wrong
from envsync.inventory.nodeset import hosts_of
from envsync.inventory.reading import EXPECTED, Inventory, Reading

_COMMENT = re.compile(r"#.*|(?:^|(?<=\s))//.*")
_SLOTS, _MOST = "slots", "max_slots"
_KEYS = {"slots": _SLOTS, "max_slots": _MOST, "max-slots": _MOST}
"""Open MPI's words for how many processes a host takes; DeepSpeed's are a part of them."""


def parse(lines: Sequence[str], source: str) -> Inventory:
    """The hosts of all lines, each once. Raises InputError for those that are wrong."""
    reading = Reading(source)
    for number, line in enumerate(lines, 1):
        # The command line is one line, and named without it.
        wrong = reading.wrong_in(number if source != "HOSTS" else 0)
        words = re.sub(r"(?<=[a-z])\s*=\s*(?=\d)", "=", _COMMENT.sub("", line)).split()
        if not words:
            continue
        try:
            hosts = hosts_of(words[0], reading.room, wrong)
            slots = _slots(words[1:], wrong)
        except InputError as error:
            reading.fail(error)
        else:
            reading.add(hosts, number, slots.get(_SLOTS, 0))
    return reading.finish()


def _slots(words: Sequence[str], wrong: Wrong) -> Mapping[str, int]:
    """What stands behind the host."""
    found: dict[str, int] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if key not in _KEYS or not equals:
            raise _odd_word(key + equals, wrong)  # what follows may be a password
        if not re.fullmatch(r"[0-9]{1,6}", value):
            raise wrong(f"{word!r} is not a number of processes", f"such as {key}=8")
        if _KEYS[key] in found:
            raise wrong(f"{key} is given twice")
        found[_KEYS[key]] = int(value)
    if found.get(_SLOTS, 0) > found.get(_MOST, 10**6):
        raise wrong(f"it has {found[_SLOTS]} slots, and {found[_MOST]} at most")
    return found


def _odd_word(word: str, wrong: Wrong) -> InputError:
    return wrong(
        f"{word!r} after the host is not understood",
        f"expected {EXPECTED}; with slots= and max_slots= as in MPI's host files."
        " An Ansible inventory has a line [group], or is named .yml"
        if "=" in word
        else "one host a line, or several with commas between",
    )
