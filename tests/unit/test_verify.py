"""Judgement over observed nodes, without any node."""

from __future__ import annotations

from dataclasses import replace

from envsync.model import Facts, Host, Package
from envsync.spec import parse_environment
from envsync.verify import Seen, judge

HOSTS = tuple(Host(f"n{number}") for number in range(3))
GOOD = Facts(
    "/p", (Package("conda", "numpy", "1.26.4", "0"),), (), (("python", "3.11"), ("driver", "550"))
)
SPEC = parse_environment(b"name: x\ndependencies:\n  - numpy=1.26\n", "env.yml")


def judged(third: Seen) -> list[tuple[str, str]]:
    seen = {HOSTS[0]: Seen(GOOD, "abc"), HOSTS[1]: Seen(GOOD, "abc.2"), HOSTS[2]: third}
    verdict = judge(seen, SPEC, "abc")
    return [(each.host.name, each.cause) for each in verdict.findings]


def test_equal_nodes_of_the_last_push_are_fine_repaired_ones_too() -> None:
    assert judged(Seen(GOOD, "abc")) == []


def test_odd_one_out_is_named_once_for_each_reason() -> None:
    facts = replace(GOOD, conda=(Package("conda", "numpy", "1.25.0", "0"),))
    assert judged(Seen(facts, "abc")) == [("n2", "unmet"), ("n2", "differs")]


def test_requirement_for_another_platform_is_not_missed() -> None:
    text = b"""name: x
dependencies:
  - numpy
  - pip:
    - bits==1.0 ; platform_machine == "x86_64"
    - metal==2.0 ; sys_platform == "darwin"
"""
    seen = {HOSTS[0]: Seen(GOOD, "abc", "linux-64"), HOSTS[1]: Seen(GOOD, "abc", "osx-arm64")}
    findings = judge(seen, parse_environment(text, "env.yml"), "abc").findings
    assert [(each.host.name, each.message.split()[3][:5]) for each in findings] == [
        ("n0", "bits="),
        ("n1", "metal"),
    ]


def test_another_driver_is_no_drift() -> None:
    facts = replace(GOOD, runtime=(("python", "3.11"), ("driver", "535")))
    assert judged(Seen(facts, "abc")) == []


def test_link_that_points_elsewhere() -> None:
    assert judged(Seen(GOOD, "old")) == [("n2", "other-generation")]
    assert judged(Seen(GOOD, None)) == [("n2", "other-generation")]


def test_all_nodes_alike_and_all_wrong_is_still_wrong() -> None:
    facts = replace(GOOD, conda=())
    seen = {host: Seen(facts, "abc") for host in HOSTS}
    assert [each.cause for each in judge(seen, SPEC, "abc").findings] == ["unmet"] * 3


def test_of_two_nodes_the_one_that_breaks_the_pins_is_odd() -> None:
    bad = replace(GOOD, conda=(Package("conda", "numpy", "2.1.0", "0"),))
    seen = {HOSTS[0]: Seen(bad, "abc"), HOSTS[1]: Seen(GOOD, "abc")}
    findings = judge(seen, SPEC, "abc").findings
    assert [(each.host.name, each.cause) for each in findings] == [
        ("n0", "unmet"),
        ("n0", "differs"),
    ]
    assert "on most nodes 1.26.4 0" in findings[1].message


def test_python_without_an_answer_is_one_finding() -> None:
    blind = replace(GOOD, runtime=(("python", "broken: no answer within 60 s"),), blind=True)
    assert judged(Seen(blind, "abc")) == [("n2", "broken")]
    both = {host: Seen(blind, "abc") for host in HOSTS}
    assert [each.cause for each in judge(both, SPEC, "abc").findings] == ["broken"] * 3
