"""The vote: who switches when not all are ready."""

from __future__ import annotations

import pytest

from envsync.facts import Facts
from envsync.flavours import Conda
from envsync.generations import Slot
from envsync.model import Host
from envsync.plan import Action, Plan, Step
from envsync.push import vote
from envsync.recipe import Recipe

A, B, C = HOSTS = Host("a"), Host("b"), Host("c")
FACTS = Facts("/p", (), (), ())
ACTIONS = (Action.KEEP, Action.SWITCH, Action.BUILD)
PLAN = Plan(
    tuple(
        Step(
            host,
            action,
            Slot("/e", "x", "g"),
            Conda("/c/bin/conda", "/c"),
            "linux-64",
            "",
            Recipe("g", {}),
        )
        for host, action in zip(HOSTS, ACTIONS, strict=True)
    ),
    (),
)


@pytest.mark.parametrize(
    ("ready", "best_effort", "switch"),
    [
        ((A, B, C), False, (B, C)),
        ((A, B), False, ()),
        ((B, C), False, ()),
        ((A, B), True, (B,)),
        ((), True, ()),
    ],
)
def test_all_or_none_unless_some_will_do(
    ready: tuple[Host, ...], switch: tuple[Host, ...], *, best_effort: bool
) -> None:
    prepared = dict.fromkeys(ready, FACTS)
    assert vote(HOSTS, PLAN, prepared, best_effort=best_effort) == switch


def test_host_that_was_never_reached_counts_as_not_ready() -> None:
    prepared = dict.fromkeys(HOSTS, FACTS)
    assert vote((*HOSTS, Host("down")), PLAN, prepared, best_effort=False) == ()
