"""A first environment.yml from a few answers: which torch, from where, for which CUDA. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from envsync.errors import InputError
from envsync.lint import lint
from envsync.lint.torch import PYTHONS
from envsync.lint.wishes import Minor, shown
from envsync.spec import environment_name, parse_environment

CPU = "cpu"

LAST_PATCH = {
    "2.4": "2.4.1",
    "2.5": "2.5.1",
    "2.6": "2.6.0",
    "2.7": "2.7.1",
    "2.8": "2.8.0",
    "2.9": "2.9.1",
}
"""The last release of each minor version of torch (PyTorch's release notes)."""

_WHEELS = {
    "2.4": ("11.8", "12.1", "12.4"),
    "2.5": ("11.8", "12.1", "12.4"),
    "2.6": ("11.8", "12.4", "12.6"),
    "2.7": ("11.8", "12.6", "12.8"),
    "2.8": ("12.6", "12.8", "12.9"),
    "2.9": ("12.6", "12.8", "13.0"),
}
"""The indexes of download.pytorch.org/whl (PyTorch, "Previous PyTorch Versions")."""
_FORGE = {
    "2.4": ("11.8", "12.4", "12.6"),
    "2.5": ("11.8", "12.6"),
    "2.6": ("12.6", "12.9"),
    "2.7": ("12.6", "12.9"),
    "2.8": ("12.9",),
    "2.9": ("12.9",),
}
"""What `cuda-version` may be: a build for CUDA 12.6 runs with all of 12.6 to 12.9, so that only
those stand here that are not older than a build (conda-forge/pytorch-cpu-feedstock)."""
_ENDED = dict.fromkeys(("2.4", "2.5"), ("11.8", "12.1", "12.4"))
"""The pytorch channel, whose last torch is 2.5 (pytorch/pytorch, issue 138506)."""

CHANNELS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "conda-forge": _FORGE,
    "pip": _WHEELS,
    "pytorch": _ENDED,
}
"""Where torch comes from; for each torch, the versions of CUDA that there are builds for."""

GPUS: Mapping[str, tuple[Minor, Minor]] = {
    "v100": ((9, 0), (12, 6)),
    "t4": ((10, 0), (13, 0)),
    "a100": ((11, 0), (13, 0)),
    "l40s": ((11, 8), (13, 0)),
    "h100": ((11, 8), (13, 0)),
    "h200": ((11, 8), (13, 0)),
    "b200": ((12, 8), (13, 0)),
}
"""First and last CUDA whose torch has code for a GPU: NVIDIA's "CUDA GPU Compute Capability" for
the first; torch leaves Volta out of its builds for 12.8 and later (PyTorch 2.8, release notes)."""

PYTHON_CHOICES = ("3.10", "3.11", "3.12", "3.13")
_CAUTIOUS = 12
"""The major version of CUDA that is chosen unasked: its driver floor is 525, that of 13 is 580."""


@dataclass(frozen=True)
class Answers:
    """What the user said; the defaults are what is taken where nothing was said."""

    name: str = ""
    """Empty: made from the hardware."""
    cuda: str = "a100"
    """A GPU (`a100`), a version of CUDA (`12.6`), or `cpu`."""
    torch: str = "2.9"
    channel: str = "conda-forge"
    python: str = "3.11"

    @property
    def called(self) -> str:
        """The environment's name: that of the work and of the hardware."""
        return self.name or f"pretrain-{hardware(self.cuda)}"


def hardware(cuda: str) -> str:
    """How an answer about CUDA stands in a name: `a100`, `cpu`, `cu126`."""
    found = cuda.strip().lower()
    return f"cu{found.replace('.', '')}" if re.fullmatch(r"[0-9.]+", found) else found


def starter(answers: Answers) -> str:
    """The text of a file that `envsync lint` has no error or warning for.

    Raises InputError where the answers do not go together, or make such a file impossible.
    """
    torch = _torch(answers)
    cuda = _cuda(answers, CHANNELS[answers.channel][torch])
    _check_python(answers.python, torch)
    name = environment_name(answers.called)
    asked = f"{torch}.*" if answers.torch == torch else answers.torch
    lines = _PARTS[answers.channel](asked, cuda, answers.python)
    text = "".join(f"{line}\n" for line in [*_head(name, answers, cuda), *lines, *_tail(cuda)])
    spec = parse_environment(text.encode(), "environment.yml")
    for found in lint(spec):
        if found.level != "info":
            raise InputError(found.message, hint=found.hint)
    return text


def _torch(answers: Answers) -> str:
    if answers.channel not in CHANNELS:
        raise InputError(
            f"{answers.channel!r} is no place that torch comes from",
            hint=f"choose one of {', '.join(CHANNELS)}",
        )
    minor = ".".join(answers.torch.split(".")[:2])
    known = CHANNELS[answers.channel]
    if answers.torch in known or (LAST_PATCH.get(minor) == answers.torch and minor in known):
        return minor
    ended = answers.channel == "pytorch" and minor in LAST_PATCH
    raise InputError(
        "the pytorch channel ended with torch 2.5"
        if ended
        else f"torch {answers.torch} is not among those that are known here",
        hint="take it from conda-forge or pip"
        if ended
        else f"from {answers.channel} there are {', '.join(known)}; another is easily written into"
        " the file afterwards",
    )


def _cuda(answers: Answers, there: tuple[str, ...]) -> str:
    """The version of CUDA, or `cpu`."""
    wanted = answers.cuda.strip().lower()
    if wanted == CPU or wanted in there:
        return wanted
    which = f"torch {answers.torch} from {answers.channel}"
    if re.fullmatch(r"\d+\.\d+", wanted):
        raise InputError(
            f"there is no build of {which} for CUDA {wanted}",
            hint=f"there are those for {', '.join(there)}, and one for {CPU}",
        )
    if wanted not in GPUS:
        raise InputError(
            f"{answers.cuda!r} is neither a GPU that is known here nor a version of CUDA",
            hint=f"say one of {', '.join(GPUS)}, a version such as {there[-1]}, or {CPU}",
        )
    first, last = GPUS[wanted]
    fitting = sorted((each for each in there if first <= _minor(each) <= last), key=_minor)
    if not fitting:
        raise InputError(
            f"{which} is made for CUDA {', '.join(there)}, and {wanted} wants one from"
            f" {shown(first)} to {shown(last)}",
            hint="choose another torch, or another channel",
        )
    return max(fitting, key=lambda each: (_minor(each)[0] <= _CAUTIOUS, _minor(each)))


def _minor(version: str) -> Minor:
    major, minor, *_ = version.split(".")
    return int(major), int(minor)


def _check_python(python: str, torch: str) -> None:
    first, last = PYTHONS[_minor(torch)]
    fitting = [each for each in PYTHON_CHOICES if first <= _minor(each) <= last]
    if python not in fitting:
        raise InputError(
            f"torch {torch} and Python {python} do not go together here",
            hint=f"choose one of {', '.join(fitting)}",
        )


def _head(name: str, answers: Answers, cuda: str) -> list[str]:
    hard = "nodes without GPUs" if cuda == CPU else f"GPUs with CUDA {cuda}"
    plain = yaml.safe_load(name) == name and name[0].isalpha()
    return [
        f"# torch {answers.torch} for {hard}. Made by `envsync init`; it is yours to change.",
        "# Several people share a cluster: the name says the work and the hardware.",
        f"name: {name}" if plain else f'name: "{name}"',
    ]


def _forge(torch: str, cuda: str, python: str) -> list[str]:
    build = "cpu" if cuda == CPU else "cuda"
    selector = [] if cuda == CPU else [f"  - cuda-version={cuda}     # what the drivers must run"]
    return [
        "channels:",
        "  - conda-forge",
        "  - nodefaults              # else each node's own settings may add Anaconda's channels",
        "dependencies:",
        f"  - python={python}",
        f"  - pytorch={torch}=*{build}*  # the build counts: a solver may choose the other one",
        *selector,
        "  - numpy=2.2",
    ]


def _ended(torch: str, cuda: str, python: str) -> list[str]:
    selector = "cpuonly" if cuda == CPU else f"pytorch-cuda={cuda}"
    return [
        "channels:",
        "  - pytorch                 # ended with torch 2.5: for a newer one, use conda-forge",
        *([] if cuda == CPU else ["  - nvidia                  # CUDA for the pytorch channel"]),
        "  - conda-forge",
        "  - nodefaults              # else each node's own settings may add Anaconda's channels",
        "dependencies:",
        f"  - python={python}",
        f"  - pytorch::pytorch={torch.removesuffix('.*')}",
        f"  - {selector}       # chooses the build of torch",
        "  - numpy=2.2",
    ]


def _wheels(torch: str, cuda: str, python: str) -> list[str]:
    label = CPU if cuda == CPU else f"cu{cuda.replace('.', '')}"
    release = LAST_PATCH[shown(_minor(torch))]
    return [
        "channels:",
        "  - conda-forge",
        "  - nodefaults              # else each node's own settings may add Anaconda's channels",
        "dependencies:",
        f"  - python={python}",
        "  - pip                     # torch comes from it: nothing of torch stands above",
        "  - pip:",
        f"      - --extra-index-url https://download.pytorch.org/whl/{label}",
        f"      - torch=={release}+{label}  # without the label, PyPI's build may come",
        "      - numpy==2.2.6",
    ]


_PARTS = {"conda-forge": _forge, "pytorch": _ended, "pip": _wheels}


def _tail(cuda: str) -> list[str]:
    threads = ['  OMP_NUM_THREADS: "8"      # or each rank starts a thread a core']
    nccl = [] if cuda == CPU else ["  NCCL_DEBUG: WARN          # says why a collective failed"]
    return ["variables:", *threads, *nccl]
