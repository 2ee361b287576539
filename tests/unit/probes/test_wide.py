"""The driver runs for real here, and recorded answers of it are read."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from envsync.ports import Completed
from envsync.probes import facts, wide
from envsync.transport.shell import script_text
from envsync.wide import Clock, Failure

DATA = Path(__file__).parent / "data"
NODE = Path(wide.__file__).parent / "node"
ARGUMENT_LIMIT = 128 * 1024
"""Bytes of one argument or variable of a program (Linux, MAX_ARG_STRLEN)."""


def recorded(name: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads((DATA / f"answer-{name}.json").read_text())
    return answer


def completed(answer: dict[str, Any], seconds: float = 4.0) -> Completed:
    text = f"@@prefix\n/opt/conda/envs/train\n@@conda\n@@python\n{json.dumps(answer)}\n@@end 0\n"
    return Completed(0, text.encode(), seconds=seconds)


def run(program: str, *arguments: str) -> dict[str, Any]:
    """Start a program as facts.sh does: its answer comes on descriptor 3."""
    done = subprocess.run(
        ["sh", "-c", '"$0" -c "$@" 3>&1 >&2', sys.executable, program, *arguments],
        capture_output=True,
        check=True,
        timeout=60,
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def drive(**programs: tuple[float, str]) -> dict[str, Any]:
    return run(wide.load("driver"), json.dumps(programs))["probes"]  # type: ignore[no-any-return]


def telling(body: str) -> str:
    start = "import os, time\nos.dup2(1, 3)\nos.dup2(2, 1)\n"
    return start + wide.load("asking") + body


@pytest.mark.parametrize("file", sorted(NODE.glob("*.py")), ids=lambda file: file.stem)
def test_any_python_from_3_6_on_can_read_it(file: Path) -> None:
    ast.parse(file.read_text(), feature_version=(3, 6))


def test_command_is_small_enough_for_one_variable() -> None:
    assert len(script_text(facts.wide_probe("/p" * 500))) < ARGUMENT_LIMIT / 2


def test_push_asks_for_little_and_imports_no_companion() -> None:
    narrow = facts.probe("/p")
    assert "driver" not in run(wide.narrow_program()).get("probes", {})
    assert len(script_text(narrow)) < 20_000
    answer = run(wide.narrow_program())
    assert set(answer) == {"python", "implementation", "driver", "distributions", "torch"}


def test_every_probe_ends_well_on_this_machine() -> None:
    answer = run(wide.load("driver"), wide.wide_programs())
    assert {name: each["failed"] for name, each in answer["probes"].items()} == dict.fromkeys(
        wide.LIMITS, ""
    )
    parsed = wide.parse_wide(answer, answer["began"], answer["ended"])
    assert parsed.system.kernel == Path("/proc/sys/kernel/osrelease").read_text().strip()
    assert parsed.system.cores
    assert parsed.clock == Clock(0.0, 0.0)
    python = ".".join(map(str, sys.version_info[:3]))
    assert wide.as_narrow(answer)[0]["python"] == python


def test_probe_that_hangs_keeps_what_it_said_and_takes_nothing_from_the_others() -> None:
    started = time.monotonic()
    found = drive(
        stuck=(1, telling("answer_each([('a', lambda: 1), ('b', lambda: time.sleep(60))])\n")),
        fine=(20, telling("answer_each([('c', lambda: 2)])\n")),
    )
    assert time.monotonic() - started < 10
    assert found["stuck"] == {"facts": {"a": 1}, "failed": "no answer within 1 s"}
    assert found["fine"] == {"facts": {"c": 2}, "failed": ""}


def test_probe_that_crashes_says_how() -> None:
    found = drive(
        killed=(20, telling("answer_each([('a', lambda: 1), ('b', os.abort)])\n")),
        wrong=(20, "import sys\nsys.exit('no such thing')\n"),
    )
    assert found["killed"]["facts"] == {"a": 1}
    assert found["killed"]["failed"].startswith("it was ended by signal 6")
    assert found["wrong"]["failed"] == "it ended with exit code 1: no such thing"


def test_question_that_fails_and_noise_of_an_import_are_no_trouble() -> None:
    body = "answer_each([('a', lambda: print('noise')), ('b', lambda: 1 / 0), ('c', lambda: 3)])\n"
    (found,) = drive(one=(20, telling(body))).values()
    assert found["facts"] == {
        "a": None,
        "b": {"error": "ZeroDivisionError: division by zero"},
        "c": 3,
    }


def test_cpu_build_as_recorded() -> None:
    seen = facts.parse(completed(recorded("cpu")))
    assert dict(seen.runtime)["built for"] == "CPU"
    assert seen.wide is not None
    assert seen.wide.torch is not None
    assert (seen.wide.torch.cuda, seen.wide.torch.archs) == ("", None)
    assert seen.wide.torch.backends == ("gloo",)
    assert (seen.wide.torch.mkl, seen.wide.torch.openmp) == (True, True)
    assert seen.wide.failures == ()
    assert not seen.blind


def test_cuda_build_as_recorded() -> None:
    seen = facts.parse(completed(recorded("cuda")))
    assert dict(seen.runtime)["NCCL"] == "2.30.7"
    assert seen.wide is not None
    torch = seen.wide.torch
    assert torch is not None
    assert (torch.cuda, torch.cudnn) == ("13.0", "92400")
    assert torch.archs == ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120")
    assert torch.torchvision is not None
    assert (torch.torchvision.version, torch.torchvision.failed) == ("0.29.1+cu130", "")
    loaded = dict(seen.wide.runtimes.loaded or ())
    assert {kind: len(files) for kind, files in loaded.items()} == {
        "openmp": 1,
        "blas": 1,
        "cudart": 1,
        "nccl": 1,
        "cudnn": 1,
    }


def test_torch_that_hangs_in_cuda_is_known_as_far_as_it_came() -> None:
    answer = recorded("cuda")
    torch = answer["probes"]["torch"]
    for name in ("available", "torchvision", "torchaudio"):
        del torch["facts"][name]
    torch["failed"] = "no answer within 60 s"
    seen = facts.parse(completed(answer))
    assert dict(seen.runtime)["torch"] == "2.14.1+cu130"
    assert dict(seen.runtime)["cuda available"] == "error: no answer within 60 s"
    assert seen.wide is not None
    assert seen.wide.failures == (Failure("torch", "", "no answer within 60 s"),)


def test_torch_that_says_nothing_is_broken() -> None:
    answer = recorded("cpu")
    answer["probes"]["torch"] = {"facts": {}, "failed": "it was ended by signal 11"}
    seen = facts.parse(completed(answer))
    assert dict(seen.runtime)["torch"] == "broken: it was ended by signal 11"
    assert seen.wide is not None
    assert seen.wide.torch is None


def test_without_the_first_probe_the_node_is_blind_and_the_rest_is_kept() -> None:
    answer = recorded("cpu")
    answer["probes"]["base"] = {"facts": {}, "failed": "no answer within 40 s"}
    seen = facts.parse(completed(answer))
    assert seen.blind
    assert seen.runtime == (("python", "broken: no answer within 40 s"),)
    assert seen.wide is not None
    assert seen.wide.system.glibc == "2.36"


def test_clock_lies_between_what_asking_and_answering_allow() -> None:
    answer = recorded("cpu")
    answer |= {"began": 1000.5, "ended": 1003.0}
    seen = facts.parse(completed(answer, seconds=4.0), asked=990.0)
    assert seen.wide is not None
    assert seen.wide.clock == Clock(lowest=9.0, highest=10.5)


@pytest.mark.parametrize("wrong", [{"probes": {}}, {"probes": None}, {"probes": {"base": 3}}])
def test_answer_of_another_shape_is_a_blind_node(wrong: dict[str, Any]) -> None:
    seen = facts.parse(completed(wrong))
    assert seen.blind
    assert seen.wide is not None
    assert seen.wide.clock is None


def test_secret_in_a_failure_stays_hidden() -> None:
    answer = recorded("cpu")
    error = "OSError: https://user:hunter2@mirror.test/x"
    answer["probes"]["leaks"] = {"facts": {"paths": {"error": error}}, "failed": ""}
    seen = facts.parse(completed(answer))
    assert seen.wide is not None
    assert "hunter2" not in repr(seen.wide)
