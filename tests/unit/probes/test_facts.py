"""Answers of facts.sh as nodes gave them, and what is made of them."""

from __future__ import annotations

import json

import pytest

from envsync.errors import HostError
from envsync.model import Package
from envsync.ports import Completed
from envsync.probes.facts import parse

CONDA = """\
numpy-1.26.4-py311_0.json:  "build": "py311_0",
numpy-1.26.4-py311_0.json:  "channel": "https://conda.anaconda.org/conda-forge/linux-64",
numpy-1.26.4-py311_0.json:    "lib/python3.11/site-packages/numpy-1.26.4.dist-info/METADATA",
numpy-1.26.4-py311_0.json:  "md5": "aa",
numpy-1.26.4-py311_0.json:  "name": "numpy",
numpy-1.26.4-py311_0.json:  "sha256": "bb",
numpy-1.26.4-py311_0.json:  "version": "1.26.4"
"""
MAMBA = """\
tzdata-2024a-h0.json:    "build_string": "h0",
tzdata-2024a-h0.json:    "build": "h0",
tzdata-2024a-h0.json:    "channel": "https://user:secret@mirror.test/t/tk-1234/forge/noarch",
tzdata-2024a-h0.json:    "name": "tzdata",
tzdata-2024a-h0.json:    "version": "2024a"
"""
NUMPY_DIST = {
    "name": "numpy",
    "version": "1.26.4",
    "path": "lib/python3.11/site-packages/numpy-1.26.4.dist-info/METADATA",
}
TORCH_DIST = {
    "name": "Torch_Thing",
    "version": "2.5.1",
    "path": "lib/python3.11/site-packages/torch_thing-2.5.1.dist-info/METADATA",
}
TORCH = {
    "version": "2.5.1+cu124",
    "cuda": "12.4",
    "hip": None,
    "cudnn": 90100,
    "available": True,
    "nccl": "2.21.5",
    "devices": ["NVIDIA H200", "NVIDIA H200", "NVIDIA A100"],
}


def answer(conda: str = CONDA, end: int = 0, **python: object) -> Completed:
    said = json.dumps({"python": "3.11.9", "driver": None, "torch": None, **python})
    text = f"@@prefix\n/h/envs/x\n@@conda\n{conda}@@python\n{said}\n@@end {end}\n"
    return Completed(0, text.encode())


def test_conda_package_with_all_that_identifies_it() -> None:
    (package,) = parse(answer()).conda
    assert package == Package("conda", "numpy", "1.26.4", "py311_0", "conda-forge", "aa")


def test_record_as_mamba_writes_it_and_no_secret_of_its_channel() -> None:
    (package,) = parse(answer(MAMBA)).conda
    assert package == Package("conda", "tzdata", "2024a", "h0", "mirror.test/forge")


def test_pip_packages_are_those_that_no_conda_record_claims() -> None:
    facts = parse(answer(distributions=[NUMPY_DIST, TORCH_DIST]))
    assert facts.pip == (Package("pip", "torch-thing", "2.5.1", channel="pypi"),)


def test_torch_as_it_sees_itself() -> None:
    runtime = dict(parse(answer(torch=TORCH, driver="550.54.15")).runtime)
    assert runtime == {
        "python": "3.11.9",
        "torch": "2.5.1+cu124",
        "built for": "CUDA 12.4",
        "cuda available": "yes",
        "cuDNN": "90100",
        "NCCL": "2.21.5",
        "GPUs": "1 x NVIDIA A100, 2 x NVIDIA H200",
        "driver": "550.54.15",
    }


def test_cpu_build_says_so() -> None:
    cpu = {**TORCH, "cuda": None, "available": False, "cudnn": None}
    runtime = dict(parse(answer(torch=cpu)).runtime)
    assert (runtime["built for"], runtime["cuda available"]) == ("CPU", "no")


@pytest.mark.parametrize(
    ("torch", "said"),
    [
        (None, "not installed"),
        ({"error": "OSError: libc10.so: cannot open"}, "broken: OSError: libc10.so: cannot open"),
    ],
)
def test_torch_that_is_missing_or_broken_is_a_fact(torch: object, said: str) -> None:
    assert dict(parse(answer(torch=torch)).runtime)["torch"] == said


def test_one_question_that_fails_does_not_take_the_others_down() -> None:
    torch = {**TORCH, "nccl": {"error": "AttributeError: no nccl"}}
    runtime = dict(parse(answer(torch=torch)).runtime)
    assert runtime["NCCL"] == "error: AttributeError: no nccl"
    assert runtime["cuDNN"] == "90100"


@pytest.mark.parametrize(
    ("end", "said"), [(127, "no python"), (124, "no answer within"), (1, "exit code 1")]
)
def test_python_that_cannot_answer_is_a_fact_beside_the_packages(end: int, said: str) -> None:
    text = f"@@prefix\n/h/envs/x\n@@conda\n{CONDA}@@python\n@@end {end}\n"
    facts = parse(Completed(0, text.encode()))
    assert said in dict(facts.runtime)["python"]
    assert len(facts.conda) == 1


def test_no_environment_is_an_error_with_the_next_step() -> None:
    with pytest.raises(HostError) as caught:
        parse(Completed(4, b"", b"there is no environment at /h/envs/x\n"))
    assert caught.value.cause == "no-environment"
    assert "envsync push" in caught.value.hint


def test_cut_off_answer_is_an_error() -> None:
    with pytest.raises(HostError):
        parse(Completed(0, b"@@prefix\n/h/envs/x\n@@conda\n"))


def test_damaged_record_is_still_a_package() -> None:
    damaged = 'my-pkg-1.0-h_0.json:\nmy-pkg-1.0-h_0.json:  "name": "my-pkg",\n'
    (package,) = parse(answer(damaged)).conda
    assert (package.name, package.version) == ("my-pkg", "1.0")
    assert package.build == "h_0 (damaged record)"
