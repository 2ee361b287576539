"""Who did not come to an all-reduce, who failed first, and who is slow."""

from __future__ import annotations

from envsync.collective import Gathering
from envsync.model import Host
from envsync.probes.collective import Meeting, Rank
from envsync.ranks import collected, measures, reduced
from envsync.rules import Level

HOSTS = tuple(Host(f"n{number}") for number in range(4))
MEETING = Meeting("gloo", "10.0.0.1", 29500, "", 60)


def gathering(*ranks: Rank, absent: dict[Host, str] | None = None) -> Gathering:
    return Gathering(MEETING, dict(zip(HOSTS, ranks, strict=False)), absent or {})


def well(rank: int, bandwidth: float = 1e9) -> Rank:
    times = {"latency": 2e-4, "bandwidth": 1e9, "link_latency": 1e-4}
    return Rank(rank, "measured", ok=True, link_bandwidth=bandwidth, **times)


def errors(found: Gathering) -> dict[str, str]:
    return {e.host.name: e.message for e in collected(found) if e.level is Level.ERROR}


def test_all_well() -> None:
    found = gathering(well(0), well(1), well(2))
    assert collected(found) == []
    assert reduced(found) == (
        "collective: the all-reduce over gloo is right on 3 ranks, 200 µs, 1.0 GB/s"
    )
    assert measures(found)[HOSTS[1]] == ("1", "100 µs", "1.0 GB/s")
    assert (collected(None), reduced(None), measures(None)) == ([], "", {})


def test_who_did_not_come_is_named_and_not_who_waited() -> None:
    waiting = [Rank(rank, "reached", missing=(1,)) for rank in (0, 2)]
    found = gathering(waiting[0], Rank(1), waiting[1])
    assert errors(found) == {"n1": "rank 1 did not arrive within 60 s; 2 ranks waited for it"}
    assert "0 of 3 ranks came to its end" in reduced(found)


def test_what_follows_from_another_failure_is_not_blamed() -> None:
    late = Rank(2, "arrived", failed="RuntimeError: timed out", missing=(0,))
    found = gathering(Rank(0, "started", failed="ImportError: x"), well(1), late)
    assert list(errors(found)) == ["n0"]
    lost = gathering(Rank(0), Rank(1, "imported", failed="port closed", missing=(0,)))
    assert list(errors(lost)) == ["n0"]


def test_both_ends_of_a_broken_connection_are_told() -> None:
    found = gathering(*(Rank(r, "arrived", failed="Connection refused") for r in (0, 1)), well(2))
    assert list(errors(found)) == ["n0", "n1"]
    assert all("--interface" in each.hint for each in collected(found))


def test_who_takes_no_part_is_told() -> None:
    found = gathering(absent={HOSTS[3]: "port 29500 cannot be opened on it: in use"})
    assert errors(found) == {
        "n3": "it takes no part in the all-reduce: port 29500 cannot be opened on it: in use"
    }
    assert "--port" in collected(found)[0].hint
    assert reduced(found) == "collective: no all-reduce took place over gloo"


def test_slow_link_is_a_warning_from_three_nodes_on() -> None:
    (only,) = collected(gathering(well(0), well(1), well(2, 1.2e8), well(3)))
    assert (only.host, only.level) == (HOSTS[2], Level.WARNING)
    assert only.message == "its network carries 120 MB/s, that of the middle node 1.0 GB/s"
    assert collected(gathering(well(0), well(1, 1e6))) == []
