"""What node/numeric.py prints, as data. The real answers are those of tests/real_torch."""

from __future__ import annotations

import json
import signal

from envsync.ports import Completed
from envsync.probes.numeric import LIMIT, Numeric, numeric_probe, parse_numeric


def answered(*facts: object, code: int = 0, log: bytes = b"") -> Numeric:
    lines = "".join(json.dumps(each) + "\n" for each in facts)
    return parse_numeric(Completed(code, lines.encode(), log))


def test_operations_settings_and_variables() -> None:
    found = answered(
        {"version": "2.13.0"},
        {"set:threads": 2},
        {"set:cuDNN": None},
        {"set:deterministic algorithms": False},
        {"set:oneDNN TF32": {"error": "AttributeError: no such thing\nin two lines"}},
        {"variables": {"OMP_NUM_THREADS": "2"}},
        {"op:matmul fp32 cpu": "abc"},
    )
    assert found == Numeric(
        {"matmul fp32 cpu": "abc"},
        {
            "threads": "2",
            "cuDNN": "none",
            "deterministic algorithms": "no",
            "oneDNN TF32": "error: AttributeError: no such thing",
        },
        {"OMP_NUM_THREADS": "2"},
    )


def test_gpus_of_a_node_are_one_if_they_agree() -> None:
    found = answered(
        {"op:sum fp32 cuda:0": "a"},
        {"op:sum fp32 cuda:1": "a"},
        {"op:exp fp32 cuda:0": "b"},
        {"op:exp fp32 cuda:1": "c"},
    )
    assert found.operations == {"sum fp32 cuda": "a", "exp fp32 cuda": "b, c"}
    assert found.unequal_gpus == ("exp fp32 cuda",)


def test_torch_that_is_not_there_is_no_failure() -> None:
    assert answered({"missing": True}) == Numeric(missing=True)


def test_what_was_computed_before_a_hang_is_kept() -> None:
    found = answered({"op:sum fp32 cpu": "a"}, code=128 + signal.SIGALRM)
    assert found.operations == {"sum fp32 cpu": "a"}
    assert found.failed == f"the computation did not end: it was not done within {LIMIT} s"
    crashed = answered(code=139, log=b"one\nSegmentation fault\n")
    assert crashed.failed.endswith("it ended with exit code 139: Segmentation fault")
    assert answered({"error": "ImportError: libc10.so"}).failed.endswith("ImportError: libc10.so")
    assert answered().failed == "the computation did not end: it computed nothing"


def test_answer_that_is_cut_off_is_read_as_far_as_it_goes() -> None:
    found = parse_numeric(Completed(0, b'{"op:sum fp32 cpu": "a"}\n{"op:exp fp3'))
    assert found.operations == {"sum fp32 cpu": "a"}


def test_program_limits_itself_and_the_node_a_little_later() -> None:
    command = numeric_probe("/p")
    assert f"signal.alarm({LIMIT})" in command.args[2]
    assert command.timeout > LIMIT
