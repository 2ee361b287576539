"""What may go from a node, and what must stay."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envsync.census import Census, Generation, Process, parse
from envsync.errors import HostError
from envsync.flavours import Conda
from envsync.ports import Completed
from envsync.prune import Kept, decide

FOUR = Kept(
    envs_dir="/h/envs",
    conda=Conda("/h/bin/conda", "/h"),
    current="ddd",
    history=("aaa", "bbb", "ccc", "ddd"),
    census=Census(tuple(Generation(each, 1, 10) for each in ("aaa", "bbb", "ccc", "ddd")), ()),
)


def used(kept: Kept, generation: str) -> Kept:
    process = Process(7, "jo", generation, "python train.py")
    return replace(kept, census=replace(kept.census, processes=(process,)))


@pytest.mark.parametrize(
    ("keep", "gone"),
    [(1, ("ccc", "bbb", "aaa")), (2, ("bbb", "aaa")), (3, ("aaa",)), (4, ()), (9, ())],
)
def test_latest_are_kept_the_current_one_included(keep: int, gone: tuple[str, ...]) -> None:
    assert decide(FOUR, keep).generations == gone


def test_current_one_stays_even_if_others_were_current_later() -> None:
    back = replace(FOUR, current="aaa")
    assert decide(back, 1).generations == ("ccc", "bbb")


def test_generation_in_use_stays() -> None:
    assert decide(used(FOUR, "bbb"), 1).generations == ("ccc", "aaa")
    assert used(FOUR, "bbb").state("bbb") == "in use"


def test_process_that_may_be_in_any_generation_protects_all() -> None:
    plan = decide(used(FOUR, ""), 1)
    assert plan.generations == ()
    assert "by the link" in plan.kept_for


def test_what_never_became_whole_goes_whatever_is_kept() -> None:
    unfinished = (*FOUR.census.generations, Generation("solving", None, 10))
    kept = replace(FOUR, census=Census(unfinished, ()))
    assert decide(kept, 9).generations == ("solving",)


def test_one_that_never_was_current_goes_first() -> None:
    never = replace(FOUR, history=("bbb", "ccc", "ddd"))
    assert decide(never, 3).generations == ("aaa",)


def test_answer_of_a_node_is_read() -> None:
    text = (
        "generation\taaa\t1700000000\t12\ngeneration\tbbb\t0\t3\n"
        "process\t42\tjo\taaa\tby link\tpython x\n"
    )
    found = parse(Completed(0, text.encode()))
    assert found.generations == (
        Generation("aaa", 1700000000, 12288),
        Generation("bbb", None, 3072),
    )
    assert found.processes == (Process(42, "jo", "aaa", "python x", by_link=True),)
    with pytest.raises(HostError):
        parse(Completed(1, b"", b"no"))
