from __future__ import annotations

from collections.abc import Sequence

import pytest

from envsync.errors import InputError
from envsync.inventory.slurm import is_slurm, job_of, partition_named, read_slurm
from envsync.slurmnodes import Answer, partition_of, slurm_nodes

SINFO = """\
n1|idle|gpu*|none
n1|idle|debug|none
n2|mix|gpu*|none
n3|drain*|gpu*|bad DIMM | slot 3
n4|idle~|cloud|none
n5|maint$|cloud|none
"""


class Slurm:
    """Answers as recorded from Slurm 22.05."""

    def __init__(self, out: str = SINFO, err: str = "", exit_code: int = 0) -> None:
        self.answer = Answer(exit_code, out, err)
        self.asked: list[Sequence[str]] = []

    def __call__(self, argv: Sequence[str]) -> Answer:
        self.asked.append(argv)
        return self.answer


def names(word: str, slurm: Slurm, **environ: str) -> list[str]:
    return [str(host) for host in read_slurm(word, slurm, environ).hosts]


def refused(word: str, slurm: Slurm, **environ: str) -> InputError:
    with pytest.raises(InputError) as caught:
        read_slurm(word, slurm, environ)
    return caught.value


def test_nodes_of_a_partition_without_those_that_are_out() -> None:
    inventory = read_slurm("slurm:gpu", Slurm(), {})
    assert [host.name for host in inventory.hosts] == ["n1", "n2"]
    assert [str(each) for each in inventory.warnings] == [
        "left out, since Slurm starts nothing there: n3: drained (bad DIMM | slot 3)"
    ]
    assert names("slurm:debug,cloud", Slurm()) == ["n1", "n5"]


def test_partition_that_is_not_there_or_not_up() -> None:
    error = refused("slurm:gpus", Slurm())
    assert (error.message, error.hint) == ("Slurm has no partition gpus", "did you mean gpu?")
    assert "n9: down" in refused("slurm:dead", Slurm("n9|down|dead|none\n")).message


def test_job_that_runs() -> None:
    slurm = Slurm("RUNNING|n[1-2]\nRUNNING|n7\n")
    assert names("slurm:job=12", slurm) == ["n1", "n2", "n7"]
    assert slurm.asked[0][-1] == "12"


@pytest.mark.parametrize(
    ("slurm", "said"),
    [
        (Slurm("PENDING|\n"), "job 12 is pending"),
        (Slurm(""), "no job 12, or it has ended"),
        (Slurm("", "slurm_load_jobs error: Invalid job id specified", 1), "no job 12"),
        (Slurm("", "squeue: error: Unable to contact slurm controller", 1), "squeue failed: Un"),
    ],
)
def test_job_that_does_not(slurm: Slurm, said: str) -> None:
    assert said in refused("slurm:job=12", slurm).message


def test_allocation_around_us() -> None:
    assert names("slurm:", Slurm(), SLURM_JOB_NODELIST="n[01-03]") == ["n01", "n02", "n03"]
    assert "SLURM_JOB_NODELIST" in refused("slurm:", Slurm()).message


@pytest.mark.parametrize("word", ["slurm:job=x", "slurm:a b", "slurm:-p", "slurm:gpu,", "slurm:$x"])
def test_what_is_no_form(word: str) -> None:
    slurm = Slurm()
    assert refused(word, slurm).message
    assert all(word.removeprefix("slurm:") not in argv for argv in slurm.asked)


def test_what_a_word_names() -> None:
    assert is_slurm("slurm:gpu")
    assert not is_slurm("gpu01")
    assert (job_of("slurm:job=12_3"), job_of("slurm:gpu"), job_of(None)) == ("12_3", "", "")
    found = partition_named("slurm:gpu"), partition_named("slurm:a,b"), partition_named("job=1")
    assert found == ("gpu", "", "")
    assert partition_named("slurm:job=12") == ""


def test_partition_that_has_all_nodes() -> None:
    nodes = slurm_nodes(Slurm("n1|idle|a|none\nn1|idle|b*|none\nn2|idle|a|none\n"))
    assert nodes["n1"].partitions == ("b", "a")
    assert partition_of([nodes["n1"]]) == "b"
    assert partition_of(nodes.values()) == "a"
    assert partition_of([]) == ""
