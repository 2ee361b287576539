"""Where a rule ends: what it must find besides its page's example, and what it must leave alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from envsync.lint import RULES, Finding, lint
from envsync.spec import parse_environment, read_environment

HEAD = "name: x\nchannels: [conda-forge, nodefaults]\ndependencies:\n  - python=3.11\n"

HARMLESS = {
    "lines with markers exclude each other": HEAD
    + "  - pip\n  - pip:\n"
    + "    - torch==2.5 ; sys_platform == 'linux'\n    - torch==2.2 ; sys_platform == 'darwin'\n",
    "extras of one package add up": HEAD
    + "  - pip\n  - pip:\n    - ray==2.9\n    - ray[tune]==2.9\n",
    "a build is a pin": HEAD + "  - pytorch[build=*cuda*]\n",
    "SSH's user is no secret": HEAD
    + "  - pip\n  - pip:\n    - x @ git+ssh://git@h.test/x\n    - y @ git+https://git@h.test/y\n",
    "nor is what a node fills in": HEAD
    + "  - pip\n  - pip:\n    - --index-url https://me:${TOKEN}@h.test/simple\n",
    "a marker may be for Windows": HEAD
    + "  - pip\n  - pip:\n    - pywin32==306 ; sys_platform == 'win32'\n",
    "an old cudatoolkit chose an old torch": HEAD.replace("11", "11\n  - pip")
    + "  - pytorch=2.1\n  - cudatoolkit=11.8\n",
    "conda-forge has torch 2.6 for itself": HEAD.replace("conda-forge", "pytorch, conda-forge")
    + "  - conda-forge::pytorch=2.6\n",
    "a range may still end on the channel": HEAD.replace("conda-forge", "pytorch")
    + "  - pytorch>=2.4\n",
    "conda-forge builds for Pythons of its own choice": HEAD.replace("3.11", "3.13")
    + "  - pytorch=2.4\n",
    "an open Python may be a fitting one": HEAD.replace("=3.11", ">=3.9")
    + "  - pip\n  - pip:\n    - torch==2.9.0\n",
    "pip's tools replace themselves": HEAD
    + "  - pip\n  - setuptools=70\n  - pip:\n"
    + "    - setuptools==71\n",
    "conda's graphviz is the program": HEAD
    + "  - graphviz=9\n  - pip\n  - pip:\n"
    + "    - graphviz==0.20\n",
    "a word in a build is no platform": HEAD + "  - darwinian=1.0=py311_window_0\n",
    "so is a URL": HEAD + "  - pip\n  - pip:\n    - torch @ https://h.test/torch.whl\n",
}


def codes(text: str) -> list[Finding]:
    return list(lint(parse_environment(text.encode(), "f.yml")))


@pytest.mark.parametrize("why", HARMLESS)
def test_no_false_alarm(why: str) -> None:
    assert codes(HARMLESS[why]) == []


@pytest.mark.parametrize("text", ["pytorch::pytorch", "pytorch=*"])
def test_a_channel_or_a_star_is_no_pin(text: str) -> None:
    assert [each.code for each in codes(HEAD + f"  - {text}\n")] == ["ENV005"]


def test_a_marker_or_an_extra_is_no_pin() -> None:
    text = HEAD + "  - pip\n  - pip:\n    - torch[x] ; python_version > '3'\n"
    assert [each.code for each in codes(text)] == ["ENV005"]


def test_codes_are_in_order_and_titles_differ() -> None:
    assert [rule.code for rule in RULES] == sorted({rule.code for rule in RULES})
    assert len({rule.title for rule in RULES}) == len(RULES)


BROKEN = {
    "a channel before the name counts": (
        HEAD + "  - pytorch::pytorch=2.6\n",
        [("ENV202", 5)],
    ),
    "Python too old for the wheel": (
        HEAD.replace("3.11", "3.9") + "  - pip\n  - pip:\n    - torch==2.9.0\n",
        [("ENV103", 4), ("ENV405", 7)],
    ),
    "the channel's torch is made for the Pythons of its wheels": (
        HEAD.replace("conda-forge", "pytorch").replace("3.11", "3.13") + "  - pytorch=2.4.0\n",
        [("ENV405", 5)],
    ),
    "an index for CPU beside a wheel for CUDA": (
        HEAD + "  - pip\n  - pip:\n    - --index-url https://download.pytorch.org/whl/cpu\n"
        "    - torch==2.5.1\n    - nvidia-nccl-cu12==2.21.5\n",
        [("ENV403", 7)],
    ),
    "cpuonly beside pytorch-cuda": (
        HEAD + "  - pytorch=2.4\n  - cpuonly\n  - pytorch-cuda=12.4\n",
        [("ENV403", 6)],
    ),
    "wheels of two CUDAs": (
        HEAD + "  - pip\n  - pip:\n    - nvidia-cublas-cu11==11.11\n    - cupy-cuda12x==13\n",
        [("ENV402", 8)],
    ),
    "the new toolkit of conda-forge is not called cudatoolkit": (
        HEAD + "  - pytorch=2.3\n  - cudatoolkit=12.1\n",
        [("ENV401", 6)],
    ),
    "the pytorch channel's own selector": (
        HEAD.replace("conda-forge", "pytorch") + "  - pytorch=1.13\n  - cudatoolkit=11.7\n",
        [("ENV401", 6)],
    ),
    "a subdir in brackets": (
        HEAD + "  - vtk[version='9.3',subdir=osx-64]\n",
        [("ENV501", 5)],
    ),
    "a channel and its platform": (HEAD + "  - conda-forge/win-64::vtk=9.3\n", [("ENV501", 5)]),
    "families of packages": (
        HEAD + "  - m2w64-gcc-libs=5.3\n  - appnope=0.1.2\n",
        [("ENV502", 5), ("ENV502", 6)],
    ),
    "defaults alone is Anaconda's as well": (
        HEAD.replace("conda-forge, nodefaults", "defaults"),
        [("ENV201", 2)],
    ),
    "no channels at all leave it to the node": (
        "name: x\ndependencies:\n  - python=3.11\n",
        [("ENV201", 0)],
    ),
    "pip names are normalised": (
        HEAD + "  - ruamel.yaml=0.18\n  - pip\n  - pip:\n    - ruamel_yaml==0.17\n",
        [("ENV302", 8)],
    ),
    "Python 2 is older than the table": (HEAD.replace("3.11", "2.7"), [("ENV103", 4)]),
    "channels as addresses": (
        HEAD.replace("[conda-forge, nodefaults]", "[https://h.test/conda-forge/, defaults]"),
        [("ENV006", 0)],
    ),
}


@pytest.mark.parametrize("why", BROKEN)
def test_what_is_found_and_where(why: str) -> None:
    text, expected = BROKEN[why]
    assert [(each.code, each.line) for each in codes(text)] == expected


SECRET = "hunter2hunter2"  # noqa: S105 (what must not be shown)


@pytest.mark.parametrize(
    "line",
    [
        f"  - https://h.test/t/{SECRET}/team::python=3.11",
        f"  - pip: ['--index-url https://me:{SECRET}@h.test/simple', 'a==1']",
        f"  - pip: ['a @ https://h.test/a.whl?token={SECRET}']",
        f"  - pip: ['a @ git+https://{SECRET}@h.test/a']",
        f"  - python=3.11  # from https://me:{SECRET}@h.test/",
        f"  - pytorch=2.6=cpu  # https://h.test/t/{SECRET}/x",
    ],
)
def test_secrets_are_found_and_never_shown(line: str) -> None:
    found = codes(HEAD + f"  - pip\n{line}\n")
    assert ("ENV601", 6) in [(each.code, each.line) for each in found]
    assert SECRET not in str(found)


@pytest.mark.parametrize(
    "name", ["env", "env1", "test", "my-env", "py310", "python3.11", "torch_env"]
)
def test_vague_names(name: str) -> None:
    assert [each.code for each in codes(HEAD.replace("name: x", f"name: {name}"))] == ["ENV101"]


@pytest.mark.parametrize("name", ["nlp", "torch-bench", "testbed", "train", "environment-models"])
def test_names_that_say_something(name: str) -> None:
    assert codes(HEAD.replace("name: x", f"name: {name}")) == []


def test_reasons_and_hints_are_there() -> None:
    assert all(rule.reason and rule.check for rule in RULES)
    assert all(each.hint for text, _ in BROKEN.values() for each in codes(text))


def test_secrets_of_a_constraints_file_are_found(tmp_path: Path) -> None:
    path = tmp_path / "environment.yml"
    path.write_text("name: nlp-a100\ndependencies:\n- python=3.11\n- pip\n- pip:\n  - -c c.txt\n")
    (tmp_path / "c.txt").write_text("torch\n# https://user:hunter2@h.test/\n")
    found = [each for each in lint(read_environment(path)) if each.file == "c.txt"]
    assert [(each.code, each.line) for each in found] == [("ENV601", 2)]


def test_requirements_files_count_with_their_own_lines(tmp_path: Path) -> None:
    path = tmp_path / "environment.yml"
    path.write_text(
        "name: nlp-a100\nchannels: [conda-forge, nodefaults]\ndependencies:\n- python=3.11\n"
        "- pytorch=2.5\n- scipy=1.11\n- pip\n- pip:\n  - -r lists/r.txt\n  - rich==13.0\n"
    )
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "r.txt").write_text(
        "# x\ntorch\nnumpy==1.26.4\nrich==14.0\nrich==14.1\n-r more.txt\n"
    )
    (tmp_path / "lists" / "more.txt").write_text(
        "--extra-index-url https://download.pytorch.org/whl/cu121\nnvidia-nccl-cu11\n"
        "-i https://user:hunter2@h.test/simple\n"
    )
    found = {(each.code, each.file, each.line): each for each in lint(read_environment(path))}
    first, more = "lists/r.txt", "lists/more.txt"
    assert {
        ("ENV001", first, 2),
        ("ENV002", first, 5),
        ("ENV005", first, 2),
        ("ENV301", first, 3),
        ("ENV402", more, 2),
        ("ENV601", more, 3),
    } <= {(code, file.removeprefix(f"{tmp_path}/"), line) for code, file, line in found}
    assert [code for code, *_ in found].count("ENV002") == 1  # and not for line 10
    (cuda,) = (each for each in found.values() if each.code == "ENV402")
    assert "lists/more.txt:1 for CUDA 12" in cuda.message
    assert not any("hunter2" in each.message + each.hint for each in found.values())
