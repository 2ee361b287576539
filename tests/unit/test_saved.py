"""What was written as JSON comes back as it was."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from envsync.facts import Facts
from envsync.model import Package
from envsync.render.envelope import plain
from envsync.saved import read_as
from envsync.wide import (
    Clock,
    Failure,
    ForeignLibraries,
    ForeignPath,
    Gpu,
    Gpus,
    Leaks,
    Part,
    Port,
    Runtimes,
    System,
    Torch,
    Wide,
)

WIDE = Wide(
    torch=Torch(version="2.5.1", debug=False, archs=("sm_90",), numpy=Part("1.26", "why")),
    gpus=Gpus((Gpu("H100", memory_mib=81559),), visible=(("CUDA_VISIBLE_DEVICES", "0"),)),
    system=System(
        cores=8,
        infiniband=(Port("mlx5_0/1", "ACTIVE", "400", "28"),),
        interfaces=(("eth0", 9000), ("lo", 65536)),
    ),
    leaks=Leaks(
        (ForeignPath("/x", "PYTHONPATH", ("numpy",), ()),),
        (ForeignLibraries("LD_PRELOAD", "/y", ("libcudart.so",)),),
        (("NCCL_DEBUG", "INFO"),),
    ),
    runtimes=Runtimes(loaded=(("openmp", ("/a", "/b")),)),
    clock=Clock(-1.5, 2),
    failures=(Failure("torch", "", "no answer"),),
)
FACTS = Facts("/p", (Package("conda", "numpy", "1"),), (), (("torch", "2.5.1"),), wide=WIDE)


@pytest.mark.parametrize("facts", [FACTS, replace(FACTS, wide=None), replace(FACTS, wide=Wide())])
def test_all_facts_of_a_node_come_back(facts: Facts) -> None:
    assert read_as(Facts, json.loads(json.dumps(plain(facts)))) == facts


def test_fields_of_another_version_are_left_out_or_have_their_default() -> None:
    record = plain(FACTS)
    record["wide"]["system"] |= {"moons": 2}
    del record["wide"]["gpus"], record["blind"]
    assert read_as(Facts, record) == replace(FACTS, wide=replace(WIDE, gpus=Gpus()))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Facts, 5),
        (Facts, {}),
        (System, {"cores": "8"}),
        (System, {"cores": True}),
        (System, {"interfaces": [["eth0"]]}),
        (System, {"interfaces": "eth0"}),
        (Gpus, {"mig_instances": None}),
    ],
)
def test_something_else_is_refused(kind: type, value: object) -> None:
    with pytest.raises(TypeError):
        read_as(kind, value)
