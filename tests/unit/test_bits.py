"""Who does not compute the same bits, and what is different there."""

from __future__ import annotations

from dataclasses import replace

from envsync.bits import computed, numeric_rows, unequal
from envsync.judge import Finding
from envsync.model import Host
from envsync.probes.numeric import Numeric
from envsync.rules import Level

HOSTS = tuple(Host(f"n{number}") for number in range(3))
USUAL = Numeric(
    {"sum fp32 cpu": "a", "exp fp32 cpu": "b"},
    {"threads": "8", "CPU flags": "avx avx2 avx512f", "deterministic algorithms": "no"},
    {},
)


def found(third: Numeric | None) -> list[Finding]:
    return unequal(dict(zip(HOSTS, (USUAL, USUAL, third), strict=True)))


def test_equal_bits_are_fine_on_unlike_machines_too() -> None:
    assert found(USUAL) == []
    assert found(replace(USUAL, settings={**USUAL.settings, "threads": "4"})) == []
    assert found(None) == []


def test_odd_one_is_named_with_what_differs() -> None:
    settings = {**USUAL.settings, "threads": "1", "CPU flags": "avx avx2 fma"}
    other = Numeric({"sum fp32 cpu": "x", "exp fp32 cpu": "b"}, settings, {"OMP_NUM_THREADS": "1"})
    (only,) = found(other)
    assert (only.host, only.cause, only.level) == (HOSTS[2], "unlike", Level.ERROR)
    assert only.message == (
        "1 of 2 operations gives other bits than on most nodes: sum fp32 cpu; threads is 1, on"
        " most nodes 8; its CPU lacks avx512f and has also fma; OMP_NUM_THREADS is 1, on most"
        " nodes not set"
    )


def test_without_any_difference_the_machine_is_suspected() -> None:
    (only,) = found(replace(USUAL, operations={"sum fp32 cpu": "x", "exp fp32 cpu": "b"}))
    assert only.message.endswith("; nothing that was looked at differs")
    assert "test the node's memory" in only.hint


def test_flag_is_told_although_the_bits_are_equal() -> None:
    (only,) = found(replace(USUAL, settings={**USUAL.settings, "deterministic algorithms": "yes"}))
    assert (only.level, only.drift) == (Level.WARNING, False)
    assert only.message.startswith("deterministic algorithms is yes, on most nodes no; ")


def test_gpus_that_disagree_failures_and_a_missing_torch() -> None:
    assert [each.level for each in found(Numeric(missing=True))] == [Level.INFO]
    assert [each.level for each in found(replace(USUAL, failed="it hung"))] == [Level.WARNING]
    (only,) = found(replace(USUAL, unequal_gpus=("sum fp32 cuda",)))
    assert (only.level, only.cause) == (Level.ERROR, "unfit")


def test_what_a_node_has_not_computed_is_no_difference() -> None:
    rows = numeric_rows([USUAL, None, replace(USUAL, operations={"sum fp32 cpu": "a"})])
    assert [row.values for row in rows] == [("a", "?", "a"), ("b", "?", "?")]
    assert not any(row.differs or row.matters for row in rows)


def test_sentence() -> None:
    same = dict(zip(HOSTS, (USUAL, USUAL, None), strict=True))
    assert computed(same) == "numeric: all 2 operations give the same bits on 2 nodes"
    other = replace(USUAL, operations={"sum fp32 cpu": "x", "exp fp32 cpu": "b"})
    odd = dict(zip(HOSTS, (USUAL, USUAL, other), strict=True))
    assert computed(odd) == "numeric: 1 of 2 operations do not give the same bits on 3 nodes"
    assert computed(dict.fromkeys(HOSTS)) == ""
    missing = Numeric(missing=True)
    assert "no node has a torch" in computed(dict.fromkeys(HOSTS, missing))
