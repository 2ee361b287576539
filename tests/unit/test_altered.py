"""What is made of a node's files."""

from __future__ import annotations

import pytest

from envsync.altered import altered
from envsync.model import Host
from envsync.probes.deep import Files, Kind
from envsync.rules import Level

HOST = Host("n1")


def test_nothing_is_said_of_files_that_nobody_looked_at_or_that_are_well() -> None:
    assert altered(HOST, None) == []
    assert altered(HOST, Files(files=10)) == []


@pytest.mark.parametrize(
    ("kind", "level", "drift"),
    [
        ("changed", Level.ERROR, True),
        ("missing", Level.ERROR, True),
        ("damaged", Level.ERROR, True),
        ("overwritten", Level.WARNING, False),
        ("foreign", Level.WARNING, False),
        ("unreadable", Level.WARNING, False),
        ("other", Level.INFO, False),
        ("moved", Level.INFO, False),
    ],
)
def test_each_kind_has_its_level(kind: str, level: Level, *, drift: bool) -> None:
    (found,) = altered(HOST, Files({kind: Kind(1, (("lib/a.py", "a 1.0"),))}))
    assert (found.level, found.drift, found.what) == (level, drift, f"{kind} files")
    assert found.message.endswith(": lib/a.py (a 1.0)")


def test_few_names_stand_for_many() -> None:
    names = tuple((f"m{number}.py", "") for number in range(50))
    (found,) = altered(HOST, Files({"missing": Kind(300, names)}))
    assert found.message == (
        "300 files gone since they were installed: m0.py, m1.py, m2.py, m3.py, m4.py, and 295 more"
    )


def test_owner_of_several_files_is_named_once_and_one_file_is_one() -> None:
    pairs = (("a.py", "numpy 1"), ("b.py", "numpy 1"), ("c.py", "tiny 2"))
    (found,) = altered(HOST, Files({"changed": Kind(3, pairs)}))
    assert found.message.endswith(": a.py, b.py (numpy 1), c.py (tiny 2)")
    (one,) = altered(HOST, Files({"changed": Kind(1, pairs[:1])}))
    assert one.message == "1 file changed since it was installed: a.py (numpy 1)"


def test_comparison_that_failed_is_a_warning() -> None:
    (found,) = altered(HOST, Files(failed="the files were not read within 1800 s"))
    assert (found.level, found.drift) == (Level.WARNING, False)
