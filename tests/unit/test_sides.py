"""Locks, files, saved reports and nodes, each against the other."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from envsync.compare import RUNTIME, Row
from envsync.errors import InputError
from envsync.facts import Facts
from envsync.judge import level_of, may_differ
from envsync.lock import Lock, LockedPackage, Section
from envsync.model import Package, Platform
from envsync.render.envelope import plain
from envsync.sides import Jump, Side, is_file, jump, read_side, side_rows
from envsync.spec import parse_environment
from envsync.wide import Leaks, System, Wide

LINUX = Platform("linux-64", "", "2.36", "conda")
NUMPY = Package("conda", "numpy", "1.26.4", "0", digest="ab")
TORCH = Package("pip", "torch", "2.5.1")
FACTS = Facts("/p", (NUMPY,), (TORCH,), (("torch", "2.5.1"),))
NODE = Side("gpu01", facts=FACTS, platform=LINUX, node=True)


def section(platform: Platform, version: str) -> Section:
    package = LockedPackage(f"https://c/noarch/numpy-{version}-0.conda", "ab")
    return Section(platform, "", (package,), ("torch==2.5.1 --hash=sha256:00",))


def lock(*versions: str, part: str = "") -> Side:
    platforms = (LINUX, Platform("osx-arm64"))
    sections = tuple(section(*each) for each in zip(platforms, versions, strict=False))
    return Side("a.lock", lock=Lock(sections), part=part)


def spec(text: str, label: str = "a.yml") -> Side:
    head = "name: x\nchannels: [c]\ndependencies:\n"
    return Side(label, spec=parse_environment((head + text).encode(), label))


def differing(a: Side, b: Side) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(row.group, row.name, row.values) for row in side_rows(a, b) if row.differs]


def test_node_and_the_lock_it_was_made_from_are_equal() -> None:
    assert differing(NODE, lock("1.26.4", "9")) == []
    rows = side_rows(lock("1.26.4"), NODE)
    assert next(row for row in rows if row.group == RUNTIME).values == ("?", "2.5.1")


def test_section_of_the_other_side_is_compared() -> None:
    assert differing(lock("2.0", "1.26.4"), NODE) == [("conda", "numpy", ("2.0 0", "1.26.4 0"))]


def test_two_locks_of_several_platforms_want_to_be_told_which() -> None:
    with pytest.raises(InputError, match="2 sections") as caught:
        side_rows(lock("1", "1"), lock("2", "2"))
    assert "osx-arm64" in caught.value.hint
    one, two = lock("1", "2", part="osx-arm64"), lock("1", "3", part="osx-arm64")
    assert differing(one, two) == [("conda", "numpy", ("2 0", "3 0"))]


def test_lock_without_the_nodes_platform() -> None:
    other = replace(NODE, platform=Platform("linux-aarch64"))
    with pytest.raises(InputError, match="0 sections"):
        side_rows(other, lock("1"))


def test_file_and_node_differ_in_what_is_not_met() -> None:
    asked = spec("  - numpy=2\n  - pip:\n    - torch==2.5.1\n    - einops\n")
    assert differing(asked, NODE) == [
        ("conda", "numpy", ("numpy=2", "1.26.4 0")),
        ("pip", "einops", ("einops", "-")),
    ]
    assert differing(NODE, asked)[0] == ("conda", "numpy", ("1.26.4 0", "numpy=2"))
    assert differing(spec("  - numpy=1.26\n"), NODE) == []


def test_two_files_differ_in_what_they_ask_for() -> None:
    one = spec("  - numpy=1.26\n  - zlib\nvariables:\n  A: x\n")
    two = spec("  - numpy=2.1\nvariables:\n  A: y\n")
    assert differing(one, two) == [
        ("conda", "numpy", ("1.26.*", "2.1.*")),
        ("conda", "zlib", ("zlib", "-")),
        ("variables", "A", ("x", "y")),
    ]


def test_credentials_of_a_file_are_not_shown_and_variables_have_no_version() -> None:
    one = spec("  - a\n  - pip:\n    - w @ https://me:pa55@host/w-1.whl\nvariables:\n  A: '1'\n")
    two = spec("  - a\nvariables:\n  A: '2'\n")
    rows = side_rows(one, two)
    assert "pa55" not in str(rows)
    assert [jump(row) for row in rows if row.differs] == [Jump.OTHER, Jump.OTHER]
    assert "pa55" not in str(side_rows(one, NODE))


def test_what_is_farthest_apart_comes_first() -> None:
    names = ("a-build", "b-patch", "c-minor", "d-major", "e-equal")
    ours = tuple(Package("conda", name, "1.2.3", "0") for name in names)
    versions = ("1.2.3", "1.2.4", "1.3.3", "2.2.3", "1.2.3")
    builds = "10000"
    theirs = tuple(
        Package("conda", name, version, build)
        for name, version, build in zip(names, versions, builds, strict=True)
    )
    one, two = (Side("x", facts=Facts("", each, (), ()), node=True) for each in (ours, theirs))
    order = [(row.name, jump(row)) for row in side_rows(one, two)]
    assert [name for name, _ in order] == ["d-major", "c-minor", "b-patch", "a-build", "e-equal"]
    assert [far for _, far in order][:4] == [Jump.MAJOR, Jump.MINOR, Jump.PATCH, Jump.BUILD]


@pytest.mark.parametrize(
    ("one", "two", "far"),
    [
        ("2.5.1 (pip)", "2.5.1 cuda124_0", Jump.BUILD),
        ("2.5.1+cu124", "2.5.1+cpu", Jump.BUILD),
        ("1.26.*", "2.1.*", Jump.MAJOR),
        ("==2.5.1", "==2.6", Jump.MINOR),
        ("1!1.0", "1.0", Jump.MAJOR),
        ("2024a 0", "-", Jump.OTHER),
        ("1.1.1w 0", "1.1.1k 0", Jump.OTHER),
        ("1.0", "1.0", Jump.OTHER),
    ],
)
def test_jump(one: str, two: str, far: Jump) -> None:
    assert jump(Row("conda", "x", (one, two))) is far


def test_saved_report_has_its_nodes(tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    hosts = [{"host": "gpu01", "facts": plain(FACTS)}, {"host": "gpu02", "facts": None}]
    file.write_text(json.dumps({"result": {"hosts": hosts}}))
    assert differing(read_side(f"{file}#gpu01"), NODE) == []
    for word in (str(file), f"{file}#gpu02", f"{file}#gpu09"):
        with pytest.raises(InputError, match="has") as caught:
            read_side(word)
        assert "gpu01" in caught.value.hint


SYSTEM = System(os="Rocky 9", kernel="5.14", glibc="2.34", hostname="gpu01", memlock=-1)


def machine(label: str, variables: tuple[tuple[str, str], ...] = (), **parts: object) -> Side:
    system = replace(SYSTEM, **parts)  # type: ignore[arg-type]
    wide = Wide(system=system, leaks=Leaks((), (), variables))
    return replace(NODE, label=label, facts=replace(FACTS, wide=wide))


def test_nodes_differ_in_their_systems_the_worst_first() -> None:
    one = machine("gpu01")
    two = machine("gpu02", (("NCCL_DEBUG", "INFO"),), kernel="4.18", os="Rocky 8", memlock=65536)
    rows = [row for row in side_rows(one, two) if row.differs]
    assert [(row.group, row.name, level_of(row)) for row in rows] == [
        ("system", "OS", "warning"),
        ("system", "locked memory", "warning"),
        ("system", "kernel", "info"),
        ("variables", "NCCL_DEBUG", "warning"),
    ]
    assert {jump(row) for row in rows} == {Jump.OTHER}
    assert rows[-1].values == ("-", "INFO")


def test_names_of_nodes_may_differ_and_are_marked_so() -> None:
    rows = side_rows(machine("gpu01"), machine("gpu02", hostname="gpu02"))
    assert [row.name for row in rows if row.differs and may_differ(row)] == ["hostname"]
    assert not [row for row in rows if row.differs and not may_differ(row)]


def test_package_with_the_name_of_a_fact_is_a_package() -> None:
    row = Row("pip", "hostname", ("1.0", "2.0"))
    assert not may_differ(row)
    assert level_of(row) == "error"


def test_saved_report_has_the_system_of_its_node(tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    facts = plain(machine("gpu01").facts)
    file.write_text(json.dumps({"result": {"hosts": [{"host": "gpu01", "facts": facts}]}}))
    saved, now = read_side(str(file)), machine("gpu01", glibc="2.39")
    assert differing(saved, now) == [("system", "glibc", ("2.34", "2.39"))]
    assert differing(saved, NODE) == []  # whose system nobody asked for


def test_lock_knows_nothing_of_systems() -> None:
    assert {row.group for row in side_rows(machine("gpu01"), lock("1.26.4"))} == {
        RUNTIME,
        "conda",
        "pip",
    }


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"result": null}', '{"result": {"hosts": [1]}}', "[" * 100_000],
    ids=lambda text: text[:30],
)
def test_other_json_is_no_report(tmp_path: Path, text: str) -> None:
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(InputError, match="no report of verify"):
        read_side(str(tmp_path / "r.json"))


def test_what_is_a_file_and_what_a_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.lock").touch()
    assert is_file("a.lock")
    assert is_file("a.lock#linux-64")
    assert is_file("nowhere/b.lock")
    assert not is_file("b.lock")
    assert not is_file("gpu01")
    with pytest.raises(InputError, match="no file that diff can read"):
        read_side("nowhere/hosts.txt")
    with pytest.raises(InputError, match="there is no"):
        read_side("nowhere/b.json")
