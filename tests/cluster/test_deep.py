"""verify --deep on real nodes: every file beside what conda and pip recorded of it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cluster.lab import Cluster, Node


def site_packages(node: Node) -> Path:
    (found,) = (node.envs / "train" / "lib").glob("python3.*/site-packages")
    return found


def kinds(result: Mapping[str, Any], node: Node) -> dict[str, list[str]]:
    """The names of the files of each kind, without their folders."""
    told = result["result"]["files"][node.host]
    assert told["failed"] == ""
    return {
        name: [Path(path).name for path, _ in each["first"]] for name, each in told["kinds"].items()
    }


def test_what_a_push_has_made_is_as_recorded(cluster: Cluster) -> None:
    done = cluster.run("verify", "--deep", "--fail-on", "warning", "--json")
    for node in cluster.nodes:
        assert kinds(done.json, node) == {}
        assert done.json["result"]["files"][node.host]["files"] > 10
    plain = cluster.run("verify", "--json").json
    assert plain["result"]["files"] is None


def test_edited_deleted_and_added_files_are_named(cluster: Cluster) -> None:
    good, node = cluster.nodes
    site = site_packages(node)
    code = site / "numlike" / "__init__.py"
    text = code.read_text()
    code.unlink()  # a link to the package cache, which other nodes share
    code.write_text(text + "# by hand\n")
    (site / "tiny.py").unlink()
    (site / "stray.py").write_text("x = 1\n")
    (site / "__pycache__").mkdir(exist_ok=True)
    (site / "__pycache__" / "stray.cpython-311.pyc").write_bytes(b"")
    (node.envs / "train" / "notes.txt").write_text("by a job\n")
    assert cluster.run("verify").code == 0
    done = cluster.run("verify", "--deep", "--json")
    assert done.code == 1
    assert kinds(done.json, good) == {}
    assert kinds(done.json, node) == {
        "changed": ["__init__.py"],
        "missing": ["tiny.py"],
        "foreign": ["stray.py"],
        "other": ["notes.txt"],
    }
    shown = " ".join(cluster.run("verify", "--deep").out.split())
    assert "numlike/__init__.py (numlike 1.26.4)" in shown
    assert "1 file that no package owns and a job may load: lib/python3" in shown
    assert cluster.run("push", "hosts.txt", "--rebuild").code == 0
    assert kinds(cluster.run("verify", "--deep", "--json").json, node) == {}


def test_pip_over_conda_is_told_as_such(cluster: Cluster) -> None:
    node = cluster.nodes[0]
    python = node.envs / "train" / "bin" / "python"
    wheel = cluster.lab.wheels / "numlike-2.1.0-py3-none-any.whl"
    subprocess.run(
        [str(python), "-m", "pip", "install", "--no-index", "--no-deps", str(wheel)],
        check=True,
        capture_output=True,
    )
    told = cluster.run("verify", "--deep", "--json").json["result"]["files"][node.host]["kinds"]
    first = told["overwritten"]["first"]
    assert {whose for _, whose in first} == {"numlike 1.26.4 of conda by numlike 2.1.0 of pip"}
    assert "__init__.py" in {Path(path).name for path, _ in first}
    assert "changed" not in told
    assert "missing" not in told


def test_broken_python_of_the_environment_does_not_hinder(cluster: Cluster) -> None:
    node = cluster.nodes[0]
    (site_packages(node) / "stray.py").touch()
    python = node.envs / "train" / "bin" / "python"
    shutil.copy("/bin/false", python.with_name("new"))
    python.with_name("new").replace(python)
    told = kinds(cluster.run("verify", "--deep", "--json").json, node)
    assert told["foreign"] == ["stray.py"]
