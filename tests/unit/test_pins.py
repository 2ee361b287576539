"""Whether a prefix holds what a file asks for, by conda's and pip's own rules."""

from __future__ import annotations

import pytest

from envsync.facts import Facts
from envsync.model import Package
from envsync.pins import Unmet, unmet
from envsync.spec import parse_environment

FACTS = Facts(
    prefix="/p",
    conda=(
        Package("conda", "numpy", "1.26.4", "py311h_0"),
        Package("conda", "python", "3.11.9", "h_0_cpython"),
        Package("conda", "typing_extensions", "4.12.2", "pyhd"),
    ),
    pip=(Package("pip", "einops", "0.8.0"), Package("pip", "torch", "2.5.1+cu124")),
    runtime=(),
)


def lacking(conda: str = "python", pip: str = "", facts: Facts = FACTS) -> tuple[Unmet, ...]:
    text = f"name: x\ndependencies:\n  - '{conda}'\n"
    if pip:
        text += f"  - pip:\n    - '{pip}'\n"
    return unmet(parse_environment(text.encode(), "f"), facts)


@pytest.mark.parametrize(
    "text",
    ["numpy", "numpy=1.26", "numpy>=1.20,<2", "numpy==1.26.4", "numpy 1.26.4 py311h_0",
     "conda-forge::numpy=1.26", "numpy[build=py311*]", "numpy[version=1.26.*,license=BSD]",
     "numpy[md5=d41d8cd98f00b204e9800998ecf8427e]", "conda-forge/noarch::numpy",
     "https://h.test/linux-64/numpy-1.26.4-py311h_0.conda", "python=3.11", "typing_extensions"],
)  # fmt: skip
def test_conda_requirements_that_are_met(text: str) -> None:
    assert lacking(text) == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("numpy=1.25", "1.26.4 py311h_0"),
        ("numpy==1.26", "1.26.4 py311h_0"),
        ("numpy[build=*cuda*]", "1.26.4 py311h_0"),
        ("https://h.test/linux-64/numpy-1.25.0-py311h_0.conda", "1.26.4 py311h_0"),
        ("scipy", ""),
    ],
)
def test_conda_requirements_that_are_not(text: str, found: str) -> None:
    assert lacking(text) == (Unmet(text, 3, found),)


@pytest.mark.parametrize(
    "text",
    ["einops", "einops==0.8.0", "einops>=0.7", "torch==2.5.1", "Typing-Extensions>=4",
     'nothere; sys_platform == "win32"', "--no-index",
     "git+https://host.test/einops.git#egg=einops", "einops==0.8.0 --hash=sha256:00"],
)  # fmt: skip
def test_pip_requirements_that_are_met(text: str) -> None:
    assert lacking(pip=text) == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [("einops==0.7", "0.8.0 (pip)"), ("rotary", ""), ("torch==2.4.0", "2.5.1+cu124 (pip)")],
)
def test_pip_requirements_that_are_not(text: str, found: str) -> None:
    assert lacking(pip=text) == (Unmet(text, 5, found),)


def test_pip_over_conda_is_what_counts() -> None:
    over = Facts("/p", FACTS.conda, (Package("pip", "numpy", "2.1.0"),), ())
    assert lacking("numpy=1.26", facts=over) == (Unmet("numpy=1.26", 3, "2.1.0 (pip)"),)
    assert lacking("numpy", facts=over) == ()
    assert lacking("numpy>=2", facts=over) == ()


@pytest.mark.parametrize(
    "text",
    ['einops==0.7 ; python_version < "3.10"', 'einops==0.7 ; sys_platform == "linux"',
     'einops==0.7 ; extra == "x"', 'rotary ; python_full_version < "3.11.9"'],
)  # fmt: skip
def test_marker_that_does_not_hold_or_cannot_be_judged_asks_for_nothing(text: str) -> None:
    assert lacking(pip=text) == ()


def test_marker_that_holds_is_judged() -> None:
    text = 'einops==0.7 ; python_version >= "3.11"'
    assert lacking(pip=text) == (Unmet(text, 5, "0.8.0 (pip)"),)


def test_known_markers_of_the_node_are_judged() -> None:
    text = 'einops==0.7 ; sys_platform == "linux"'
    file = f"name: x\ndependencies:\n  - pip:\n    - '{text}'\n"
    spec = parse_environment(file.encode(), "f")
    assert unmet(spec, FACTS, {"sys_platform": "linux"}) == (Unmet(text, 4, "0.8.0 (pip)"),)
    assert unmet(spec, FACTS, {"sys_platform": "darwin"}) == ()
