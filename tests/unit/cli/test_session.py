"""How a run is kept within bounds, as the options say it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envsync.cli.bundles import Connecting
from envsync.cli.choices import Launcher
from envsync.cli.session import limits
from envsync.errors import InputError
from envsync.limits import MOST_AT_ONCE


@pytest.mark.parametrize(
    ("text", "most"), [("0", 0), ("3", 3), ("10%", 6), ("100%", 64), (None, None)]
)
def test_most_failures(text: str | None, most: int | None) -> None:
    assert limits(replace(Connecting.of(), max_failures=text), 64).max_failures == most


@pytest.mark.parametrize("text", ["", "many", "-1", "101%", "1.5", "3 %"])
def test_what_is_no_number_of_hosts(text: str) -> None:
    with pytest.raises(InputError, match="max-failures"):
        limits(replace(Connecting.of(), max_failures=text), 64)


def test_fan_out_that_was_asked_for_holds_for_everything() -> None:
    asked = limits(replace(Connecting.of(), fan_out=3), 64)
    assert (asked.fan_out, asked.waiting) == (3, 3)
    chosen = limits(Connecting.of(), 64)
    assert 32 <= chosen.fan_out <= 64 <= chosen.waiting


def test_slurm_fans_out_by_itself() -> None:
    connecting = replace(Connecting.of(), launcher=Launcher.SLURM)
    assert limits(connecting, 64).fan_out == MOST_AT_ONCE
    assert limits(replace(connecting, fan_out=3), 64).fan_out == 3
