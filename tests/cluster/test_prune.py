"""status and prune on real nodes, with real processes in the way."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cluster.conftest import Maker
from cluster.lab import Cluster, Node


@contextmanager
def job(python: Path) -> Iterator[int]:
    """A Python that runs in an environment while the block lasts; its pid."""
    with subprocess.Popen(
        [str(python), "-c", "print(flush=True); import time; time.sleep(120)"],
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()  # it is up
        yield process.pid
        process.kill()


def generations(node: Node) -> set[str]:
    return {path.name for path in (node.envs / ".envsync" / "train").glob("*/")}


def push(cluster: Cluster, version: str) -> Path:
    cluster.write_environment(f"numlike={version}")
    assert cluster.run("push", "hosts.txt").code == 0
    time.sleep(1.1)  # the history counts in seconds
    return (cluster.nodes[0].envs / "train").resolve()


def test_old_generations_go_unless_somebody_runs_in_them(make_cluster: Maker) -> None:
    cluster = make_cluster(1)
    node = cluster.nodes[0]
    first = push(cluster, "1.25")
    second = push(cluster, "1.26")
    assert generations(node) == {first.name, second.name}

    with job(first / "bin" / "python") as pid:
        shown = cluster.run("status", "--json").json["result"]["kept"][node.host]
        assert shown["current"] == second.name
        (process,) = shown["census"]["processes"]
        assert (process["pid"], process["generation"]) == (pid, first.name)
        assert all(each["size"] > 0 for each in shown["census"]["generations"])
        text = cluster.run("status")
        assert "in use" in text.out
        assert str(pid) in text.out
        assert "none" in cluster.run("prune", "--keep", "1").out
    assert generations(node) == {first.name, second.name}

    # It came by the link, and its mapped files tell where it really is.
    with job(node.envs / "train" / "bin" / "python") as pid:
        shown = cluster.run("status", "--json").json["result"]["kept"][node.host]
        (process,) = shown["census"]["processes"]
        assert (process["pid"], process["generation"]) == (pid, second.name)
        dry = cluster.run("prune", "--keep", "1", "--dry-run", "--json").json["result"]
        assert dry["pruned"][node.host]["generations"] == [first.name]
    assert generations(node) == {first.name, second.name}

    done = cluster.run("prune", "--keep", "1")
    assert (done.code, "1 generation removed" in done.out) == (0, True)
    assert generations(node) == {second.name}
    assert not first.with_name(f"{first.name}.yml").exists()
    assert cluster.run("verify").code == 0
    assert cluster.run("rollback").code == 1
