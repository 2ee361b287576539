"""Judgement over observed nodes, without any node."""

from __future__ import annotations

from dataclasses import replace

from envsync.facts import Facts
from envsync.lock import Lock, LockedPackage, Section
from envsync.model import Host, Package, Platform
from envsync.recipe import Wanted, locked, unlocked
from envsync.sight import Seen
from envsync.spec import parse_environment
from envsync.verify import judge

HOSTS = tuple(Host(f"n{number}") for number in range(3))
GOOD = Facts(
    "/p", (Package("conda", "numpy", "1.26.4", "0"),), (), (("python", "3.11"), ("driver", "550"))
)
LINUX = Platform("linux-64", "", "2.36", "conda")
SPEC = parse_environment(b"name: x\ndependencies:\n  - numpy=1.26\n", "env.yml")


THIS = unlocked(SPEC).generation


def node(facts: Facts, generation: str | None = THIS, platform: Platform = LINUX) -> Seen:
    return Seen(facts, generation, platform)


def judged(third: Seen) -> list[tuple[str, str]]:
    seen = {HOSTS[0]: node(GOOD), HOSTS[1]: node(GOOD, f"{THIS}.2"), HOSTS[2]: third}
    verdict = judge(seen, Wanted(SPEC))
    return [(each.host.name, each.cause) for each in verdict.findings]


def test_equal_nodes_of_the_last_push_are_fine_repaired_ones_too() -> None:
    assert judged(node(GOOD)) == []


def test_odd_one_out_is_named_once_for_each_reason() -> None:
    facts = replace(GOOD, conda=(Package("conda", "numpy", "1.25.0", "0"),))
    assert judged(node(facts)) == [("n2", "unmet"), ("n2", "differs")]


def test_requirement_for_another_platform_is_not_missed() -> None:
    text = b"""name: x
dependencies:
  - numpy
  - pip:
    - bits==1.0 ; platform_machine == "x86_64"
    - metal==2.0 ; sys_platform == "darwin"
"""
    seen = {HOSTS[0]: node(GOOD), HOSTS[1]: node(GOOD, platform=Platform("osx-arm64"))}
    findings = judge(seen, Wanted(parse_environment(text, "env.yml"))).findings
    findings = tuple(each for each in findings if each.cause != "other-generation")
    assert [(each.host.name, each.message.split()[3][:5]) for each in findings] == [
        ("n0", "bits="),
        ("n1", "metal"),
    ]


def test_another_driver_is_no_drift() -> None:
    facts = replace(GOOD, runtime=(("python", "3.11"), ("driver", "535")))
    assert judged(node(facts)) == []


def test_link_that_points_elsewhere() -> None:
    assert judged(node(GOOD, "old")) == [("n2", "other-generation")]
    assert judged(node(GOOD, None)) == [("n2", "other-generation")]


def test_all_nodes_alike_and_all_wrong_is_still_wrong() -> None:
    facts = replace(GOOD, conda=())
    seen = {host: node(facts) for host in HOSTS}
    assert [each.cause for each in judge(seen, Wanted(SPEC)).findings] == ["unmet"] * 3


def test_of_two_nodes_the_one_that_breaks_the_pins_is_odd() -> None:
    bad = replace(GOOD, conda=(Package("conda", "numpy", "2.1.0", "0"),))
    seen = {HOSTS[0]: node(bad), HOSTS[1]: node(GOOD)}
    findings = judge(seen, Wanted(SPEC)).findings
    assert [(each.host.name, each.cause) for each in findings] == [
        ("n0", "unmet"),
        ("n0", "differs"),
    ]
    assert "on most nodes 1.26.4 0" in findings[1].message


def test_python_without_an_answer_is_one_finding() -> None:
    blind = replace(GOOD, runtime=(("python", "broken: no answer within 60 s"),), blind=True)
    assert judged(node(blind)) == [("n2", "broken")]
    both = {host: node(blind) for host in HOSTS}
    assert [each.cause for each in judge(both, Wanted(SPEC)).findings] == ["broken"] * 3


LOCK = Lock((Section(LINUX, "", (LockedPackage("file:///c/noarch/numpy-1.26.4-0.conda", "ab"),)),))


def test_lock_is_exact_where_the_file_leaves_things_open() -> None:
    generation = locked(SPEC, LOCK.sections[0]).generation
    same = replace(GOOD, conda=(Package("conda", "numpy", "1.26.4", "0", digest="ab"),))
    other = replace(GOOD, conda=(Package("conda", "numpy", "1.26.4", "1", digest="cd"),))
    more = replace(same, pip=(Package("pip", "einops", "0.8.0"),))
    seen = {
        HOSTS[0]: node(same, generation),
        HOSTS[1]: node(other, generation),
        HOSTS[2]: node(more, generation),
    }
    findings = judge(seen, Wanted(SPEC, LOCK)).findings
    assert [(each.host.name, each.cause, each.message) for each in findings] == [
        ("n1", "not-locked", "numpy is 1.26.4 1, in the lock 1.26.4 0"),
        ("n2", "not-locked", "einops is 0.8.0 (pip), and not in the lock"),
    ]


def test_all_nodes_alike_and_none_as_the_lock_says() -> None:
    other = replace(GOOD, conda=(Package("conda", "numpy", "1.26.4", "0", digest="cd"),))
    generation = locked(SPEC, LOCK.sections[0]).generation
    seen = dict.fromkeys(HOSTS, node(other, generation))
    assert [each.cause for each in judge(seen, Wanted(SPEC, LOCK)).findings] == ["not-locked"] * 3


def test_platform_that_the_lock_does_not_know_is_just_compared() -> None:
    seen = {HOSTS[0]: node(GOOD, "zzz", Platform("osx-arm64"))}
    assert judge(seen, Wanted(SPEC, LOCK)).findings == ()


def placed(*packages: Package, subdir: str = "linux-64") -> Seen:
    """As in a container: another glibc, no conda, no generation."""
    return Seen(
        replace(GOOD, conda=packages), None, Platform(subdir, "", "2.41", ""), by_prefix=True
    )


OTHER = replace(
    LOCK.sections[0],
    platform=Platform("linux-64", "12.4", "2.36", "conda"),
    conda=(LockedPackage("file:///c/noarch/numpy-2.0.0-0.conda", "ef"),),
)


def test_environment_at_a_path_is_judged_by_the_section_that_it_comes_nearest_to() -> None:
    old = Package("conda", "numpy", "1.26.4", "0", digest="ab")
    new = Package("conda", "numpy", "2.0.0", "0", digest="ef")
    extra = Package("conda", "tiny", "1.0", "0", digest="12")
    wanted = Wanted(SPEC, Lock((*LOCK.sections, OTHER)))
    for packages, found in (((old,), []), ((new,), []), ((new, extra), ["tiny"])):
        findings = judge({HOSTS[0]: placed(*packages)}, wanted).findings
        assert [each.what for each in findings] == found
        assert not any("envsync push" in each.hint for each in findings)


def test_environment_at_a_path_without_a_lock_is_judged_by_the_file() -> None:
    found = judge({HOSTS[0]: placed()}, Wanted(SPEC)).findings
    assert [(each.cause, "envsync push" in each.hint) for each in found] == [("unmet", False)]


def test_environment_at_a_path_that_the_lock_says_nothing_of_does_not_pass() -> None:
    numpy = Package("conda", "numpy", "1.26.4", "0", digest="ab")
    seen = {HOSTS[0]: placed(numpy, subdir="linux-aarch64")}
    verdict = judge(seen, Wanted(SPEC, LOCK))
    assert [each.message for each in verdict.findings] == ["the lock has nothing for linux-aarch64"]
    assert verdict.unknown == ()
