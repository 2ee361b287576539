"""kill -9 at any moment of a push: no node is ever broken, and the next push ends clean."""

from __future__ import annotations

import random
import subprocess
import time

from cluster.conftest import Maker
from cluster.lab import Cluster

ROUNDS = 20
SEED = 20261201


def current_is_whole_or_absent(cluster: Cluster) -> bool:
    links = [node.envs / "train" for node in cluster.nodes]
    return all((link / ".sealed").exists() for link in links if link.is_symlink())


def test_push_killed_at_twenty_moments(make_cluster: Maker) -> None:
    chance = random.Random(SEED)  # noqa: S311 (the same moments every time)
    cluster = make_cluster(3)
    duration = 8.0
    for number in range(ROUNDS):
        # Another comment makes another generation, so that every round has all to do.
        cluster.write_environment("tiny", f"numlike  # round {number}")
        moment = chance.uniform(0.3, duration)
        with subprocess.Popen(
            cluster.command("push", "hosts.txt"),
            cwd=cluster.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as push:
            time.sleep(moment)
            push.kill()
        assert current_is_whole_or_absent(cluster), f"round {number}, {moment:.2f} s"
        started = time.monotonic()
        second = cluster.run("push", "hosts.txt")
        duration = min(8.0, time.monotonic() - started + 2)
        assert second.code == 0, f"round {number}, {moment:.2f} s\n{second.out}{second.err}"
        assert current_is_whole_or_absent(cluster)
        assert cluster.run("verify").code == 0, f"round {number}, {moment:.2f} s"
        for node in cluster.nodes:
            assert not list((node.envs / ".envsync" / "train").glob("*.building"))
