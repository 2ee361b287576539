"""Sixteen nodes, eight of them with a planted fault each: all are found, and nothing else."""

from __future__ import annotations

import html
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.lab import Lab, Ran
from long import planted
from long.planted import AHEAD, CLEAN, FAKETIME, Planted

ON_ONE_MACHINE = frozenset({"own name", "shared memory"})
"""What is true of the machine that plays all the nodes."""


@pytest.fixture(scope="module")
def fleet(
    lab: Lab, warm_packages: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Planted]:
    """Pushed, found to be well, then spoilt."""
    assert FAKETIME.exists(), "one fault is a clock that is off: install libfaketime"
    made = planted.make_fleet(lab, warm_packages, tmp_path_factory.mktemp("fleet"))
    try:
        done = made.cluster.run("push", "hosts.ini")
        assert done.code == 0, done.out + done.err
        assert told(made.cluster.run("verify", "--deep", "--json")) == {}
        made.plant()
        yield made
    finally:
        made.stop()


def told(done: Ran) -> dict[str, list[tuple[str, str]]]:
    """Level and subject of what is said of each node, by its name; what is no news is left out."""
    result: dict[str, Any] = done.json["result"]
    assert [each["failure"] for each in result["hosts"]] == [None] * 16
    found: dict[str, list[tuple[str, str]]] = {}
    for each in (*result["findings"], *result["remarks"]):
        if each["level"] != "info" and each["what"] not in ON_ONE_MACHINE:
            name = each["host"].partition(":")[0]
            found.setdefault(name, []).append((each["level"], each["what"]))
    return {name: sorted(each) for name, each in sorted(found.items())}


SEEN_AT_ONCE = {
    planted.USER_SITE: [("error", "shadowing")],
    planted.CPU_TORCH: [("error", "built for"), ("error", "pytorch")],
    planted.PIP_OVER_CONDA: [("error", "numpy")],
    planted.OTHER_CUDART: [("error", "loaded library"), ("warning", "library path")],
    planted.BROKEN_TORCH: [("error", "torch")],
    planted.CLOCK: [("error", "clock"), ("warning", "LD_PRELOAD")],
    planted.REMOVED: [("error", "einlike")],
}
IN_FILES = {
    planted.EDITED: ("error", "changed files"),
    planted.PIP_OVER_CONDA: ("warning", "overwritten files"),
    planted.BROKEN_TORCH: ("error", "missing files"),
}


def test_all_that_shows_without_reading_every_file(fleet: Planted) -> None:
    done = fleet.cluster.run("verify", "--json")
    assert done.code == 1
    assert told(done) == SEEN_AT_ONCE


def test_all_eight_are_named_and_none_of_the_others(fleet: Planted) -> None:
    done = fleet.cluster.run("verify", "--deep", "--json")
    assert done.code == 1
    wanted = {
        name: sorted([*SEEN_AT_ONCE.get(name, []), *([IN_FILES[name]] if name in IN_FILES else [])])
        for name in planted.FAULTY
    }
    assert told(done) == wanted
    assert not set(CLEAN) & set(told(done))


def test_what_a_person_reads(fleet: Planted) -> None:
    done = fleet.cluster.run("verify", "--deep")
    assert done.code == 1
    lines = [" ".join(line.split()) for line in done.out.splitlines()]

    def with_words(start: str, *words: str) -> str:
        (found,) = (e for e in lines if e.startswith(start) and all(word in e for word in words))
        return found

    with_words("gpu[09-16] ok")
    with_words("gpu06 drifted", "broken")
    with_words("error gpu01:", "numpy 1.24.0 from", "(user site) is imported instead")
    with_words("gpu02", "pytorch is 2.5.1 cpu_0, in the lock 2.5.1 cuda124_0", "`envsync push`")
    with_words("gpu02", "built for is CPU, on most nodes CUDA 12.4")
    with_words("gpu03", "1 file changed since it was installed:", "tiny.py (tiny 1.0)")
    with_words("gpu04", "numpy is 2.1.0 (pip), in the lock 1.26.4 demo_0")
    with_words("warning gpu04:", "of conda overwritten by pip")
    with_words("error gpu05:", "cuda-11/lib64/libcudart.so.12 instead of the environment's cudart")
    with_words("error gpu06:", "torch is broken: OSError: libcudart.so.12: cannot open")
    with_words("gpu06", "1 file gone since it was installed:", "(cuda-cudart 12.4.127)")
    ahead = with_words("error gpu07:", "its clock is", "s ahead").split()
    assert AHEAD - 10 <= int(ahead[ahead.index("is") + 1]) <= AHEAD
    with_words("gpu08", "einlike is missing, in the lock 0.8.0 (pip)")
    levels = [line.split()[0] for line in lines if line.startswith(("error ", "warning "))]
    assert levels == sorted(levels)
    assert lines[-1] == "train: of 16 nodes 5 drifted and 4 unfit."
    assert not any(len(line) > 199 for line in lines if line.startswith("gpu"))


def test_report_for_a_pull_request_has_the_nodes_folded(fleet: Planted) -> None:
    file = fleet.cluster.folder / "verify.md"
    assert fleet.cluster.run("verify", "--report", str(file)).code == 1
    lines = file.read_text().splitlines()
    assert "3 drifted, 4 unfit, 9 in sync" in lines[0]
    (alike,) = (line for line in lines if line.startswith("|") and "| in sync |" in line)
    assert "gpu[03,09-16]:" in html.unescape(alike)
