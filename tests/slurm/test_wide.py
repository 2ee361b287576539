"""One srun for all nodes, and large files through sbcast's tree."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cluster.installer import lab_conda, make_installer
from cluster.lab import Lab
from envsync.demo.channel import wheel
from envsync.errors import HostError, LinkLostError
from envsync.model import Host
from envsync.ports import Command, Completed, Connection
from envsync.transport.slurm import SlurmOptions, SlurmTransport
from slurm.slurmlab import NAMES, Project, Slurm

HEAVY = 20_000_000
"""Bytes."""
_SHIM = """\
#!/bin/sh
echo "$(basename "$0") $*" | head -n 1 >>{log}
exec {program} "$@"
"""


class Programs:
    """Slurm's programs, each start of which is noted. The environment to find them by is `env`."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "log"
        for name in ("srun", "sbcast"):
            file = folder / name
            file.write_text(_SHIM.format(log=self._log, program=f"/usr/bin/{name}"))
            file.chmod(0o755)
        self.env = {"PATH": f"{folder}:{os.environ['PATH']}"}

    def taken(self, name: str) -> list[str]:
        """The words of each start of the program since they were taken last."""
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        self._log.write_text("".join(f"{x}\n" for x in lines if not x.startswith(f"{name} ")))
        return [line for line in lines if line.startswith(f"{name} ")]


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    folder = tmp_path / "bin"
    folder.mkdir()
    return Programs(folder)


@pytest.fixture
def project(slurm: Slurm, tmp_path: Path) -> Project:
    return slurm.project(tmp_path / "project")


@pytest.fixture
def heavy(
    slurm: Slurm, project: Project, request: pytest.FixtureRequest
) -> Iterator[dict[str, str]]:
    """An environment with a large wheel, locked; the variables by which envsync finds that."""
    assert slurm.lab
    noise = random.Random(7).randbytes(HEAVY)  # noqa: S311 (nothing secret)
    file = wheel(slurm.lab.wheels, "heavy", "1.0", {"heavy.bin": noise})
    project.write_environment("tiny", pip=["heavy==1.0"], name=request.param)
    yield {
        "XDG_CACHE_HOME": str(project.folder / "cache"),
        "PIP_FIND_LINKS": str(slurm.lab.wheels),
        "PIP_NO_INDEX": "1",
        "PIP_CONFIG_FILE": os.devnull,
    }
    file.unlink()


def left_over(slurm: Slurm) -> list[Path]:
    """What lies in the nodes' folders for temporary files."""
    return [file for name in slurm.names for file in slurm.local(name).glob("*")]


def all_at_once(connections: Sequence[Connection], command: Command) -> list[Completed | HostError]:
    def one(connection: Connection) -> Completed | HostError:
        try:
            return connection.run(command)
        except HostError as error:
            return error

    with ThreadPoolExecutor(len(connections)) as pool:
        return list(pool.map(one, connections))


def test_verify_takes_one_srun_for_each_step(
    slurm: Slurm, project: Project, programs: Programs
) -> None:
    project.write_environment("numlike=1.26", name="wide")
    assert project.run("push", "slurm:gpu", "--json").code == 0
    done = project.run("verify", "--json", env=programs.env)
    assert done.code == 0, done.err
    sruns = programs.taken("srun")
    assert len(done.outcomes) == len(slurm.names)
    # Observe and probe. On a busy machine a node may come late to the second.
    assert "--nodelist=n[1-4]" in sruns[0]
    assert len(sruns) < len(slurm.names), sruns


@pytest.mark.root
@pytest.mark.parametrize("heavy", ["loaded"], indirect=True)
def test_large_file_goes_to_all_nodes_at_once(
    slurm: Slurm, project: Project, programs: Programs, heavy: dict[str, str]
) -> None:
    done = project.run("push", "slurm:gpu", "--offline", "--json", env=heavy | programs.env)
    assert done.code == 0, done.out + done.err
    assert done.outcomes == dict.fromkeys(slurm.names, "installed")
    sent = programs.taken("sbcast")
    assert 1 <= len(sent) < len(slurm.names), sent
    assert not left_over(slurm)
    for name in slurm.names:
        prefix = slurm.home(name) / "miniforge3/envs/loaded"
        (there,) = prefix.glob("lib/python*/site-packages/heavy.bin")
        assert there.stat().st_size == HEAVY
    again = project.run("push", "slurm:gpu", "--offline", "--json", env=heavy | programs.env)
    assert again.outcomes == dict.fromkeys(slurm.names, "in sync")
    assert not programs.taken("sbcast")


@pytest.mark.root
def test_installer_goes_to_all_nodes_at_once(
    lab: Lab,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    programs: Programs,
) -> None:
    slurm = Slurm(tmp_path_factory.mktemp("bare"), lab)
    monkeypatch.setenv("SLURM_CONF", str(slurm.config))
    for name in slurm.names:
        slurm.home(name).mkdir(parents=True)
    project = slurm.project(tmp_path_factory.mktemp("bare-project"))
    root = lab_conda(project.folder / "root", [])
    (root / "large").write_bytes(random.Random(5).randbytes(3_000_000))  # noqa: S311 (no secret)
    digest = make_installer(project.folder / "Miniforge3.sh", root)
    words = ["slurm:gpu", "--installer", "Miniforge3.sh", "--sha256", digest, "--json"]
    try:
        slurm.start()
        done = project.run("bootstrap", *words, env=programs.env)
        assert done.code == 0, done.out + done.err
        assert done.outcomes == dict.fromkeys(slurm.names, "installed")
        assert 1 <= len(programs.taken("sbcast")) < len(slurm.names)
        assert not left_over(slurm)
    finally:
        slurm.stop()


@pytest.mark.root
@pytest.mark.parametrize("options", ["size=700k", "ro"])
def test_node_without_room_gets_it_through_srun(slurm: Slurm, tmp_path: Path, options: str) -> None:
    slurm.mount("n3", options)
    try:
        file = tmp_path / "large"
        content = random.Random(3).randbytes(5_000_000)  # noqa: S311 (nothing secret)
        file.write_bytes(content)
        transport = SlurmTransport([Host(name) for name in NAMES], SlurmOptions())
        made = [transport.connect(Host(name)) for name in NAMES]
        for done in all_at_once(made, Command('cat; echo "$0" >&2; exit 6', stdin=file)):
            assert isinstance(done, Completed)
            assert (done.exit_code, done.stdout) == (6, content)
        transport.close()
    finally:
        slurm.unmount("n3")
    assert not left_over(slurm)


@pytest.mark.root
@pytest.mark.parametrize("heavy", ["interrupted"], indirect=True)
def test_interrupted_while_it_is_sent_leaves_nothing(
    slurm: Slurm, project: Project, heavy: dict[str, str]
) -> None:
    command = project.command("push", "slurm:gpu", "--offline")
    with subprocess.Popen(
        command,
        cwd=project.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **heavy},
    ) as push:
        for _ in range(6000):
            if left_over(slurm):
                break
            time.sleep(0.01)
        assert left_over(slurm)
        push.send_signal(signal.SIGINT)
        assert push.wait(20) == 130
    for _ in range(100):
        if not (left_over(slurm) or slurm.commands()):
            break
        time.sleep(0.1)
    assert not left_over(slurm)
    assert not slurm.commands()
    assert not slurm.wait_for_empty_queue()


def test_job_that_is_cancelled_is_told_on_every_node(slurm: Slurm) -> None:
    with slurm.job("--nodes=4") as job:
        transport = SlurmTransport([Host(name) for name in NAMES], SlurmOptions(job=job))
        made = [transport.connect(Host(name)) for name in NAMES]
        assert all(isinstance(each, Completed) for each in all_at_once(made, Command("true")))
        threading.Timer(1, subprocess.run, (["scancel", job],)).start()
        started = time.monotonic()
        for cut in all_at_once(made, Command("sleep 60")):
            # Slurm ends the command first, which has an exit code like any other, then the step.
            assert isinstance(cut, LinkLostError) or getattr(cut, "exit_code", 0) == 143
        for after in all_at_once(made, Command("true")):
            assert isinstance(after, LinkLostError)
            assert after.cause == "launch"
        assert time.monotonic() - started < 40
        transport.close()


def test_node_that_dies_in_the_middle_does_not_take_others_along(
    slurm: Slurm, tmp_path: Path
) -> None:
    transport = SlurmTransport([Host(name) for name in NAMES], SlurmOptions())
    made = [transport.connect(Host(name)) for name in NAMES]
    script = 'echo here >"$1/$SLURMD_NODENAME"; sleep 1; echo done'

    def kill() -> None:
        while not (tmp_path / "n4").exists():
            time.sleep(0.01)
        slurm.stop_node("n4")
        slurm.kill_commands("n4")

    killer = threading.Thread(target=kill)
    killer.start()
    started = time.monotonic()
    *others, dead = all_at_once(made, Command(script, (str(tmp_path),), timeout=3))
    killer.join()
    assert time.monotonic() - started < 40
    assert [each.text for each in others if isinstance(each, Completed)] == ["done\n"] * 3
    assert isinstance(dead, HostError)
    transport.close()


def test_one_srun_for_many_nodes_beside_one_for_each(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both in one job of the same sixteen nodes, with the same command."""
    names = [f"n{number}" for number in range(1, 17)]
    slurm = Slurm(tmp_path_factory.mktemp("many"), None, names)
    monkeypatch.setenv("SLURM_CONF", str(slurm.config))
    rounds = 5
    command = Command("cat /etc/passwd")
    try:
        slurm.start()
        with slurm.job(f"--nodes={len(names)}", "--time=10") as job:
            options = SlurmOptions(job=job)
            together = SlurmTransport([Host(name) for name in names], options)
            apart = [SlurmTransport([Host(name)], options) for name in names]
            wide = [together.connect(Host(name)) for name in names]
            narrow = [each.connect(Host(name)) for each, name in zip(apart, names, strict=True)]
            seconds = []
            for made in (wide, narrow):
                all_at_once(made, command)
                started = time.monotonic()
                for _ in range(rounds):
                    answers = all_at_once(made, command)
                    assert {type(each) for each in answers} == {Completed}
                seconds.append((time.monotonic() - started) / rounds)
            for transport in (together, *apart):
                transport.close()
    finally:
        slurm.stop()
    ratio = seconds[0] / seconds[1]
    print(f"16 nodes: {seconds[0]:.2f} s with one srun, {seconds[1]:.2f} s with 16: {ratio:.2f}")
    assert ratio < 1
