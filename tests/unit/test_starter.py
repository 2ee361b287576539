"""The file to start from: every one that can come out is one that lint has nothing against."""

from __future__ import annotations

from itertools import product

import pytest

from envsync.errors import InputError
from envsync.lint import lint
from envsync.lint.wishes import cpu_wishes, cuda_wishes
from envsync.spec import EnvironmentSpec, parse_environment
from envsync.starter import CHANNELS, CPU, GPUS, LAST_PATCH, PYTHON_CHOICES, Answers, starter

VERSIONS = sorted({each for table in CHANNELS.values() for row in table.values() for each in row})


def spec(answers: Answers) -> EnvironmentSpec:
    return parse_environment(starter(answers).encode(), "environment.yml")


@pytest.mark.parametrize("channel", CHANNELS)
def test_every_combination_is_right_or_refused(channel: str) -> None:
    made = 0
    for torch, cuda, python in product(LAST_PATCH, [CPU, *GPUS, *VERSIONS], PYTHON_CHOICES):
        try:
            found = spec(Answers("", cuda, torch, channel, python))
        except InputError:
            continue
        made += 1
        assert found.notices == ()
        assert [each for each in lint(found) if each.level != "info"] == []
        assert bool(list(cpu_wishes(found))) == (cuda == CPU)
        assert bool(list(cuda_wishes(found))) == (cuda != CPU)
        if cuda in VERSIONS:
            (major,) = {each.major for each in cuda_wishes(found)} - {0}
            assert major == int(cuda.split(".")[0])
    assert made > 20


@pytest.mark.parametrize("channel", CHANNELS)
def test_each_torch_of_a_channel_has_a_cpu_build_and_each_cuda(channel: str) -> None:
    for torch, row in CHANNELS[channel].items():
        for cuda in (CPU, *row):
            assert spec(Answers("", cuda, torch, channel)).name.startswith("pretrain-c")


def test_defaults() -> None:
    found = spec(Answers())
    assert found.name == "pretrain-a100"
    assert found.channels == ("conda-forge", "nodefaults")
    assert [each.text for each in found.conda] == [
        "python=3.11",
        "pytorch=2.9.*=*cuda*",
        "cuda-version=12.9",
        "numpy=2.2",
    ]
    assert dict(found.variables) == {"OMP_NUM_THREADS": "8", "NCCL_DEBUG": "WARN"}


def test_wheels_carry_their_label() -> None:
    found = spec(Answers(cuda="h100", torch="2.7.1", channel="pip"))
    assert [each.text for each in found.pip[:2]] == [
        "--extra-index-url https://download.pytorch.org/whl/cu128",
        "torch==2.7.1+cu128",
    ]


@pytest.mark.parametrize(
    ("channel", "torch", "text"),
    [
        ("conda-forge", "2.5.1", "pytorch=2.5.1=*cuda*"),
        ("conda-forge", "2.5", "pytorch=2.5.*=*cuda*"),
        ("pytorch", "2.5.1", "pytorch::pytorch=2.5.1"),
        ("pytorch", "2.5", "pytorch::pytorch=2.5"),
    ],
)
def test_a_release_is_asked_for_as_it_was_said(channel: str, torch: str, text: str) -> None:
    found = spec(Answers(torch=torch, channel=channel))
    assert text in [each.text for each in found.conda]


def test_cuda_13_is_not_chosen_unasked() -> None:
    assert "cu128" in starter(Answers(cuda="h100", channel="pip"))
    assert "cu130" in starter(Answers(cuda="13.0", channel="pip"))


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (Answers(channel="pytorch", torch="2.6"), "the pytorch channel ended with torch 2.5"),
        (Answers(channel="defaults"), "'defaults' is no place that torch comes from"),
        (Answers(torch="1.0"), "torch 1.0 is not among those that are known here"),
        (Answers(torch="2.5.7"), "torch 2.5.7 is not among those that are known here"),
        (Answers(cuda="b200", torch="2.5"), "b200 wants one from 12.8 to 13.0"),
        (Answers(cuda="11.8"), "there is no build of torch 2.9 from conda-forge for CUDA 11.8"),
        (Answers(cuda="rtx"), "'rtx' is neither a GPU that is known here nor a version of CUDA"),
        (Answers(torch="2.4", python="3.13"), "torch 2.4 and Python 3.13 do not go together"),
        (Answers(name="env1"), "the name env1 does not say what the environment is for"),
        (Answers(name="a\nb: c"), "is not a name for an environment"),
        (Answers(name="base"), "base is conda's own environment"),
    ],
)
def test_refused(answers: Answers, message: str) -> None:
    with pytest.raises(InputError) as caught:
        starter(answers)
    assert message in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("name", ["1e3", "2024", "yes", "null", "0x10", "12.30", "1_000"])
def test_a_name_stays_text(name: str) -> None:
    text = starter(Answers(name=name))
    assert f'name: "{name}"\n' in text
    assert parse_environment(text.encode(), "x").name == name
