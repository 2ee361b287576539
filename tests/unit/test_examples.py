"""The files that users start from are files that envsync itself has nothing against."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from envsync.inventory import read_inventory
from envsync.lint import lint
from envsync.spec import read_environment

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.yml")), ids=lambda file: file.name)
def test_environment_files(file: Path) -> None:
    spec = read_environment(file)
    assert spec.notices == ()
    assert lint(spec) == ()


def test_hosts() -> None:
    inventory = read_inventory(str(EXAMPLES / "hosts.txt"), io.StringIO())
    assert len(inventory.hosts) == 17
    assert inventory.warnings == ()
