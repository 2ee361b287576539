"""All nodes switch, or none: whatever fails, whoever runs there, whoever else pushes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cluster.conftest import Maker
from cluster.lab import Cluster, Node
from cluster.waiting import processes_below, slow_down, wait_until


def current(cluster: Cluster) -> list[str]:
    """The generation of each node, short."""
    return [(node.envs / "train").resolve().name for node in cluster.nodes]


def starts(cluster: Cluster) -> list[int]:
    return [len(node.conda_starts) for node in cluster.nodes]


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """`folder` as a file system of its own, with room for two environments."""
    folder.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_one_that_is_down_holds_the_others_until_it_is_back(make_cluster: Maker) -> None:
    cluster = make_cluster(4)
    cluster.write_environment("numlike=1.25")
    assert cluster.run("push", "hosts.txt").code == 0
    old = current(cluster)
    cluster.write_environment("numlike=1.26")
    victim = cluster.nodes[2]
    victim.stop()
    before = starts(cluster)
    done = cluster.run("push", "hosts.txt", "--json")
    ready = "prepared, not switched"
    assert (done.code, list(done.outcomes.values())) == (1, [ready, ready, "refused", ready])
    assert current(cluster) == old
    victim.start()
    assert cluster.run("verify").code == 0
    middle = starts(cluster)
    assert [b - a for a, b in zip(before, middle, strict=True)] == [1, 1, 0, 1]
    again = cluster.run("push", "hosts.txt")
    assert again.code == 0, again.out
    assert [b - a for a, b in zip(middle, starts(cluster), strict=True)] == [0, 0, 1, 0]
    assert len(set(current(cluster))) == 1
    assert current(cluster) != old
    assert cluster.run("verify").code == 0


def test_connection_killed_while_one_prepares(make_cluster: Maker) -> None:
    cluster = make_cluster(3)
    cluster.write_environment("numlike=1.25")
    assert cluster.run("push", "hosts.txt").code == 0
    old = current(cluster)
    cluster.write_environment("numlike=1.26")
    victim = cluster.nodes[1]
    slow_down(victim, 4)
    before = starts(cluster)
    with subprocess.Popen(
        cluster.command("push", "hosts.txt", "--json"),
        cwd=cluster.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as push:
        wait_until(lambda: len(victim.conda_starts) > before[1])
        cut = time.monotonic()
        victim.cut_connections()
        out, _ = push.communicate(timeout=60)
    assert push.returncode == 1
    assert '"cause": "link-lost"' in out
    assert time.monotonic() - cut < 15
    assert current(cluster) == old
    wait_until(lambda: not processes_below(victim), 15)
    assert cluster.run("verify").code == 0
    again = cluster.run("push", "hosts.txt")
    assert again.code == 0, again.out
    # Once for each that was ready, twice for the one that was cut off.
    assert [b - a for a, b in zip(before, starts(cluster), strict=True)] == [1, 2, 1]
    assert len({*current(cluster), *old}) == 2


@pytest.mark.root
def test_disk_that_fills_up_while_one_prepares(make_cluster: Maker) -> None:
    cluster = make_cluster(2)
    folder = cluster.nodes[1].envs / ".envsync" / "train"
    with small_disk(folder):
        cluster.write_environment("numlike=1.25")
        assert cluster.run("push", "hosts.txt").code == 0
        old = current(cluster)
        cluster.write_environment("numlike=1.26", pip=["einlike"])
        before = starts(cluster)
        filler = folder / "filler"
        room = os.statvfs(folder)
        filler.write_bytes(b"x" * (room.f_bavail * room.f_frsize - (5 << 20)))
        done = cluster.run("push", "hosts.txt", "--json")
        ready = "prepared, not switched"
        assert (done.code, list(done.outcomes.values())) == (1, [ready, "disk-full"])
        assert current(cluster) == old
        assert cluster.run("verify").code == 0
        filler.unlink()
        middle = starts(cluster)
        again = cluster.run("push", "hosts.txt")
        assert again.code == 0, again.out
        assert [b - a for a, b in zip(middle, starts(cluster), strict=True)] == [0, 1]
        assert starts(cluster)[0] == before[0] + 1
        assert len({*current(cluster), *old}) == 2


def test_best_effort_switches_those_that_are_ready(make_cluster: Maker) -> None:
    cluster = make_cluster(2)
    cluster.write_environment("tiny")
    cluster.nodes[0].stop()
    done = cluster.run("push", "hosts.txt", "--best-effort", "--json")
    assert (done.code, list(done.outcomes.values())) == (1, ["refused", "installed"])
    assert (cluster.nodes[1].envs / "train").is_symlink()


def test_canary_that_fails_spares_the_others(make_cluster: Maker) -> None:
    cluster = make_cluster(3)
    first = cluster.nodes[0]
    cluster.write_environment("tiny")
    exe = first.root / "bin" / "conda"
    sound = exe.read_text()
    exe.write_text("#!/bin/sh\nexit 1\n")
    done = cluster.run("push", "hosts.txt", "--canary", "1", "--json")
    assert (done.code, list(done.outcomes.values())) == (1, ["failed", "left alone", "left alone"])
    assert starts(cluster)[1:] == [0, 0]
    exe.write_text(sound)
    assert cluster.run("push", "hosts.txt", "--canary", "1").code == 0


@contextmanager
def job(node: Node) -> Iterator[int]:
    """A Python that somebody started by the environment's path, past activation."""
    python = node.envs / "train" / "bin" / "python"
    with subprocess.Popen(
        [str(python), "-c", "print(flush=True); import time; time.sleep(120)"],
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()  # it is up
        yield process.pid
        process.kill()


def test_process_that_runs_by_the_link_holds_the_switch_unless_forced(
    make_cluster: Maker,
) -> None:
    cluster = make_cluster(2)
    cluster.write_environment("numlike=1.25")
    assert cluster.run("push", "hosts.txt").code == 0
    old = current(cluster)
    cluster.write_environment("numlike=1.26")
    with job(cluster.nodes[1]) as pid:
        held = cluster.run("push", "hosts.txt")
        assert held.code == 1
        assert str(pid) in held.out
        assert "time.sleep(120)" in held.out
        assert "--force" in held.out
        assert current(cluster) == old
        assert cluster.run("push", "hosts.txt", "--force").code == 0
        assert current(cluster) != old
        back = cluster.run("rollback", "--json")
        assert (back.code, list(back.outcomes.values())) == (1, ["left alone", "in-use"])
        (process,) = back.json["result"]["hosts"][1]["processes"]
        assert process["pid"] == pid
    assert cluster.run("rollback").code == 0
    assert current(cluster) == old


def gate(tmp_path: Path, decision: Path) -> tuple[Path, Path]:
    """A login shell that lets nothing in after a decision as long as the gate is shut."""
    shut, shell = tmp_path / "shut", tmp_path / "gate.sh"
    shell.write_text(
        "#!/bin/sh\n"
        f'while [ -e "{shut}" ] && [ -e "{decision}" ]; do sleep 0.1; done\n'
        'exec /bin/sh "$@"\n'
    )
    shell.chmod(0o755)
    return shut, shell


def gated(make_cluster: Maker, tmp_path: Path) -> tuple[Cluster, Path, Path]:
    """Two nodes, the second behind a gate; both hold an environment, and another is locked."""
    decision = tmp_path / "project" / ".envsync" / "decision.json"
    shut, shell = gate(tmp_path, decision)
    plain, behind = make_cluster(1), make_cluster(1, login_shell=str(shell))
    cluster = Cluster([*plain.nodes, *behind.nodes], tmp_path / "project", plain.lab)
    cluster.write_environment("numlike=1.25")
    assert cluster.run("push", "hosts.txt").code == 0
    assert not decision.exists()
    cluster.write_environment("numlike=1.26")
    shut.touch()
    return cluster, decision, shut


def test_host_that_falls_silent_after_the_decision_is_in_doubt_until_it_is_resumed(
    make_cluster: Maker, tmp_path: Path
) -> None:
    cluster, decision, shut = gated(make_cluster, tmp_path)
    silent = cluster.nodes[1]
    old = current(cluster)
    with subprocess.Popen(
        cluster.command("push", "hosts.txt", "--json"),
        cwd=cluster.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as push:
        wait_until(decision.exists, 60)
        silent.stop()
        out, _ = push.communicate(timeout=60)
    assert push.returncode == 4, out
    assert '"cause": "in-doubt"' in out
    assert "envsync resume" in out
    assert current(cluster)[1] == old[1]
    assert current(cluster)[0] != old[0]
    shut.unlink()
    assert cluster.run("resume").code == 4
    silent.start()
    assert "envsync resume" in cluster.run("verify").out
    some = cluster.run("push", "hosts.txt", "--limit", cluster.nodes[0].address, "--dry-run")
    assert "complete it with `envsync resume` first" in some.out
    owner = silent.envs / ".envsync" / "train" / ".push" / "owner"
    owner.parent.mkdir(exist_ok=True)  # the push that was cut off may have left it
    owner.write_text("aaaa\tgpu01\tfar-away\t12:34\t1700000000\tyou@login9 (pid 7)\n")
    held = cluster.run("resume", "--json")
    assert (held.code, decision.exists()) == (4, True), held.out
    assert "you@login9" in held.out
    shutil.rmtree(owner.parent)
    done = cluster.run("resume")
    assert done.code == 0, done.out + done.err
    assert len(set(current(cluster))) == 1
    assert not decision.exists()
    assert cluster.run("verify").code == 0
    assert "Nothing is pending" in cluster.run("resume").out


def test_interruption_after_the_decision_says_which_are_where(
    make_cluster: Maker, tmp_path: Path
) -> None:
    cluster, decision, shut = gated(make_cluster, tmp_path)
    heed = ["env", "--default-signal=INT"]
    with subprocess.Popen(
        [*heed, *cluster.command("push", "hosts.txt")],
        cwd=cluster.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as push:
        wait_until(decision.exists, 60)
        wait_until(lambda: current(cluster)[0] != current(cluster)[1])
        time.sleep(1)  # the node has moved its link, and says so over a slow line
        push.send_signal(signal.SIGINT)
        out, _ = push.communicate(timeout=20)
    assert push.returncode == 130
    one, two = cluster.nodes
    assert f"Switched before the interruption: {one.address}" in out
    assert f"Decided, but not seen to have switched: {two.address}" in out
    shut.unlink()
    # A push completes it as well as `resume` does.
    assert cluster.run("push", "hosts.txt").code == 0
    assert len(set(current(cluster))) == 1
    assert not decision.exists()


def test_second_push_is_told_who_is_at_work(make_cluster: Maker, tmp_path: Path) -> None:
    cluster = make_cluster(2)
    other = Cluster(cluster.nodes, tmp_path / "other", cluster.lab)
    cluster.write_environment("tiny")
    other.write_environment("numlike=1.26")
    slow_down(cluster.nodes[0], 3)
    with subprocess.Popen(
        cluster.command("push", "hosts.txt"), cwd=cluster.folder, stdout=subprocess.DEVNULL
    ) as push:
        wait_until(lambda: cluster.nodes[0].conda_starts)
        second = other.run("push", "hosts.txt", "--json")
        assert second.code == 1
        assert set(second.outcomes.values()) == {"held"}
        message = second.json["result"]["hosts"][0]["failure"]["message"]
        assert f"(pid {push.pid})" in message
    assert push.returncode == 0
    again = other.run("push", "hosts.txt", "--dry-run")
    assert (again.code, "would install" in again.out) == (0, True)


def test_lock_of_a_push_that_is_gone_from_another_machine_is_broken_on_request(
    make_cluster: Maker,
) -> None:
    cluster = make_cluster(1)
    node = cluster.nodes[0]
    cluster.write_environment("tiny")
    lock = node.envs / ".envsync" / "train" / ".push"
    lock.mkdir(parents=True)
    (lock / "owner").write_text("aaaa\tgpu01\tfar-away\t12:34\t1700000000\tops@login9 (pid 7)\n")
    done = cluster.run("push", "hosts.txt")
    assert done.code == 1
    assert "ops@login9 (pid 7), since 2023-11-14" in done.out
    assert "--break-lock" in done.out
    assert cluster.run("push", "hosts.txt", "--break-lock").code == 0
    assert not lock.exists()
    # Killed when all had switched: there is nothing left to do, but something to tidy.
    lock.mkdir()
    here = os.uname().nodename
    (lock / "owner").write_text(f"bbbb\tgpu01\t{here}\t999999:1\t1700000000\tops@login9 (pid 7)\n")
    again = cluster.run("push", "hosts.txt", "--json")
    assert (again.code, set(again.outcomes.values())) == (0, {"in sync"})
    assert not lock.exists()


def test_plain_environment_is_adopted_on_request_and_comes_back(make_cluster: Maker) -> None:
    cluster = make_cluster(1)
    node = cluster.nodes[0]
    env = {"HOME": str(node.home), "PATH": "/usr/bin:/bin"}
    subprocess.run(
        [str(node.root / "bin" / "conda"), "create", "-yqn", "train", "python", "pip", "tiny"],
        env=env,
        check=True,
        capture_output=True,
    )
    (node.envs / "train" / "mine").touch()
    cluster.write_environment("numlike=1.26")
    assert "--replace" in cluster.run("push", "hosts.txt").out
    assert (node.envs / "train" / "mine").exists()
    done = cluster.run("push", "hosts.txt", "--replace")
    assert done.code == 0, done.out
    assert (node.envs / "train").is_symlink()
    assert not (node.envs / "train" / "mine").exists()
    assert cluster.run("verify").code == 0
    back = cluster.run("rollback")
    assert back.code == 0, back.out
    assert (node.envs / "train" / "mine").exists()
    python = node.envs / "train" / "bin" / "python"
    assert subprocess.run([str(python), "-c", "import tiny"], env=env, check=False).returncode == 0
    assert cluster.run("verify").code == 0
    assert cluster.run("rollback").code == 0
    assert cluster.run("verify").code == 0


def test_link_that_was_removed_or_moved_by_hand_is_told(make_cluster: Maker) -> None:
    cluster = make_cluster(1)
    link = cluster.nodes[0].envs / "train"
    cluster.write_environment("tiny")
    assert cluster.run("push", "hosts.txt").code == 0
    link.unlink()
    gone = cluster.run("push", "hosts.txt")
    assert (gone.code, "was removed by hand" in gone.out) == (0, True)
    first = link.readlink()
    cluster.write_environment("numlike=1.26")
    assert cluster.run("push", "hosts.txt").code == 0
    link.unlink()
    link.symlink_to(first)
    moved = cluster.run("push", "hosts.txt")
    assert (moved.code, "was moved by hand" in moved.out) == (0, True)


def test_hosts_with_one_file_system_build_once_and_are_probed_each(make_cluster: Maker) -> None:
    cluster = make_cluster(1, aliases=2)
    node = cluster.nodes[0]
    cluster.write_environment("numlike=1.26")
    done = cluster.run("push", "hosts.txt", "--json")
    assert done.code == 0, done.out
    assert list(done.outcomes.values()) == ["installed"] * 3
    assert len(node.conda_starts) == 1
    hosts = done.json["result"]["hosts"]
    (owner,) = {each["shares_with"] for each in hosts} - {None}
    assert all(each["facts"]["prefix"] for each in hosts)
    assert sum(each["shares_with"] == owner for each in hosts) == 2
    cluster.write_environment("numlike=1.25")
    shown = cluster.run("push", "hosts.txt")
    assert shown.code == 0
    assert shown.out.count("installed (shared with") == 1
    assert len(node.conda_starts) == 2
    assert cluster.run("rollback").code == 0
    assert cluster.run("verify").code == 0
    log = (node.envs / ".envsync" / "train" / "history").read_text().splitlines()
    assert len(log) == 3  # one link, one line a switch


def test_log_of_the_folder_and_of_the_nodes(make_cluster: Maker) -> None:
    cluster = make_cluster(2)
    assert cluster.run("log").code == 2
    cluster.write_environment("tiny")
    assert cluster.run("push", "hosts.txt").code == 0
    cluster.nodes[1].stop()
    cluster.write_environment("numlike=1.26")
    assert cluster.run("push", "hosts.txt").code == 1
    cluster.nodes[1].start()
    first, second = cluster.run("log", "--json").json["result"]["entries"]
    assert first["outcome"] == "2 installed"
    assert second["outcome"] == "1 prepared, not switched, 1 failed (refused)"
    assert first["lock"].startswith("sha256:")
    shown = cluster.run("log", "hosts.txt", "--json").json["result"]["switches"]
    assert {len(switches) for switches in shown.values()} == {1}
    assert "@" in cluster.run("log", "hosts.txt").out
