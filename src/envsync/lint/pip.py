"""What the pip section does to conda's packages."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.utils import canonicalize_name

from envsync.lint.rule import Blame, Rule, blame, place
from envsync.lint.wishes import TORCH_NAMES, is_conditional
from envsync.spec import EnvironmentSpec

SAME_THING = {
    "dask-core": "dask",
    "faiss": "faiss-cpu",
    "faiss-gpu": "faiss-cpu",
    "matplotlib-base": "matplotlib",
    "msgpack-python": "msgpack",
    "opencv-python": "opencv",
    "opencv-contrib-python": "opencv",
    "opencv-contrib-python-headless": "opencv",
    "opencv-python-headless": "opencv",
    "py-opencv": "opencv",
    "py-xgboost": "xgboost",
    "py-xgboost-gpu": "xgboost",
    "pytables": "tables",
    "python-flatbuffers": "flatbuffers",
    "python-graphviz": "graphviz",
    "python-xxhash": "xxhash",
    "ray-core": "ray",
    "ray-default": "ray",
    "torchtriton": "triton",
}
"""Names under which conda and PyPI carry the same importable package: the import names in the
recipes of conda-forge's feedstocks against those of PyPI."""

_CONDA_ONLY = frozenset({"graphviz"})
"""Conda's package of that name is the program, and PyPI's the Python bindings to it."""
_BY_THEMSELVES = frozenset({"pip", "setuptools", "wheel"})
"""Pip replaces these on its own now and then; nothing of theirs runs in a job."""

NUMERIC = frozenset(
    {"numpy", "scipy", "scikit-learn", "numexpr", "mkl", "mkl-service", "mkl-fft", "mkl-random"}
    | {"intel-openmp", "pandas", "numba"}
)
"""What pip brings with an own BLAS or OpenMP runtime, or with binaries made for a numpy."""
_NUMERIC_OF_CONDA = NUMERIC | {"blas", "libblas", "liblapack", "openblas", "libopenblas", "nomkl"}


def _torch_twice(spec: EnvironmentSpec) -> Iterator[Blame]:
    conda = next((each for each in spec.conda if each.name in TORCH_NAMES), None)
    pip = next((each for each in spec.pip if each.name == "torch"), None)
    if conda and pip:
        yield blame(
            pip,
            f"torch comes from pip here and from conda in {place(conda)}",
            "keep one of them: pip would write over conda's files",
        )


def _pip_missing(spec: EnvironmentSpec) -> Iterator[Blame]:
    if spec.pip and not any(each.name == "pip" for each in spec.conda):
        yield blame(
            spec.pip[0],
            "there is a pip section, but pip is not among the dependencies",
            "add `- pip`: not every channel's python brings it along",
        )


def _replaced(spec: EnvironmentSpec) -> Iterator[Blame]:
    conda = {_thing(each.name): each for each in spec.conda if each.name not in _CONDA_ONLY}
    for each in spec.pip:
        there = conda.get(_thing(each.name)) if each.name else None
        if there is None or each.name in _BY_THEMSELVES or is_conditional(each):
            continue
        yield blame(
            each,
            f"pip's {each.name} replaces conda's {there.name} of {place(there)}",
            "keep one of the two lines: conda goes on believing in its own version",
        )


def _thing(name: str) -> str:
    canonical = canonicalize_name(name)
    return SAME_THING.get(canonical, canonical)


def _numeric(spec: EnvironmentSpec) -> Iterator[Blame]:
    conda = {each.name: each for each in spec.conda if each.name in _NUMERIC_OF_CONDA}
    for each in spec.pip:
        # The same name in both is what ENV302 is for.
        if each.name not in NUMERIC or each.name in conda or is_conditional(each) or not conda:
            continue
        first = next(iter(conda.values()))
        yield blame(
            each,
            f"pip's {each.name} comes beside conda's {first.name} of {place(first)}",
            "take the numeric stack (numpy, scipy, MKL, OpenBLAS) from one of them, best from"
            " conda",
        )


RULES = (
    Rule(
        "ENV001",
        "error",
        "torch comes from conda and from pip",
        "pip writes over conda's files, and the build that wins depends on the order",
        _torch_twice,
    ),
    Rule(
        "ENV003",
        "warning",
        "a pip section without pip",
        "some nodes then use a pip from elsewhere, or have none",
        _pip_missing,
    ),
    Rule(
        "ENV301",
        "warning",
        "the numeric stack comes from pip beside conda's",
        "two BLAS and OpenMP runtimes in one process compete for cores, differ in their last"
        " digits, or abort it",
        _numeric,
    ),
    Rule(
        "ENV302",
        "warning",
        "pip replaces a package of conda's",
        "files of two versions lie over each other, and conda's record is wrong on every node",
        _replaced,
    ),
)
