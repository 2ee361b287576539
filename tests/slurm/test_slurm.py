"""envsync on nodes that only Slurm reaches."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from envsync.errors import LinkLostError
from envsync.model import Host
from envsync.ports import Command
from envsync.transport.slurm import SlurmOptions, SlurmTransport
from slurm.slurmlab import Project, Slurm


@pytest.fixture
def project(slurm: Slurm, tmp_path: Path) -> Project:
    return slurm.project(tmp_path / "project")


def test_push_verify_diff_rollback(slurm: Slurm, project: Project) -> None:
    project.write_environment("numlike=1.26", locked=False)
    first = project.run("push", "slurm:gpu", "--json")
    assert first.code == 0, first.err
    assert first.outcomes == dict.fromkeys(slurm.names, "installed")
    again = project.run("push", "slurm:gpu", "--json")
    assert again.outcomes == dict.fromkeys(slurm.names, "in sync")

    slurm.pip_install("n3", "train", "einlike==0.8.0")
    verified = project.run("verify", "--json")  # the launcher is remembered, and the hosts
    assert verified.code == 1, verified.err
    assert "einlike" in project.run("verify").out
    told = project.run("diff", "n1", "n3")
    assert told.code == 1
    assert "einlike" in told.out

    assert project.run("push", "slurm:gpu", "--json").outcomes["n3"] == "installed"
    project.write_environment("numlike=1.25", locked=False)
    assert project.run("push", "slurm:gpu", "--json").code == 0
    assert project.run("rollback", "--json").code == 0
    python = slurm.home("n2") / "miniforge3/envs/train/bin/python"
    said = subprocess.run(
        [str(python), "-c", "import numlike; print(numlike.__version__)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == "1.26.4\n"


def test_shared_home_is_built_once(slurm: Slurm, project: Project) -> None:
    shared = slurm.folder / "shared"
    shared.touch()
    try:
        project.write_environment("tiny", name="shared", locked=False)
        done = project.run("push", "slurm:gpu", "--json")
        assert done.code == 0, done.err
        outcomes = list(done.outcomes.values())
        assert outcomes == ["installed"] * 4, outcomes
        built = slurm.home("n1") / "miniforge3/envs/.envsync/shared"
        assert len(list(built.glob("*.lock"))) == 1
        assert not (slurm.home("n2") / "miniforge3/envs/shared").exists()
    finally:
        shared.unlink()


def test_drained_node_is_left_out_and_told(slurm: Slurm, project: Project) -> None:
    slurm.scontrol("update", "nodename=n4", "state=drain", "reason=bad DIMM")
    done = project.run("ping", "slurm:gpu", "--json")
    assert done.code == 0, done.err
    assert list(done.outcomes) == ["n1", "n2", "n3"]
    assert "left out" in done.err
    assert "n4: drained (bad DIMM)" in done.err
    named = project.run("ping", "n[3-4]", "--json")
    assert named.code == 1
    assert named.outcomes == {"n3": "ok", "n4": "node-out"}


@pytest.mark.parametrize(
    ("hosts", "said"),
    [
        ("slurm:gp", "no partition gp"),
        ("slurm:job=4294901", "no job 4294901"),
        ("slurm:", "not inside an allocation"),
        ("slurm:a b", "is not understood"),
        ("n1:2222", "a user or a port"),
    ],
)
def test_what_slurm_does_not_know(project: Project, hosts: str, said: str) -> None:
    done = project.run("ping", hosts)
    assert done.code == 2
    assert said in done.err


def test_machine_without_slurm(project: Project) -> None:
    done = project.run("ping", "slurm:gpu", env={"PATH": "/nowhere"})
    assert done.code == 2
    assert "sinfo cannot be run here" in done.err


def test_hosts_of_a_job_and_inside_it(slurm: Slurm, project: Project) -> None:
    done = project.inside(["--nodelist=n1,n2", "--nodes=2"], "ping", "slurm:", "--json")
    assert done.code == 0, done.err
    assert list(done.outcomes) == ["n1", "n2"]
    with slurm.job("--nodelist=n3", "--exclusive") as job:
        # All of the node is the job's: an allocation of our own would have to wait.
        assert project.run("ping", f"slurm:job={job}", "--json").outcomes == {"n3": "ok"}
        busy = project.run("ping", "n3", "--connect-timeout", "2", "--json")
        assert busy.outcomes == {"n3": "no-allocation"}
        other = project.run("ping", "n1", "--json")
        assert other.code == 0, other.err
    with slurm.job("--hold", running=False) as job:
        pending = project.run("ping", f"slurm:job={job}")
        assert pending.code == 2
        assert f"job {job} is pending" in pending.err


def test_interrupted_wait_for_busy_nodes_leaves_no_request_behind(
    slurm: Slurm, project: Project
) -> None:
    with slurm.job("--nodelist=n1", "--exclusive") as job:
        command = project.command("ping", "n1")
        with subprocess.Popen(
            command, cwd=project.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as ping:
            for _ in range(200):
                if "PENDING" in slurm.queue():
                    break
                time.sleep(0.05)
            assert "PENDING" in slurm.queue()
            ping.send_signal(signal.SIGINT)
            assert ping.wait(20) == 130
        assert [line.split()[0] for line in slurm.queue().splitlines()] == [job]


def test_killed_run_gives_the_nodes_back(slurm: Slurm, project: Project) -> None:
    """Nothing can be said of its own accord by a process that is killed."""
    project.write_environment("numlike=1.26", name="killed", locked=False)
    command = project.command("push", "slurm:gpu", "--no-lock")
    with subprocess.Popen(
        command, cwd=project.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as push:
        held = slurm.home("n2") / "miniforge3/envs/.envsync/killed/.push/owner"
        for _ in range(600):
            if held.exists():
                break
            time.sleep(0.05)
        owner = held.read_text()
        push.kill()
    assert "\tjob:" in owner
    assert not slurm.wait_for_empty_queue()
    for _ in range(100):
        if not slurm.commands():
            break
        time.sleep(0.1)
    assert not slurm.commands()
    again = project.run("push", "slurm:gpu", "--json")
    assert again.code == 0, again.err


def test_srun_that_is_killed_is_a_lost_link_and_ends_its_command(
    slurm: Slurm, tmp_path: Path
) -> None:
    transport = SlurmTransport([Host("n1")], SlurmOptions())
    connection = transport.connect(Host("n1"))
    alive = tmp_path / "alive"
    failures: list[Exception] = []

    def run() -> None:
        try:
            connection.run(Command('while :; do date >"$1"; sleep 0.1; done', (str(alive),)))
        except LinkLostError as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    for _ in range(100):
        if alive.exists():
            break
        time.sleep(0.1)
    for pid in _sruns():
        os.kill(pid, signal.SIGKILL)
    thread.join(20)
    transport.close()
    assert len(failures) == 1
    assert not slurm.wait_for_empty_queue()
    before = alive.stat().st_mtime_ns
    time.sleep(0.5)
    assert alive.stat().st_mtime_ns == before


def test_node_that_falls_silent_is_named_within_a_bounded_time(
    slurm: Slurm, project: Project
) -> None:
    with slurm.job("--nodes=4") as job:
        slurm.stop_node("n4")
        started = time.monotonic()
        done = project.run("ping", f"slurm:job={job}", "--json")
        assert time.monotonic() - started < 150  # 12 s on a machine that has nothing else to do
        assert done.code == 1
        assert done.outcomes == {"n1": "ok", "n2": "ok", "n3": "ok", "n4": "launch"}


def _sruns() -> list[int]:
    """The pids of what this process's threads have started as srun."""
    children = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    pids = [int(pid) for file in children for pid in file.read_text().split()]
    return [pid for pid in pids if Path(f"/proc/{pid}/comm").read_text().strip() == "srun"]
