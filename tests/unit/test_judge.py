"""The table of rules, and what it makes of nodes that are not alike."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envsync.compare import MAY_DIFFER, RUNTIME
from envsync.facts import Facts
from envsync.judge import (
    DERIVED,
    MACHINE,
    UNFIT,
    UNLIKE,
    VARIABLES,
    unfit,
    wide_rows,
)
from envsync.model import Host, Platform
from envsync.rules import RULES, Comparison, Level, rule_of
from envsync.sight import Seen
from envsync.verify import Verdict, judge
from envsync.wide import Clock, Gpu, Gpus, Leaks, Part, System, Torch, Wide

HOSTS = tuple(Host(f"n{number}") for number in range(3))
GPU = Gpu("NVIDIA H100", "GPU-1", 81559, "550.54.15", "Disabled", "Enabled", "Enabled", "9.0")
WIDE = Wide(
    torch=Torch(
        version="2.5.1", git="abc", debug=False, cuda="12.4", archs=("sm_90",),
        backends=("gloo", "nccl"), available=True, devices=("NVIDIA H100",), threads=8,
    ),
    gpus=Gpus((GPU,), driver="550.54.15"),
    system=System(
        os="Rocky 9", kernel="5.14", glibc="2.34", cpu_level=4, memory_kib=2**20,
        hostname="n", interfaces=(("eth0", 1500),), infiniband=(),
    ),
    leaks=Leaks((), (), (("OMP_NUM_THREADS", "8"),)),
    clock=Clock(-0.1, 0.1),
)  # fmt: skip
GOOD = Facts(
    "/p", (), (),
    (("python", "3.11"), ("torch", "2.5.1"), ("built for", "CUDA 12.4"), ("driver", "550.54.15")),
    wide=WIDE,
)  # fmt: skip


def verdict(*facts: Facts) -> Verdict:
    linux = Platform("linux-64", "", "2.34", "conda")
    return judge({h: Seen(f, None, linux) for h, f in zip(HOSTS, facts, strict=False)}, None)


def told(*facts: Facts) -> list[tuple[str, str, str, str]]:
    return [
        (each.host.name, each.level.value, each.cause, each.what)
        for each in verdict(*facts).findings
    ]


def with_wide(**parts: object) -> Facts:
    return replace(GOOD, wide=replace(WIDE, **parts))  # type: ignore[arg-type]


def test_equal_nodes_have_nothing_to_be_told() -> None:
    assert told(GOOD, GOOD, GOOD) == []
    assert not any(row.differs for row in verdict(GOOD, GOOD, GOOD).rows)


def test_every_rule_says_why_and_every_complaint_what_to_do() -> None:
    for rule in RULES:
        assert rule.reason.endswith((".", '".')), rule.fact
        assert rule.hint or rule.level is Level.INFO, rule.fact
        assert (rule.check is not None) is (rule.comparison is Comparison.OWN), rule.fact
        assert not rule.hint.endswith("."), rule.fact


def test_one_way_to_compare_each_fact() -> None:
    compared = [each.fact for each in RULES if each.comparison is not Comparison.OWN]
    assert len(compared) == len(set(compared))
    checks = [each.check for each in RULES if each.check]
    assert len(checks) == len(set(checks))


def test_every_fact_that_is_compared_has_a_rule() -> None:
    rows = wide_rows([GOOD])
    assert [row.name for row in rows if row.group != VARIABLES and not rule_of(row.name)] == []
    assert {"torch git", "GPU models", "OS", "MTU"} <= {row.name for row in rows}


@pytest.mark.parametrize("fact", ["python", "torch", "built for", "NCCL", "cuDNN"])
def test_what_must_be_equal(fact: str) -> None:
    rule = rule_of(fact)
    assert rule is not None
    assert (rule.comparison, rule.level) == (Comparison.MUST, Level.ERROR)


def test_facts_that_a_push_lets_differ_need_not_be_equal_here() -> None:
    for fact in MAY_DIFFER:
        rule = rule_of(fact)
        assert rule is not None
        assert rule.comparison in {Comparison.SHOULD, Comparison.MAY}
    assert not DERIVED & MAY_DIFFER


def test_another_driver_is_a_warning_with_its_reason() -> None:
    other = replace(GOOD, runtime=(*GOOD.runtime[:3], ("driver", "535.161.08")))
    (found,) = verdict(GOOD, GOOD, other).findings
    assert (found.host, found.level, found.cause) == (HOSTS[2], Level.WARNING, UNLIKE)
    assert found.message == "driver is 535.161.08, on most nodes 550.54.15"
    assert "driver" in found.reason
    assert not found.drift


def test_another_torch_is_one_error_and_not_one_for_each_of_its_facts() -> None:
    torch = replace(WIDE.torch or Torch(), version="2.4.0", git="def", archs=("sm_80", "sm_90"))
    runtime = (("python", "3.11"), ("torch", "2.4.0"), *GOOD.runtime[2:])
    other = replace(with_wide(torch=torch), runtime=runtime)
    (found,) = verdict(GOOD, GOOD, other).findings
    assert (found.what, found.level, found.cause) == ("torch", Level.ERROR, "differs")
    assert "checkpoints" in found.reason
    assert found.drift


def test_same_torch_from_another_commit_is_an_error() -> None:
    other = with_wide(torch=replace(WIDE.torch or Torch(), git="def"))
    assert told(GOOD, GOOD, other) == [("n2", "error", "differs", "torch git")]


def test_broken_torch_is_one_error_and_nothing_that_follows_from_it() -> None:
    runtime = (("python", "3.11"), ("torch", "broken: OSError: x"), GOOD.runtime[3])
    other = replace(with_wide(torch=None), runtime=runtime)
    found = told(GOOD, GOOD, other)
    assert found == [("n2", "error", UNFIT, "torch")]
    assert told(other, other, other) == [(host.name, "error", UNFIT, "torch") for host in HOSTS]


@pytest.mark.parametrize(
    ("parts", "what", "level"),
    [
        ({"gpus": Gpus((GPU, GPU), driver="550.54.15")}, "GPU models", "warning"),
        ({"system": replace(WIDE.system, os="Rocky 8")}, "OS", "warning"),
        ({"system": replace(WIDE.system, kernel="4.18")}, "kernel", "info"),
        ({"system": replace(WIDE.system, cpu_level=3)}, "CPU level", "warning"),
        ({"system": replace(WIDE.system, interfaces=(("eth0", 9000),))}, "MTU", "warning"),
    ],
)
def test_machine_that_should_be_equal(parts: dict[str, object], what: str, level: str) -> None:
    found = told(GOOD, GOOD, with_wide(**parts))
    assert ("n2", level, UNLIKE, what) in found
    assert not any(each[1] == "error" for each in found)


def test_names_and_uuids_may_differ() -> None:
    other = with_wide(
        gpus=Gpus((replace(GPU, uuid="GPU-2"),), driver="550.54.15"),
        system=replace(WIDE.system, hostname="m"),
    )
    assert told(GOOD, other) == []
    assert not any(row.differs for row in verdict(GOOD, other).rows)


def test_variable_that_is_set_on_one_node_alone() -> None:
    leaks = Leaks((), (), (("NCCL_IB_DISABLE", "1"), ("OMP_NUM_THREADS", "8")))
    found = verdict(GOOD, GOOD, with_wide(leaks=leaks)).findings
    assert [each.message for each in found] == ["NCCL_IB_DISABLE is 1, on most nodes not set"]
    assert found[0].level is Level.WARNING


def test_differences_of_machines_are_rows_that_do_not_matter() -> None:
    seen = verdict(GOOD, with_wide(system=replace(WIDE.system, os="Rocky 8")))
    (row,) = (row for row in seen.rows if row.differs)
    assert (row.group, row.name, row.values) == (MACHINE, "OS", ("Rocky 9", "Rocky 8"))
    assert not row.matters
    assert seen.equal


def test_of_two_nodes_the_one_with_a_broken_torch_is_odd() -> None:
    broken = replace(with_wide(torch=None), runtime=(("torch", "broken: OSError: x"),))
    sound = replace(with_wide(torch=None), runtime=(("torch", "not installed"),))
    assert told(broken, sound) == [("n0", "error", UNFIT, "torch")]


def test_cpu_build_among_others_stays_an_error() -> None:
    torch = replace(WIDE.torch or Torch(), cuda="", hip="", archs=None, available=False)
    runtime = (*GOOD.runtime[:2], ("built for", "CPU"), GOOD.runtime[3])
    found = told(GOOD, GOOD, replace(with_wide(torch=torch), runtime=runtime))
    assert ("n2", "error", "differs", "built for") in found
    assert ("n2", "warning", UNFIT, "built for") in found


def test_cpu_build_is_not_told_again_for_each_part_that_it_lacks() -> None:
    torch = replace(WIDE.torch or Torch(), cuda="", backends=("gloo",), archs=None)
    facts = [("built for", "CPU"), ("cuDNN", "none"), ("cuda available", "no")]
    runtime = (*GOOD.runtime[:2], *facts)
    with_cudnn = replace(GOOD, runtime=(*GOOD.runtime, ("cuDNN", "90100"), ("NCCL", "2.21.5")))
    other = replace(with_wide(torch=torch), runtime=runtime)
    found = told(with_cudnn, with_cudnn, other)
    assert [each for each in found if each[2] == "differs"] == [
        ("n2", "error", "differs", "built for")
    ]


def test_torch_that_cannot_be_imported_has_no_other_facts() -> None:
    broken = (("python", "3.11"), ("torch", "broken: OSError: libcudart.so.12"))
    rows = verdict(GOOD, GOOD, replace(GOOD, runtime=broken)).rows
    assert [row.name for row in rows if row.differs and row.group == RUNTIME] == ["torch"]


def test_preloaded_library_on_one_node_is_a_warning_of_its_own() -> None:
    leaks = Leaks(variables=(("LD_PRELOAD", "/usr/lib/libjemalloc.so.2"),))
    findings = verdict(GOOD, GOOD, with_wide(leaks=leaks)).findings
    (found,) = (each for each in findings if each.what == "LD_PRELOAD")
    assert found.message == ("LD_PRELOAD is /usr/lib/libjemalloc.so.2, on most nodes not set")
    assert "allocator" in found.reason


def test_what_is_not_known_is_no_difference() -> None:
    blind = replace(GOOD, runtime=(("python", "broken: x"),), blind=True, wide=None)
    found = told(GOOD, GOOD, blind)
    assert found == [("n2", "error", "broken", "")]
    assert told(GOOD, GOOD, with_wide(system=System())) == []


def test_own_checks_are_errors_and_warnings_of_the_table() -> None:
    torch = replace(WIDE.torch or Torch(), torchvision=Part("0.20", "RuntimeError: no nms"))
    found = told(GOOD, GOOD, with_wide(torch=torch, clock=Clock(9.0, 9.2)))
    assert found == [("n2", "warning", UNFIT, "clock"), ("n2", "error", UNFIT, "torchvision")]


def test_without_wider_facts_machines_are_not_judged() -> None:
    narrow = replace(GOOD, wide=None)
    assert unfit({HOSTS[0]: narrow}) == []
    other = replace(narrow, runtime=(*GOOD.runtime[:3], ("driver", "1")))
    assert told(narrow, other) == []
    assert wide_rows([narrow, narrow]) == ()


def test_groups_of_rows_hang_together() -> None:
    groups = [row.group for row in verdict(GOOD, GOOD).rows]
    assert list(dict.fromkeys(groups)) == [RUNTIME, MACHINE, VARIABLES]
    assert sorted(groups, key=[RUNTIME, MACHINE, VARIABLES].index) == groups
