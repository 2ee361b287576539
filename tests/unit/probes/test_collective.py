"""The commands of an all-reduce, and what its ranks print."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace

import pytest

from envsync.ports import Completed
from envsync.probes import wide
from envsync.probes.collective import STAGES, Meeting, Muster, Rank, parse_muster, parse_rank
from envsync.probes.collective import take_part as command_of

NODE = run_path(str(Path(wide.__file__).parent / "node" / "collective.py"))


def lines(*facts: object) -> bytes:
    return "".join(json.dumps(each) + "\n" for each in facts).encode()


def test_rank_that_came_to_its_end() -> None:
    stages = [{"stage": stage} for stage in STAGES]
    done = Completed(0, lines(*stages, {"latency": 0.5, "bandwidth": 2e9}, {"ok": True}))
    found = parse_rank(done, 3, 60)
    assert found == Rank(3, "measured", ok=True, latency=0.5, bandwidth=2e9)


def test_rank_that_waited_in_vain_failed_or_hung() -> None:
    waited = parse_rank(Completed(0, lines({"stage": "reached"}, {"missing": [1, 2]})), 0, 60)
    assert (waited.missing, waited.failed, waited.ok) == ((1, 2), "", False)
    failed = parse_rank(Completed(0, lines({"stage": "imported"}, {"failed": "port"})), 0, 60)
    assert (failed.failed, failed.stage) == ("port", "imported")
    hung = parse_rank(Completed(128 + signal.SIGALRM, lines({"stage": "formed"})), 0, 60)
    assert hung.failed == "it was not done within 60 s"
    assert parse_rank(Completed(127, b"", b"no python"), 0, 60).failed.endswith("no python")


def test_figures_that_make_no_sense_are_not_known() -> None:
    found = parse_rank(Completed(0, lines({"latency": -1.0, "bandwidth": "x", "missing": 3})), 0, 9)
    assert (found.latency, found.bandwidth, found.missing) == (None, None, ())


def test_muster() -> None:
    done = Completed(0, lines({"interfaces": {"lo": "127.0.0.1", "ib0": ""}}, {"port": "in use"}))
    assert parse_muster(done) == Muster({"lo": "127.0.0.1", "ib0": ""}, "in use")
    assert parse_muster(Completed(1, b"noise")) == Muster()


def test_every_variable_part_is_an_argument() -> None:
    command = command_of("/p", Meeting("gloo", "$(x)", 29500, "`y`", 5), 1, 3)
    assert command.args[3:] == ("1", "3", "gloo", "$(x)", "29500", "`y`", "5")
    assert "$(x)" not in command.args[2]


@pytest.mark.parametrize("world", [2, 3, 4, 7, 8])
def test_every_rank_measures_the_links_to_its_neighbours(world: int) -> None:
    """And never two at once in one phase, or they would wait for each other."""
    links: dict[int, list[tuple[int, int]]] = {}
    for rank in range(world):
        told: dict[str, float] = {}
        me = NODE["Rank"](told.update, rank, world, "gloo", "", 0, 1)
        barrier = SimpleNamespace(barrier=lambda: None)
        me.torch = SimpleNamespace(distributed=barrier)
        mine = links.setdefault(rank, [])

        def link(one: int, other: int, mine: list[tuple[int, int]] = mine) -> tuple[float, float]:
            mine.append((one, other))
            return 1.0 / len(mine), float(len(mine))

        me.link = link
        me.measure_links()
        assert told == {"link_latency": 1.0 / len(mine), "link_bandwidth": float(len(mine))}
    for rank, mine in links.items():
        assert all(rank in pair for pair in mine)
        assert len(mine) == min(2, world - 1)
    for one, other in {pair for mine in links.values() for pair in mine}:
        assert (one, other) in links[one]
        assert (one, other) in links[other]
