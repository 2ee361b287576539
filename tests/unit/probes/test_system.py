"""The machine: parsing of /proc and /sys where they are texts, and of the answers."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path

import pytest

from envsync.probes import wide
from envsync.probes.answers import Answers
from envsync.probes.system import parse_system
from envsync.wide import Port, System

NODE = run_path(str(Path(wide.__file__).parent / "node" / "system.py"))
V2 = "fpu cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3"
V3 = f"{V2} abm avx avx2 bmi1 bmi2 f16c fma movbe xsave"
V4 = f"{V3} avx512f avx512bw avx512cd avx512dq avx512vl"


@pytest.mark.parametrize(("flags", "level"), [("fpu", 1), (V2, 2), (V3, 3), (V4, 4)])
def test_level_of_the_instructions(flags: str, level: int) -> None:
    text = f"processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nflags\t\t: {flags}\n"
    assert NODE["cpu"](text) == {"model": "Some CPU @ 2 GHz", "level": level}


def test_newest_without_those_in_between_is_no_level() -> None:
    flags = "avx512f avx512bw avx512cd avx512dq avx512vl"
    assert NODE["cpu"](f"model name\t: x\nflags\t\t: {flags}\n")["level"] == 1


def test_processor_of_another_kind_has_no_level() -> None:
    assert NODE["cpu"]("processor\t: 0\nFeatures\t: fp asimd\n") == {"model": "", "level": 0}


def test_answers_as_data() -> None:
    port = {
        "device": "mlx5_0", "port": "1", "state": "4: ACTIVE",
        "rate": "200 Gb/sec (4X HDR)", "firmware": "20.31.1014",
    }  # fmt: skip
    found = parse_system(
        Answers(
            "system",
            {
                "os": "Rocky Linux 9.3",
                "cpu": {"model": "EPYC", "level": 3},
                "libstdcxx": {"path": "/p/lib/libstdc++.so.6", "newest": "GLIBCXX_3.4.32"},
                "infiniband": [port],
                "interfaces": {"eth0": 1500, "ib0": 4092},
                "memlock": -1,
                "addresses": ["10.0.0.1"],
                "glibc": {"error": "AttributeError: ..."},
            },
        )
    )
    assert found == System(
        os="Rocky Linux 9.3",
        cpu="EPYC",
        cpu_level=3,
        libstdcxx="GLIBCXX_3.4.32",
        infiniband=(Port("mlx5_0/1", "ACTIVE", "200 Gb/sec (4X HDR)", "20.31.1014"),),
        interfaces=(("eth0", 1500), ("ib0", 4092)),
        memlock=-1,
        addresses=("10.0.0.1",),
    )
