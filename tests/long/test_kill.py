"""kill -9 at any moment of a push: no node is ever broken, and the next push ends clean."""

from __future__ import annotations

import json
import random
import subprocess
import time
from pathlib import Path

import pytest

from cluster.conftest import Maker
from cluster.lab import Cluster

ROUNDS = 20
SEED = 20261201


def links(cluster: Cluster) -> list[Path]:
    return [node.envs / "train" for node in cluster.nodes]


def current_is_whole_or_absent(cluster: Cluster) -> bool:
    return all((link / ".sealed").exists() for link in links(cluster) if link.is_symlink())


def phase_of_last_run(cluster: Cluster) -> str:
    """What a run was doing when its log ends; empty if it had not begun."""
    logs = sorted((cluster.folder / ".envsync").glob("runs/*-push.jsonl"))
    lines = logs[-1].read_text().splitlines() if logs else []
    events = [json.loads(line) for line in lines if line.endswith("}")]
    return next((each["phase"] for each in reversed(events) if each.get("phase")), "")


@pytest.mark.timeout(1200)  # twenty pushes, and twenty more
def test_push_killed_at_twenty_moments(make_cluster: Maker) -> None:
    chance = random.Random(SEED)  # noqa: S311 (the same moments every time)
    cluster = make_cluster(3)
    duration = 8.0
    phases: set[str] = set()
    for number in range(ROUNDS):
        # Another variable makes another generation, so that every round has all to do.
        cluster.write_environment("tiny", "numlike")
        with (cluster.folder / "environment.yml").open("a") as file:
            file.write(f"variables:\n  ROUND: 'number {number}'\n")
        moment = chance.uniform(0.3, duration)
        with subprocess.Popen(
            cluster.command("push", "hosts.txt"),
            cwd=cluster.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as push:
            time.sleep(moment)
            push.kill()
        phases.add(phase_of_last_run(cluster))
        assert current_is_whole_or_absent(cluster), f"round {number}, {moment:.2f} s"
        if len({link.resolve().name for link in links(cluster)}) > 1:
            # Half of the nodes have switched: then that was decided, and is told.
            assert "`envsync resume` completes it" in cluster.run("verify").out
        started = time.monotonic()
        second = cluster.run("push", "hosts.txt")
        duration = min(8.0, time.monotonic() - started + 2)
        assert second.code == 0, f"round {number}, {moment:.2f} s\n{second.out}{second.err}"
        assert current_is_whole_or_absent(cluster)
        assert len({link.resolve().name for link in links(cluster)}) == 1
        assert cluster.run("verify").code == 0, f"round {number}, {moment:.2f} s"
        for node in cluster.nodes:
            assert not (node.envs / ".envsync" / ".building").exists()
            assert not (node.envs / ".envsync" / "train" / ".push").exists()
    # Else the moments were not what they are meant to be.
    assert len(phases) >= 4, phases
    assert {"solving", "building"} <= phases
