"""Torch against CUDA and Python."""

from __future__ import annotations

from collections.abc import Iterator

from envsync.lint.rule import Blame, Rule, blame, place
from envsync.lint.wishes import (
    TORCH_NAMES,
    channel_name,
    cpu_wishes,
    cuda_wishes,
    is_conditional,
    lowest,
    only,
    shown,
)
from envsync.requirement import Requirement
from envsync.spec import EnvironmentSpec

PYTHONS = {
    (1, 8): ((3, 6), (3, 9)),
    (1, 9): ((3, 6), (3, 9)),
    (1, 10): ((3, 6), (3, 10)),
    (1, 11): ((3, 7), (3, 10)),
    (1, 12): ((3, 7), (3, 10)),
    (1, 13): ((3, 7), (3, 11)),
    (2, 0): ((3, 8), (3, 11)),
    (2, 1): ((3, 8), (3, 11)),
    (2, 2): ((3, 8), (3, 12)),
    (2, 3): ((3, 8), (3, 12)),
    (2, 4): ((3, 8), (3, 12)),
    (2, 5): ((3, 9), (3, 13)),
    (2, 6): ((3, 9), (3, 13)),
    (2, 7): ((3, 9), (3, 13)),
    (2, 8): ((3, 9), (3, 13)),
    (2, 9): ((3, 10), (3, 14)),
    (2, 10): ((3, 10), (3, 14)),
    (2, 11): ((3, 10), (3, 14)),
    (2, 12): ((3, 10), (3, 14)),
}
"""First and last Python that torch's wheels on PyPI are made for. PyTorch's RELEASE.md,
"Release Compatibility Matrix", has the same from 1.12 on, with some of the last ones given as
experimental or left out; where the two differ, it is PyPI that a node asks."""

SELECTOR_SINCE = (1, 13)
"""Of the pytorch channel: pytorch-cuda selects "CUDA version 11.6 and forward", which torch 1.13
began with (pytorch/test-infra, pull request 1351)."""
WITHOUT_TOOLKIT = (2, 6)
"""Of conda-forge, whose builds for CUDA 11.8 ended in the days of torch 2.5
(conda-forge/pytorch-cpu-feedstock, pull request 293)."""
LAST_TOOLKIT = 11
"""The last CUDA of conda-forge's cudatoolkit is 11.8; CUDA 12 came as many packages
(conda-forge/conda-forge.github.io, issue 1963)."""


def _toolkit(spec: EnvironmentSpec) -> Iterator[Blame]:
    torch = next((each for each in spec.conda if each.name in TORCH_NAMES), None)
    if torch is None:
        return
    at = lowest(torch.version)
    from_pytorch = torch.channel == "pytorch" or "pytorch" in map(channel_name, spec.channels)
    since = SELECTOR_SINCE if from_pytorch else WITHOUT_TOOLKIT
    for each in spec.conda:
        if each.name != "cudatoolkit":
            continue
        cuda = lowest(each.version)
        if (at and at >= since) or (cuda and cuda[0] > LAST_TOOLKIT):
            wanted = "pytorch-cuda" if from_pytorch else "cuda-version"
            yield blame(
                each,
                f"cudatoolkit does not choose the CUDA of the torch of {place(torch)}",
                f"ask for {wanted} instead, or the solver chooses the build, maybe the CPU one",
            )


def _two_cudas(spec: EnvironmentSpec) -> Iterator[Blame]:
    known = [each for each in cuda_wishes(spec) if each.major]
    for each in known:
        if each.major != known[0].major:
            yield blame(
                each,
                f"{each.text} is for CUDA {each.major}, and {known[0].text} of"
                f" {place(known[0])} for CUDA {known[0].major}",
                "keep one major version of CUDA, one that every node's driver can do",
            )
            return


def _cpu_beside_cuda(spec: EnvironmentSpec) -> Iterator[Blame]:
    cuda = next(cuda_wishes(spec), None)
    for each in cpu_wishes(spec):
        if cuda:
            yield blame(
                each,
                f"{each.text} asks for a torch without CUDA, and {place(cuda)} for CUDA",
                "remove this one, if the nodes are to use their GPUs",
            )


def _cpu(spec: EnvironmentSpec) -> Iterator[Blame]:
    if next(cuda_wishes(spec), None):
        return
    for each in cpu_wishes(spec):
        yield blame(
            each,
            f"{each.text} asks for a torch without CUDA",
            "this is right for nodes without GPUs, and for them alone",
        )


def _python(spec: EnvironmentSpec) -> Iterator[Blame]:
    python = next((only(each.version) for each in spec.conda if each.name == "python"), None)
    for each in _wheels(spec):
        at = only(each.version)
        first, last = PYTHONS.get(at, (None, None)) if at else (None, None)
        if python and at and first and last and not first <= python <= last:
            yield blame(
                each,
                f"torch {shown(at)} is not made for Python {shown(python)}",
                f"it is made for Python {shown(first)} to {shown(last)}",
            )


def _wheels(spec: EnvironmentSpec) -> Iterator[Requirement]:
    """Torch where PyTorch's own builds are asked for: conda-forge may build for more Pythons."""
    own = {"pytorch"} == {channel_name(each) for each in spec.channels} & {"pytorch", "conda-forge"}
    for each in spec.conda:
        if each.name in TORCH_NAMES and (each.channel == "pytorch" or (own and not each.channel)):
            yield each
    for each in spec.pip:
        if each.name == "torch" and not is_conditional(each):
            yield each


RULES = (
    Rule(
        "ENV401",
        "warning",
        "`cudatoolkit` with a torch that does not heed it",
        "newer torch is chosen by `pytorch-cuda` or `cuda-version`; without them a node may get"
        " the CPU build",
        _toolkit,
    ),
    Rule(
        "ENV402",
        "warning",
        "two major versions of CUDA",
        "a process with two CUDA runtimes fails at the first kernel or collective that meets both",
        _two_cudas,
    ),
    Rule(
        "ENV403",
        "warning",
        "a CPU build of torch beside CUDA packages",
        "torch.cuda.is_available() is False, NCCL is missing, and the job runs a hundred times"
        " slower or not at all",
        _cpu_beside_cuda,
    ),
    Rule(
        "ENV404",
        "info",
        "a CPU build of torch",
        "right on nodes without GPUs, an accident on others",
        _cpu,
    ),
    Rule(
        "ENV405",
        "error",
        "torch has no wheel for this Python",
        "no node can install it, and the first one says so after minutes",
        _python,
    ),
)
