"""The command that shows in ssh what ping has seen."""

from __future__ import annotations

from envsync.model import Host
from envsync.ping import in_slurm, in_ssh


def test_command_for_ssh() -> None:
    assert in_ssh(Host("gpu01")) == ["ssh", "-v", "gpu01", "true"]
    full = in_ssh(Host("gpu01", "ops", 2222, "10.0.0.1"), config="c", keys=["k"])
    assert full == [
        "ssh", "-v", "-F", "c", "-i", "k", "-p", "2222", "-l", "ops", "10.0.0.1", "true",
    ]  # fmt: skip


def test_command_that_shows_the_same_in_slurm() -> None:
    plain = in_slurm(Host("gpu01"))
    assert plain == ["srun", "--nodelist=gpu01", "--nodes=1", "--ntasks=1", "true"]
    assert in_slurm(Host("gpu01"), job="12")[1:3] == ["--jobid=12", "--overlap"]
