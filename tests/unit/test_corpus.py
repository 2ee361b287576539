"""The reader, held against what a real conda made of each file of the corpus.

`corpus/expected.json` is made by `make corpus`. Where envsync does something else, a
line in one of the tables below says why; a line that is no longer true fails.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rattler import MatchSpec

from corpus.differences import OTHERWISE, READ, REFUSED
from envsync.errors import InputError
from envsync.manifest import parse_manifest
from envsync.requirement import Requirement
from envsync.spec import EnvironmentSpec

CORPUS = Path(__file__).parents[1] / "corpus"
EXPECTED: dict[str, dict[str, Any]] = json.loads(
    (CORPUS / "expected.json").read_text(encoding="utf-8")
)["files"]


def test_every_file_has_an_answer_and_every_difference_a_file() -> None:
    files = {file.name for file in CORPUS.glob("*.y*ml")}
    assert set(EXPECTED) == files
    tables = [*REFUSED, *READ, *OTHERWISE]
    assert set(tables) <= files
    assert len(tables) == len(set(tables))


@pytest.mark.parametrize("file", EXPECTED)
def test_reads_as_conda_does(file: str) -> None:
    conda = EXPECTED[file]
    assert file not in REFUSED or "error" not in conda
    assert file not in READ or "error" in conda
    if file in REFUSED or ("error" in conda and file not in READ):
        refused(file)
        return
    spec = read(file)
    if file not in READ:
        assert different(spec, conda) == OTHERWISE.get(file, (set(), ""))[0]


def read(file: str) -> EnvironmentSpec:
    return parse_manifest((CORPUS / file).read_bytes(), file).spec


def refused(file: str) -> None:
    with pytest.raises(InputError) as caught:
        read(file)
    assert caught.value.file == file
    assert caught.value.hint
    # A file that holds nothing, or no characters, has no line to blame.
    nothing = ("it is empty", "it is not UTF-16 text")
    assert caught.value.line or caught.value.message in nothing


def different(spec: EnvironmentSpec, conda: dict[str, Any]) -> set[str]:
    """The parts in which the two readings are not the same."""
    added = [] if any(each.name == "pip" for each in spec.conda) or not spec.pip else ["pip"]
    pairs = {
        "name": (spec.name, conda["name"]),
        "channels": (list(spec.channels), conda["channels"]),
        "dependencies": (
            sorted(map(normal, [*(each.text for each in spec.conda), *added])),
            sorted(map(normal, conda["conda"])),
        ),
        "pip": ([each.text for each in spec.pip], conda["pip"]),
        "variables": (dict(spec.variables), conda["variables"]),
    }
    return {part for part, (ours, theirs) in pairs.items() if ours != theirs}


def normal(text: str) -> str:
    """One text for all that asks for the same packages."""
    spec = MatchSpec(text)
    version = None if str(spec.version) == "*" else spec.version
    channel = None if text.startswith("*::") or spec.channel is None else spec.channel.name
    fields = (version, spec.build, spec.build_number, channel, spec.subdir, spec.md5)
    return " ".join([spec.name.normalized, *map(str, fields)])


def test_a_line_is_told_for_everything_that_is_read() -> None:
    for file in EXPECTED.keys() - REFUSED.keys():
        try:
            spec = read(file)
        except InputError:
            continue
        lines = len((CORPUS / file).read_bytes().decode(errors="replace").splitlines())
        entries: tuple[Requirement, ...] = (*spec.conda, *spec.pip)
        assert all(1 <= each.line <= lines for each in entries), file
