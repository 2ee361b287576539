"""The main job on real nodes: push, verify, diff, and every way in which a node can fail."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cluster.conftest import Maker
from cluster.lab import Cluster, keygen
from cluster.waiting import processes_below, slow_down, wait_until
from envsync.demo.channel import Channel, python_library, python_package


def failures(result: dict[str, object]) -> dict[str, str]:
    """Cause by host, of the hosts that failed."""
    hosts: list[dict[str, object]] = result["result"]["hosts"]  # type: ignore[index]
    return {str(h["host"]): h["failure"]["cause"] for h in hosts if h["failure"]}  # type: ignore[index]


def test_the_whole_story(make_cluster: Maker) -> None:
    cluster = make_cluster(3)
    one, two, _ = cluster.nodes
    cluster.write_environment("numlike=1.26", "tiny", pip=["einlike==0.8.0"], locked=False)

    plan = cluster.run("push", "hosts.txt", "--dry-run")
    assert (plan.code, plan.out.count("would solve and install")) == (0, 1)
    assert not (one.envs / ".envsync").exists()
    assert not (cluster.folder / ".envsync").exists()

    pushed = cluster.run("push", "hosts.txt")
    assert pushed.code == 0, pushed.out + pushed.err
    assert "3 nodes hold train" in pushed.out
    assert "are equal" in pushed.out
    for node in cluster.nodes:
        link = node.envs / "train"
        assert str(link.readlink()).startswith(".envsync/train/")
        spec = link.resolve().parent / f"{link.resolve().name}.yml"
        assert spec.read_bytes() == (cluster.folder / "environment.yml").read_bytes()
        assert spec.stat().st_mode & 0o777 == 0o600
    assert [len(node.conda_starts) for node in cluster.nodes] == [2, 1, 1]

    again = cluster.run("push", "hosts.txt")
    assert again.code == 0
    assert "Already in sync: 3 nodes" in again.out
    assert [len(node.conda_starts) for node in cluster.nodes] == [2, 1, 1]

    assert cluster.run("verify").code == 0
    same = cluster.run("diff", one.host, two.host)
    assert (same.code, "are equal in all" in same.out) == (0, True)

    two.pip_install("train", "numlike==2.1.0")
    drifted = cluster.run("verify", "--json")
    assert drifted.code == 1
    found = drifted.json["result"]["findings"]
    (finding,) = found
    assert (finding["host"], finding["cause"]) == (two.host, "not-locked")
    assert finding["message"] == "numlike is 2.1.0 (pip), in the lock 1.26.4 demo_0"

    shown = cluster.run("diff", one.host, two.host)
    assert shown.code == 1
    rows = [line for line in shown.out.splitlines() if "(pip)" in line or "demo_0" in line]
    assert len(rows) == 1
    words = ["conda", "numlike", "1.26.4", "demo_0", "2.1.0", "(pip)", "error", "major"]
    assert rows[0].split() == words
    assert "einlike" in cluster.run("diff", one.host, two.host, "--all").out

    repaired = cluster.run("push", "hosts.txt")
    assert repaired.code == 0
    assert [len(node.conda_starts) for node in cluster.nodes] == [2, 2, 1]
    assert cluster.run("verify").code == 0


def test_conda_takes_the_link_for_a_normal_environment(pushed: Cluster) -> None:
    node = pushed.nodes[0]

    def conda(*words: str) -> str:
        done = subprocess.run(
            [str(node.root / "bin" / "conda"), *words],
            env={"HOME": str(node.home), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    assert str(node.envs / "train") in conda("env", "list")
    listed = conda("list", "-n", "train")
    assert "numlike" in listed
    assert "einlike" in listed


def test_changed_file_builds_a_new_generation_and_keeps_the_old(make_cluster: Maker) -> None:
    cluster = make_cluster(1)
    node = cluster.nodes[0]
    cluster.write_environment("numlike=1.26")
    assert cluster.run("push", "hosts.txt").code == 0
    old = (node.envs / "train").resolve()
    cluster.write_environment("numlike=1.25")
    assert "changed since the last push" in cluster.run("verify").out
    assert cluster.run("push", "hosts.txt").code == 0
    assert (node.envs / "train").resolve() != old
    assert (old / ".sealed").exists()
    cluster.write_environment("numlike=1.26")
    back = cluster.run("push", "hosts.txt")
    assert (back.code, "switched" in back.out) == (0, True)
    assert (node.envs / "train").resolve() == old
    assert sum(line.startswith("create") for line in node.conda_starts) == 2


def test_every_kind_of_failing_host_in_one_push(make_cluster: Maker, tmp_path: Path) -> None:
    cluster = make_cluster(4)
    good, down, locked, poor = cluster.nodes
    (bare,) = make_cluster(1, conda=False).nodes
    cluster.nodes.append(bare)
    cluster.write_known_hosts()
    cluster.write_hosts(node.host for node in cluster.nodes)
    cluster.write_environment("tiny")
    down.stop()
    keygen(tmp_path / "other")
    (locked.folder / "authorized_keys").write_text((tmp_path / "other.pub").read_text())
    # This node sees a mirror that lacks what the file asks for.
    mirror = Channel(poor.home / "mirror")
    mirror.add(python_package())
    exe = poor.root / "bin" / "conda"
    swap = f"\nsed -i 's|file:.*|{mirror.url}|' \"$6\"\nexec "
    exe.write_text(exe.read_text().replace("\nexec ", swap, 1))
    wishes = ("--no-lock", "--best-effort")
    done = cluster.run("push", "hosts.txt", "--json", *wishes)
    assert done.code == 1
    assert failures(done.json) == {
        down.host: "refused",
        locked.host: "authentication",
        poor.host: "package-missing",
        bare.host: "no-conda",
    }
    by_host = {each["host"]: each for each in done.json["result"]["hosts"]}
    assert by_host[good.host]["outcome"] == "installed"
    assert "tiny" in by_host[poor.host]["failure"]["output"]
    assert all(each["failure"]["hint"] for each in by_host.values() if each["failure"])
    assert not list((poor.envs / ".envsync" / "train").glob("*/"))
    shown = cluster.run("push", "hosts.txt", "-j", "1", *wishes)
    rows = [line for line in shown.out.splitlines() if line.split()[:1] == [down.address]]
    assert any("nothing listens" in row and "is sshd running" in row for row in rows)


@pytest.mark.root
def test_full_disk_is_named_and_nothing_is_left_behind(make_cluster: Maker) -> None:
    cluster = make_cluster(2)
    small, good = cluster.nodes
    cluster.write_environment("numlike=1.26", pip=["einlike"])
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(small.envs)], check=True)
    try:
        done = cluster.run("push", "hosts.txt", "--json")
        assert failures(done.json) == {small.host: "disk-full"}
        assert done.code == 1
        (failed,) = [e for e in done.json["result"]["hosts"] if e["failure"]]
        assert "full" in failed["failure"]["message"]
        assert not (small.envs / "train").is_symlink()
        assert [p for p in (small.envs / ".envsync" / "train").iterdir() if p.is_dir()] == []
        assert not (good.envs / "train").is_symlink()
        (ready,) = [e for e in done.json["result"]["hosts"] if not e["failure"]]
        assert ready["outcome"] == "prepared, not switched"
    finally:
        subprocess.run(["umount", "-l", str(small.envs)], check=True)


@pytest.mark.root
def test_room_is_compared_with_the_lock_before_anything_is_installed(make_cluster: Maker) -> None:
    cluster = make_cluster(2)
    small, good = cluster.nodes
    blob = os.urandom(20 * 2**20)
    cluster.lab.channel.add(python_library("bulky", "1.0", {"bulky.bin": blob}))
    cluster.write_environment("bulky")
    assert " size:" in cluster.lock.read_text()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(small.envs)], check=True)
    try:
        for words in (("--dry-run",), ("--best-effort",)):
            done = cluster.run("push", "hosts.txt", "--json", *words)
            assert failures(done.json) == {small.host: "disk-full"}
            (failed,) = [e for e in done.json["result"]["hosts"] if e["failure"]]
            assert "even while packed" in failed["failure"]["message"]
        assert {line.split()[0] for line in small.conda_starts} == {"info"}
        assert not list((small.envs / ".envsync" / "train").glob("*/"))
        assert (good.envs / "train").is_symlink()
        # What lies unpacked in the node's cache may need no room: it is told, and tried.
        cached = small.root / "pkgs" / "bulky-1.0-demo_0"
        cached.mkdir()
        told = cluster.run("push", "hosts.txt", "--dry-run", "--json")
        assert told.outcomes[small.host] == "would install"
        subprocess.run(["mount", "-o", "remount,nr_inodes=3", str(small.envs)], check=True)
        shown = cluster.run("push", "hosts.txt", "--dry-run")
        assert "inodes at the very least" in shown.out
    finally:
        subprocess.run(["umount", "-l", str(small.envs)], check=True)


def test_pip_failure_is_shown_as_pip_printed_it(make_cluster: Maker) -> None:
    cluster = make_cluster(1)
    cluster.write_environment(pip=["einlike==9.9"], locked=False)
    done = cluster.run("push", "hosts.txt")
    assert done.code == 1
    assert "ERROR: No matching distribution found for einlike==9.9" in done.out
    assert not (cluster.nodes[0].envs / "train").is_symlink()


def test_conda_that_hides_a_pip_failure_is_found_out(make_cluster: Maker) -> None:
    """Some conda versions exit 0 although pip failed: the prefix decides."""
    cluster = make_cluster(1)
    node = cluster.nodes[0]
    exe = node.root / "bin" / "conda"
    exe.write_text(exe.read_text().replace("\nexec ", "\n", 1) + "exit 0\n")
    cluster.write_environment("tiny", pip=["einlike==9.9"], locked=False)
    done = cluster.run("push", "hosts.txt", "--json")
    assert done.code == 1
    assert failures(done.json) == {node.host: "incomplete"}
    (failed,) = done.json["result"]["hosts"]
    assert "einlike==9.9 (environment.yml:10)" in failed["failure"]["message"]
    assert "No matching distribution" in failed["failure"]["output"]
    assert not list((node.envs / ".envsync" / "train").glob("*/"))


def test_interrupt_ends_at_once_with_the_remote_build(make_cluster: Maker) -> None:
    cluster = make_cluster(1)
    node = cluster.nodes[0]
    cluster.write_environment("tiny")
    slow_down(node, 20)
    # A test run in the background of a shell inherits ignored interrupts: heed them again.
    heed = ["env", "--default-signal=INT"]
    with subprocess.Popen(
        [*heed, *cluster.command("push", "hosts.txt")],
        cwd=cluster.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as push:
        wait_until(lambda: node.conda_starts)
        push.send_signal(signal.SIGINT)
        started = time.monotonic()
        out, err = push.communicate(timeout=20)
    assert time.monotonic() - started < 8
    assert push.returncode == 130
    assert "Traceback" not in err
    assert f"Left as they were: {node.address}" in out
    wait_until(lambda: not processes_below(node), 15)
    assert not (node.envs / "train").is_symlink()


def test_environment_of_somebody_else_is_left_alone(make_cluster: Maker) -> None:
    cluster = make_cluster(1)
    node = cluster.nodes[0]
    (node.envs / "train" / "conda-meta").mkdir(parents=True)
    cluster.write_environment("tiny")
    done = cluster.run("push", "hosts.txt", "--json")
    assert (done.code, failures(done.json)) == (1, {node.host: "not-ours"})
    assert node.conda_starts == []
    assert list((node.envs / "train").iterdir()) == [node.envs / "train" / "conda-meta"]


def test_build_of_a_dead_push_is_taken_over(make_cluster: Maker) -> None:
    cluster = make_cluster(1)
    node = cluster.nodes[0]
    cluster.write_environment("tiny")
    plan = cluster.run("push", "hosts.txt", "--dry-run", "--json").json
    (generation,) = plan["result"]["generations"]
    prefix = node.envs / ".envsync" / "train" / generation
    lock = node.envs / ".envsync" / ".building"
    lock.mkdir(parents=True)
    (lock / "owner").write_text(f"{os.uname().nodename} 999999 since yesterday\n")
    (prefix / "conda-meta").mkdir(parents=True)
    (prefix / "half").touch()
    assert cluster.run("push", "hosts.txt").code == 0
    assert not (prefix / "half").exists()
    assert not lock.exists()


@pytest.mark.parametrize(
    ("login_shell", "home", "bashrc"),
    [
        ("", "", 'echo "Welcome to $HOME"; echo oops >&2; printf "no newline"'),
        ("/usr/bin/tcsh", "", ""),
        ("/usr/bin/fish", "", ""),
        ("", 'it\'s a "home"; with $(blanks)', ""),
    ],
    ids=["noisy .bashrc", "csh", "fish", "odd home"],
)
def test_odd_shells_and_homes(
    make_cluster: Maker, login_shell: str, home: str, bashrc: str
) -> None:
    cluster = make_cluster(1, login_shell=login_shell, home=home)
    node = cluster.nodes[0]
    if bashrc:
        (node.home / ".bashrc").write_text(bashrc + "\n")
    cluster.write_environment("tiny", pip=["einlike"])
    done = cluster.run("push", "hosts.txt")
    assert done.code == 0, done.out + done.err
    assert "Welcome" not in done.out
    assert cluster.run("verify").code == 0


def test_variables_and_activation_scripts_count_for_the_probe(make_cluster: Maker) -> None:
    cluster = make_cluster(1)
    node = cluster.nodes[0]
    cluster.write_environment("tiny")
    file = cluster.folder / "environment.yml"
    file.write_text(file.read_text() + "variables:\n  PYTHONPATH: '/tmp/x y'\n")
    assert cluster.run("push", "hosts.txt").code == 0
    prefix = (node.envs / "train").resolve()
    hooks = prefix / "etc" / "conda" / "activate.d"
    hooks.mkdir(parents=True, exist_ok=True)
    fake = node.home / "fake torch"
    fake.mkdir()
    (fake / "torch.py").write_text("raise OSError('libcudart.so.12: ' + __file__)\n")
    (hooks / "x.sh").write_text(f"[[ $PYTHONPATH == '/tmp/x y' ]] && export PYTHONPATH='{fake}'\n")
    (seen,) = cluster.run("verify", "--json").json["result"]["hosts"]
    torch = dict(seen["facts"]["runtime"])["torch"]
    assert torch.startswith("broken: OSError: libcudart.so.12")
    assert str(fake) in torch


def test_broken_python_is_one_finding_and_rebuild_mends_it(make_cluster: Maker) -> None:
    cluster = make_cluster(2)
    sick = cluster.nodes[0]
    cluster.write_environment("tiny", pip=["einlike"])
    assert cluster.run("push", "hosts.txt").code == 0
    hooks = (sick.envs / "train").resolve() / "etc" / "conda" / "activate.d"
    (hooks / "x.sh").write_text("exit 3\n")
    findings = cluster.run("verify", "--json").json["result"]["findings"]
    assert [(each["host"], each["cause"]) for each in findings] == [(sick.host, "broken")]
    assert "in sync" in cluster.run("push", "hosts.txt").out
    cluster.write_hosts([sick.host])
    assert cluster.run("push", "hosts.txt", "--rebuild").code == 0
    cluster.write_hosts(node.host for node in cluster.nodes)
    assert cluster.run("verify", "hosts.txt").code == 0


def test_torch_of_the_user_site_is_seen_as_a_job_sees_it(make_cluster: Maker) -> None:
    cluster = make_cluster(1)
    node = cluster.nodes[0]
    cluster.write_environment("tiny")
    assert cluster.run("push", "hosts.txt").code == 0
    version = ".".join(map(str, sys.version_info[:2]))
    site = node.home / ".local" / "lib" / f"python{version}" / "site-packages"
    site.mkdir(parents=True)
    (site / "torch.py").write_text("__version__ = '0.0.odd'\n")
    (seen,) = cluster.run("verify", "--json").json["result"]["hosts"]
    runtime = dict(seen["facts"]["runtime"])
    assert runtime["torch"] == "0.0.odd"
    assert runtime["cuDNN"].startswith("error: AttributeError")


def test_only_the_node_that_drifted_is_brought_back(make_cluster: Maker) -> None:
    cluster = make_cluster(3)
    cluster.write_environment("tiny")
    one, two, bare = cluster.nodes
    first = cluster.run("push", "-", stdin=f"{one.host}\n{two.host}\n")
    assert first.code == 0, first.out + first.err
    two.pip_install("train", "einlike==0.8.0")
    starts = [len(node.conda_starts) for node in cluster.nodes]
    back = cluster.run("push", "hosts.txt", "--only-drifted", "--json")
    assert back.code == 0, back.err
    assert [host["outcome"] for host in back.json["result"]["hosts"]] == [
        "in sync",
        "installed",
        "left alone, never installed",
    ]
    assert not (bare.envs / ".envsync").exists()
    assert [len(node.conda_starts) for node in (one, bare)] == [starts[0], starts[2]]
    again = cluster.run("push", "hosts.txt", "--only-drifted")
    assert (again.code, "Already in sync: 2 nodes" in again.out) == (0, True)


def test_only_drifted_and_relock_exclude_each_other(pushed: Cluster) -> None:
    done = pushed.run("push", "hosts.txt", "--only-drifted", "--relock")
    assert (done.code, "--relock makes another" in done.err) == (2, True)
