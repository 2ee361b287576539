"""Where a node goes back to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envsync.commit import Flip
from envsync.flavours import Conda
from envsync.generations import Slot
from envsync.model import Host
from envsync.observation import Observation, Switch
from envsync.plan import Refusal
from envsync.rollback import astray, decide

HOST = Host("gpu01")


def history(*generations: str) -> tuple[Switch, ...]:
    return tuple(Switch(at, each, "ops@login") for at, each in enumerate(generations))


SEEN = Observation(
    home="/h",
    user="a",
    hostname="gpu01",
    subdir="linux-64",
    virtual_packages=(),
    conda=Conda("/h/bin/conda", "/h"),
    envs_dir="/h/envs",
    link=".envsync/train/ccc",
    sealed=("aaa", "bbb", "ccc"),
    history=history("aaa", "bbb", "ccc"),
)


def target(seen: Observation, wanted: str | None = None) -> str:
    way = decide(HOST, seen, "train", wanted)
    assert isinstance(way, Flip)
    assert way.expected == seen.link
    return way.slot.generation


def test_one_step_back_and_a_second_one_undoes_it() -> None:
    assert target(SEEN) == "bbb"
    undone = replace(SEEN, link=".envsync/train/bbb", history=history("aaa", "bbb", "ccc", "bbb"))
    assert target(undone) == "ccc"


def test_generation_that_is_gone_or_changed_by_hand_is_passed_over() -> None:
    assert target(replace(SEEN, sealed=("aaa", "ccc"), changed=("bbb",))) == "aaa"


def test_named_generation_also_in_its_repaired_form() -> None:
    assert target(SEEN, "aaa") == "aaa"
    repaired = replace(SEEN, sealed=("aaa.1", "ccc"), changed=("aaa",))
    assert target(repaired, "aaa") == "aaa.1"


@pytest.mark.parametrize(
    ("seen", "wanted", "cause"),
    [
        (SEEN, "zzz", "no-generation"),
        (replace(SEEN, history=history("ccc")), None, "no-generation"),
        (replace(SEEN, link=None), None, "no-environment"),
        (replace(SEEN, link="/elsewhere"), None, "no-environment"),
    ],
)
def test_nowhere_to_go_back_to(seen: Observation, wanted: str | None, cause: str) -> None:
    refusal = decide(HOST, seen, "train", wanted)
    assert isinstance(refusal, Refusal)
    assert refusal.cause == cause
    assert refusal.hint


def flips(*pairs: tuple[str, str]) -> list[Flip]:
    return [
        Flip(Host(f"n{number}"), Slot("/e", "train", new), f".envsync/train/{old}")
        for number, (old, new) in enumerate(pairs)
    ]


def test_nodes_that_are_alike_must_stay_so_and_others_need_not() -> None:
    assert astray(flips(("a", "b"), ("a", "b.1"), ("c", "d"))) == ()
    odd = astray(flips(("a", "b"), ("a", "z"), ("c", "d")))
    assert [flip.host.name for flip in odd] == ["n0", "n1"]
