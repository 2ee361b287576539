"""Who hands on to whom: how often this machine sends a file, and what failures come to."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from envsync.model import Host
from envsync.waves import State, Transfer, plan_wave

SIZES = {"python": 30, "torch": 900, "wheel": 5}
Fails = Callable[[Transfer], bool]


def hosts(count: int) -> list[Host]:
    return [Host(f"gpu{number:02}") for number in range(1, count + 1)]


def bare(count: int) -> State:
    """Nodes that have nothing."""
    return State(dict.fromkeys(hosts(count), SIZES), dict.fromkeys(hosts(count), frozenset()))


def carried(state: State, wave: tuple[Transfer, ...], fails: Fails) -> State:
    """What comes of a wave."""
    for each in wave:
        if each.giver is not None:
            assert each.files <= state.holds[each.giver]
        if fails(each):
            assert each.giver is not None
            state = replace(state, failed=state.failed | {(each.giver, each.receiver)})
            continue
        left = dict(state.lacks[each.receiver])
        for name in each.files:
            del left[name]
        holds = dict(state.holds)
        if each.receiver in holds:
            holds[each.receiver] |= each.files
        lacks = {**state.lacks, each.receiver: left}
        worked = state.worked or each.giver is not None
        state = replace(state, lacks=lacks, holds=holds, worked=worked)
    return state


def run(state: State, fails: Fails = lambda _: False) -> list[tuple[Transfer, ...]]:
    """All waves, to the end."""
    waves = []
    while wave := plan_wave(state):
        receivers = [each.receiver for each in wave]
        givers = [each.giver for each in wave if each.giver is not None]
        assert max(Counter(receivers).values()) == 1
        assert max(Counter(givers).values(), default=1) == 1
        waves.append(wave)
        assert len(waves) < 100
        state = carried(state, wave, fails)
    assert not any(state.lacks.values())
    return waves


def from_here(waves: list[tuple[Transfer, ...]]) -> Mapping[str, int]:
    """How often this machine sends each file."""
    return Counter(
        name for wave in waves for each in wave if each.giver is None for name in each.files
    )


@pytest.mark.parametrize(("count", "waves"), [(1, 1), (2, 2), (8, 4), (9, 5), (64, 7), (200, 9)])
def test_nodes_with_the_files_double_in_every_wave(count: int, waves: int) -> None:
    done = run(bare(count))
    assert len(done) == waves
    assert from_here(done) == dict.fromkeys(SIZES, 1)
    assert sum(map(len, done)) == count


def test_nothing_is_sent_that_a_node_has() -> None:
    state = bare(4)
    first, second, *_ = hosts(4)
    lacks = {**state.lacks, first: {}, second: {"wheel": 5}}
    holds = {**state.holds, first: frozenset(SIZES), second: frozenset(["python", "torch"])}
    done = run(replace(state, lacks=lacks, holds=holds))
    assert from_here(done) == {}
    assert [each.files for wave in done for each in wave if each.receiver == second] == [{"wheel"}]
    # Two have torch, so two get it at once.
    assert len(done[0]) == 2


def test_different_files_are_planned_one_by_one() -> None:
    """Two platforms with a wheel in common."""
    first, second, third, fourth = hosts(4)
    arm = {"python-arm": 30, "wheel": 5}
    lacks = {first: SIZES, second: SIZES, third: arm, fourth: arm}
    done = run(replace(bare(4), lacks=lacks))
    assert from_here(done) == dict.fromkeys({*SIZES, *arm}, 1)


def test_neighbour_gives_first() -> None:
    first, *_, last = everyone = hosts(6)
    holds = {host: frozenset(SIZES) for host in everyone if host not in everyone[1:3]}
    state = State({everyone[1]: SIZES, everyone[2]: SIZES}, holds)
    (wave,) = run(state)
    assert [each.giver for each in wave] == [first, everyone[3]]
    assert last not in [each.giver for each in wave]


def test_nodes_that_cannot_reach_each_other_all_get_it_from_here_at_once() -> None:
    done = run(bare(64), lambda each: each.giver is not None)
    assert from_here(done) == dict.fromkeys(SIZES, 64)
    assert len(done) == 5
    assert len(done[-1]) > 60 - 3


def test_one_that_cannot_give_is_left_out_and_the_others_still_hand_on() -> None:
    first = hosts(8)[0]
    done = run(bare(8), lambda each: each.giver == first)
    assert from_here(done) == dict.fromkeys(SIZES, 2)
    assert sum(each.giver == first for wave in done for each in wave) == 2


def test_one_that_reaches_nobody_gets_it_from_here() -> None:
    last = hosts(8)[-1]
    done = run(bare(8), lambda each: each.giver is not None and each.receiver == last)
    assert from_here(done) == dict.fromkeys(SIZES, 2)


def test_one_that_nobody_may_reach_is_no_giver() -> None:
    first, *rest = hosts(4)
    done = run(replace(bare(4), holds=dict.fromkeys(rest, frozenset())))
    assert from_here(done) == dict.fromkeys(SIZES, 2)
    assert first not in [each.giver for wave in done for each in wave]


@pytest.mark.parametrize("seed", range(30))
def test_whatever_fails_it_ends(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 (the same every time)
    state = bare(chance.randint(1, 20))
    failing = chance.random()
    run(state, lambda each: each.giver is not None and chance.random() < failing)
