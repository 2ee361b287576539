"""Who differs, in what, and from whom."""

from __future__ import annotations

from dataclasses import replace

from envsync.compare import ABSENT, RUNTIME, compare, differences
from envsync.facts import Facts
from envsync.model import UNKNOWN, Package

NUMPY = Package("conda", "numpy", "1.26.4", "py311_0", "conda-forge", "a" * 64)
TORCH = Package("pip", "torch", "2.5.1", channel="pypi")
NODE = Facts("/p", (NUMPY,), (TORCH,), (("python", "3.11.9"), ("torch", "2.5.1")))


def test_equal_nodes_have_no_difference() -> None:
    rows = compare([NODE, NODE, NODE])
    assert [row.name for row in rows] == ["python", "torch", "numpy", "torch"]
    assert differences(rows) == ()


def test_pip_over_conda_is_one_row_with_both_versions() -> None:
    drifted = replace(NODE, pip=(TORCH, Package("pip", "numpy", "2.1.0")))
    (row,) = differences(compare([NODE, drifted, NODE]))
    assert (row.group, row.name) == ("conda", "numpy")
    assert row.values == ("1.26.4 py311_0", "2.1.0 (pip)", "1.26.4 py311_0")
    assert (row.majority, row.odd, row.matters) == ("1.26.4 py311_0", (1,), True)


def test_another_origin_of_the_same_version_is_a_difference() -> None:
    edited = replace(NODE, pip=(replace(TORCH, origin="/home/ada/torch (editable)"),))
    (row,) = differences(compare([NODE, edited, NODE]))
    index = "2.5.1 (pip) from an index"
    assert row.values == (index, "2.5.1 (pip) from /home/ada/torch (editable)", index)
    assert (row.matters, row.odd) == (True, (1,))


def test_lock_that_knows_the_commit_alone_is_compared_by_it() -> None:
    lock = replace(NODE, pip=(Package("pip", "torch", UNKNOWN, origin="git+https://h/t@aa"),))
    same = replace(NODE, pip=(replace(TORCH, origin="git+https://h/t@aa"),))
    other = replace(NODE, pip=(replace(TORCH, origin="git+https://h/t@bb"),))
    assert differences(compare([lock, same])) == ()
    (row,) = differences(compare([lock, other]))
    assert row.values == ("from git+https://h/t@aa", "2.5.1 (pip) from git+https://h/t@bb")


def test_conda_and_pip_spell_one_name_in_different_ways() -> None:
    conda = replace(NODE, conda=(Package("conda", "typing_extensions", "4.1", "0"),))
    both = replace(conda, pip=(TORCH, Package("pip", "typing-extensions", "4.2")))
    (row,) = differences(compare([conda, both]))
    assert row.name == "typing_extensions"
    assert row.values == ("4.1 0", "4.2 (pip)")


def test_what_a_node_lacks_is_shown_as_absent() -> None:
    (row,) = differences(compare([NODE, replace(NODE, pip=())]))
    assert row.values == ("2.5.1 (pip)", ABSENT)
    assert row.group == "pip"


def test_same_version_and_build_with_another_file_is_a_difference() -> None:
    other = replace(NODE, conda=(replace(NUMPY, digest="b" * 64),))
    (row,) = differences(compare([NODE, other]))
    assert row.values == ("1.26.4 py311_0 #aaaaaaaa", "1.26.4 py311_0 #bbbbbbbb")


def test_hashes_of_different_kinds_are_not_compared() -> None:
    md5 = replace(NODE, conda=(replace(NUMPY, digest="c" * 32),))
    assert differences(compare([NODE, md5])) == ()


def test_driver_may_differ_but_torch_may_not() -> None:
    one = replace(NODE, runtime=(("torch", "2.5.1"), ("driver", "550.54")))
    two = replace(NODE, runtime=(("torch", "2.5.0"), ("driver", "535.10")))
    torch, driver = (row for row in compare([one, two]) if row.group == RUNTIME)
    assert torch.matters
    assert driver.differs
    assert not driver.matters


def test_majority_of_a_tie_is_the_first_node() -> None:
    other = replace(NODE, pip=(replace(TORCH, version="2.4.0"),))
    (row,) = differences(compare([NODE, other]))
    assert row.odd == (1,)


def test_of_two_nodes_the_sound_one_is_right() -> None:
    other = replace(NODE, pip=(replace(TORCH, version="2.4.0"),))
    (row,) = differences(compare([other, NODE], doubtful=[0]))
    assert (row.majority, row.odd) == ("2.5.1 (pip)", (0,))


def test_what_a_node_could_not_say_is_no_difference() -> None:
    blind = replace(NODE, pip=(), runtime=(("python", "broken: no answer"),), blind=True)
    rows = {(row.group, row.name): row for row in compare([NODE, blind])}
    assert rows["pip", "torch"].values == ("2.5.1 (pip)", "?")
    assert not rows["pip", "torch"].differs
    assert rows[RUNTIME, "python"].differs
    assert not rows[RUNTIME, "torch"].differs
