"""Solved once: every node gets the same files, whatever the channels do meanwhile."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cluster.conftest import Maker
from cluster.lab import CLEAN_PATH, Cluster, Node, free_port
from envsync.demo.channel import Channel, pip_package, python_library, python_package, wheel
from envsync.lock import parse_lock


def said(node: Node, *argv: str) -> str:
    """What a program says on a node, without the home that is in it."""
    env = {"HOME": str(node.home), "PATH": CLEAN_PATH}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=True)
    return done.stdout.replace(str(node.home), "~")


def explicit(node: Node, name: str = "train") -> str:
    conda = str(node.root / "bin" / "conda")
    return said(node, conda, "list", "--explicit", "--md5", "-p", str(node.envs / name))


def pip_list(node: Node, name: str = "train") -> str:
    return said(node, str(node.envs / name / "bin" / "python"), "-m", "pip", "list", "-v")


def solves(node: Node) -> int:
    return sum(line.startswith("env create") for line in node.conda_starts)


def library(version: str) -> object:
    return python_library("numlike", version, {"numlike/__init__.py": f"v = '{version}'\n"})


def test_channel_that_changes_during_the_push_makes_no_difference(
    make_cluster: Maker, tmp_path: Path
) -> None:
    cluster = make_cluster(3)
    first = cluster.nodes[0]
    channel, newer = Channel(tmp_path / "channel"), Channel(tmp_path / "newer")
    both = [python_package(), pip_package(), library("1.25.0")]
    channel.add(*both)  # type: ignore[arg-type]
    newer.add(*both, library("1.27.0"))  # type: ignore[arg-type]
    # As soon as the first node has solved, the channel gets a newer build.
    exe = first.root / "bin" / "conda"
    publish = f'\ncp -R "{newer.folder}/." "{channel.folder}"\nexit $rc\n'
    exe.write_text(exe.read_text().replace("\nexec ", "\n") + "rc=$?" + publish)
    (cluster.folder / "environment.yml").write_text(
        f"name: train\nchannels: [{channel.url}, nodefaults]\n"
        "dependencies: [python=3, pip, numlike, {pip: [einlike]}]\n"
    )
    done = cluster.run("push", "hosts.txt")
    assert done.code == 0, done.out + done.err
    assert [solves(node) for node in cluster.nodes] == [1, 0, 0]
    assert len({explicit(node) for node in cluster.nodes}) == 1
    assert len({pip_list(node) for node in cluster.nodes}) == 1
    assert "numlike-1.25.0" in explicit(first)
    assert cluster.run("verify").code == 0
    # And that was the lock's doing: without one the newer build comes.
    assert cluster.run("push", "hosts.txt", "--no-lock", "-n", "open").code == 0
    assert "numlike-1.27.0" in explicit(first, "open")


def test_lock_is_made_once_used_while_it_fits_and_kept_when_nothing_changes(
    make_cluster: Maker,
) -> None:
    cluster = make_cluster(2)
    one, two = cluster.nodes
    file = cluster.folder / "environment.lock"
    cluster.write_environment("numlike=1.26", pip=["einlike==0.8.0"], locked=False)
    made = cluster.run("lock", "hosts.txt", "--json")
    assert made.code == 0, made.out + made.err
    text = file.read_text()
    (section,) = parse_lock(text.encode(), "environment.lock").sections
    assert {p.name for p in section.packages} == {"python", "pip", "numlike", "einlike"}
    assert section.solver == "conda 24.7.1"
    assert not (one.envs / ".envsync" / "train").exists()

    assert "up to date" in cluster.run("lock", "hosts.txt").out
    assert cluster.run("push", "hosts.txt").code == 0
    assert [solves(one), solves(two)] == [1, 0]
    assert file.read_text() == text

    cluster.write_environment("numlike=1.25", pip=["einlike==0.8.0"], locked=False)
    changed = cluster.run("push", "hosts.txt")
    assert changed.code == 0, changed.out
    assert "environment.yml has changed since it was made" in changed.out
    assert "numlike-1.25.0" in file.read_text()
    assert [solves(one), solves(two)] == [2, 0]

    again = file.read_text()
    assert cluster.run("push", "hosts.txt", "--relock").code == 0
    assert [solves(one), solves(two)] == [3, 0]
    assert file.read_text() == again


def test_broken_lock_is_bad_input_with_file_and_line(make_cluster: Maker) -> None:
    cluster = make_cluster(1)
    cluster.write_environment("tiny", locked=False)
    assert cluster.run("lock", "hosts.txt").code == 0
    file = cluster.folder / "environment.lock"
    lines = file.read_text().splitlines()
    number = next(i for i, line in enumerate(lines) if "tiny" in line)
    lines[number] = "  - --upgrade"
    file.write_text("\n".join(lines))
    done = cluster.run("push", "hosts.txt")
    assert done.code == 2
    assert f"environment.lock:{number + 1}: " in done.err
    assert not (cluster.nodes[0].envs / "train").exists()


def test_variables_and_frozen_marker_come_with_an_install_from_the_lock(
    make_cluster: Maker,
) -> None:
    cluster = make_cluster(1)
    node = cluster.nodes[0]
    cluster.write_environment("tiny", locked=False)
    file = cluster.folder / "environment.yml"
    file.write_text(file.read_text() + "variables:\n  OMP_NUM_THREADS: '3'\n")
    assert cluster.run("push", "hosts.txt").code == 0
    conda = str(node.root / "bin" / "conda")
    prefix = node.envs / "train"
    assert "OMP_NUM_THREADS = 3" in said(
        node, conda, "env", "config", "vars", "list", "-n", "train"
    )
    assert "push" in (prefix / "conda-meta" / "frozen").read_text()
    before = prefix.resolve()
    file.write_text(file.read_text().replace("'3'", "'4'"))
    assert cluster.run("push", "hosts.txt").code == 0
    assert prefix.resolve() != before


def test_lists_that_conda_itself_wrote_can_be_pushed(pushed: Cluster, make_cluster: Maker) -> None:
    cluster = make_cluster(2)
    conda = str(pushed.nodes[0].root / "bin" / "conda")
    prefix = str(pushed.nodes[0].envs / "train")
    text = said(pushed.nodes[0], conda, "list", "--explicit", "--md5", "-p", prefix)
    (cluster.folder / "explicit.txt").write_text(text)
    nameless = cluster.run("push", "hosts.txt", "-f", "explicit.txt")
    assert (nameless.code, "-n" in nameless.err) == (2, True)
    done = cluster.run("push", "hosts.txt", "-f", "explicit.txt", "-n", "train")
    assert done.code == 0, done.out + done.err
    assert [solves(node) for node in cluster.nodes] == [0, 0]
    assert {explicit(node) for node in cluster.nodes} == {text}
    assert cluster.run("verify").code == 0
    assert (
        "Already in sync"
        in cluster.run("push", "hosts.txt", "-f", "explicit.txt", "-n", "train").out
    )


BACKEND = """\
import zipfile

INFO = "gitlike-3.0.dist-info"
METADATA = "Metadata-Version: 2.1\\nName: gitlike\\nVersion: 3.0\\n"
TAGS = "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"

def build_wheel(folder, config_settings=None, metadata_directory=None):
    name = "gitlike-3.0-py3-none-any.whl"
    with zipfile.ZipFile(f"{folder}/{name}", "w") as wheel:
        wheel.write("gitlike.py")
        wheel.writestr(f"{INFO}/METADATA", METADATA)
        wheel.writestr(f"{INFO}/WHEEL", TAGS)
        wheel.writestr(f"{INFO}/RECORD", "")
    return name
"""


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    done = subprocess.run(
        ["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_package_from_git_is_locked_at_its_commit(make_cluster: Maker, tmp_path: Path) -> None:
    cluster = make_cluster(2)
    repo = tmp_path / "repos" / "gitlike"
    repo.mkdir(parents=True)
    (repo / "gitlike.py").write_text("x = 1\n")
    (repo / "backend.py").write_text(BACKEND)
    (repo / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    git(repo, "init", "-q", "-b", "main")
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "one")
    commit = git(repo, "rev-parse", "HEAD")
    port = free_port()
    daemon = subprocess.Popen(
        [
            "git", "daemon", "--export-all", "--reuseaddr", "--listen=127.0.0.1",
            f"--port={port}", f"--base-path={repo.parent}",
        ],
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        url = f"git+git://127.0.0.1:{port}/gitlike"
        cluster.write_environment("tiny", pip=["einlike", f"gitlike @ {url}@main"], locked=False)
        done = cluster.run("push", "hosts.txt")
        assert done.code == 0, done.out + done.err
        lock = (cluster.folder / "environment.lock").read_text()
        assert f"gitlike @ {url}@{commit}" in lock
        assert "einlike==0.8.0 --hash=sha256:" in lock
        # The branch moves on; a node that comes later gets what the others have.
        (repo / "gitlike.py").write_text("x = 2\n")
        git(repo, "commit", "-q", "-am", "two")
        late = make_cluster(1).nodes[0]
        cluster.nodes.append(late)
        cluster.write_known_hosts()
        cluster.write_hosts(node.host for node in cluster.nodes)
        assert cluster.run("push", "hosts.txt").code == 0
        python = str(late.envs / "train" / "bin" / "python")
        assert said(late, python, "-c", "import gitlike; print(gitlike.x)") == "1\n"
    finally:
        daemon.terminate()
        daemon.wait(10)


def test_file_that_was_exchanged_is_not_installed(make_cluster: Maker) -> None:
    """Same name, same version, other content: the hash in the lock decides."""
    cluster = make_cluster(2)
    good, cheated = cluster.nodes
    cluster.write_environment("tiny", pip=["einlike==0.8.0"], locked=False)
    wheels = cheated.home / "wheels"
    wheel(wheels, "einlike", "0.8.0", {"einlike.py": "x = 'evil'\n"})
    pip = cheated.home / ".config" / "pip" / "pip.conf"
    honest = pip.read_text()
    pip.write_text(f"[global]\nno-index = true\nfind-links = {wheels}\n")
    done = cluster.run("push", "hosts.txt", "--json")
    assert done.code == 1
    by_host = {each["host"]: each for each in done.json["result"]["hosts"]}
    assert by_host[cheated.host]["failure"]["cause"] == "pip"
    assert "DO NOT MATCH THE HASHES" in by_host[cheated.host]["failure"]["output"]
    assert by_host[good.host]["outcome"] == "prepared, not switched"
    assert not any((node.envs / "train").is_symlink() for node in cluster.nodes)
    pip.write_text(honest)
    starts = [len(node.conda_starts) for node in cluster.nodes]
    again = cluster.run("push", "hosts.txt")
    assert again.code == 0, again.out
    assert [len(node.conda_starts) for node in cluster.nodes] == [starts[0], starts[1] + 1]


@pytest.mark.parametrize("flavour", ["solver fails", "host fails"])
def test_other_canary_is_tried_only_where_that_helps(make_cluster: Maker, flavour: str) -> None:
    cluster = make_cluster(3)
    first = cluster.nodes[0]
    if flavour == "solver fails":
        cluster.write_environment("nonesuch", locked=False)
        done = cluster.run("push", "hosts.txt", "--json")
        assert [solves(node) for node in cluster.nodes] == [1, 0, 0]
        outcomes = [each["outcome"] for each in done.json["result"]["hosts"]]
        assert outcomes == ["failed", "left alone", "left alone"]
    else:
        cluster.write_environment("tiny", locked=False)
        exe = first.root / "bin" / "conda"
        exe.write_text("#!/bin/sh\necho Segmentation fault >&2\nexit 139\n")
        done = cluster.run("push", "hosts.txt", "--json")
        assert [solves(node) for node in cluster.nodes] == [0, 1, 0]
        outcomes = [each["outcome"] for each in done.json["result"]["hosts"]]
        assert outcomes == ["failed", "prepared, not switched", "prepared, not switched"]
    assert done.code == 1
    assert not any((node.envs / "train").is_symlink() for node in cluster.nodes)
