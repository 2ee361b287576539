from __future__ import annotations

from collections.abc import Sequence

import pytest

from envsync.errors import ConnectError
from envsync.model import Host
from envsync.slurmnodes import Answer
from envsync.transport import slurm
from envsync.transport.slurm import SlurmOptions, SlurmTransport
from envsync.transport.slurmtools import outside

INSIDE = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-2]"}


def transport(
    monkeypatch: pytest.MonkeyPatch, answer: Answer, options: SlurmOptions, *names: str
) -> SlurmTransport:
    """One that hears just this answer."""

    def ask(_: Sequence[str]) -> Answer:
        return answer

    monkeypatch.setattr(slurm, "ask", ask)
    return SlurmTransport([Host(name) for name in names], options)


def refusal(made: SlurmTransport, name: str) -> ConnectError:
    with pytest.raises(ConnectError) as caught:
        made.connect(Host(name))
    return caught.value


def test_job_that_does_not_have_a_node(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = Answer(0, "RUNNING|n[1-2]\n", "")
    made = transport(monkeypatch, answer, SlurmOptions(job="12", environ=INSIDE), "n1", "n5")
    assert made.connect(Host("n1")).reached.key == "Slurm job 12"
    assert refusal(made, "n5").cause == "not-in-job"


def test_job_that_has_ended_is_said_of_every_host(monkeypatch: pytest.MonkeyPatch) -> None:
    made = transport(monkeypatch, Answer(0, "", ""), SlurmOptions(job="12"), "n1", "n2")
    assert "no job 12" in refusal(made, "n1").message
    assert "no job 12" in refusal(made, "n2").message


def test_allocation_around_us_is_used_if_it_has_all_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = Answer(1, "", "slurm_load_node error: Unable to contact slurm controller")
    inside = transport(monkeypatch, nobody, SlurmOptions(environ=INSIDE), "n1", "n2")
    assert inside.connect(Host("n2")).reached.key == "Slurm job 7"
    beyond = transport(monkeypatch, nobody, SlurmOptions(environ=INSIDE), "n1", "n3")
    assert "Unable to contact" in refusal(beyond, "n1").message


def test_nodes_that_are_out_and_no_salloc(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = Answer(0, "n1|idle|gpu*|none\nn2|down*|gpu*|Not responding\n", "")
    made = transport(
        monkeypatch, nodes, SlurmOptions(environ={"PATH": "/nowhere"}), "n1", "n2", "n9"
    )
    assert refusal(made, "n2").message.endswith("the node is down (Not responding)")
    assert refusal(made, "n9").cause == "unknown-node"
    assert refusal(made, "n1").message.startswith("salloc cannot be run here")


def test_what_an_allocation_around_us_says_is_not_for_another() -> None:
    kept = {"SLURM_CONF": "c", "SALLOC_ACCOUNT": "ml", "PATH": "/usr/bin"}
    assert outside({**kept, **INSIDE, "SRUN_DEBUG": "3"}) == kept
