"""Eight nodes that hand on to each other, counted on the wire; givers and pushes that die."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from cluster.conftest import Maker
from cluster.lab import Cluster, Node
from cluster.test_offline import big_wheel, empty_cache, env, state, web, write
from cluster.waiting import wait_until
from cluster.web import Web
from long.network import Relay

__all__ = ["env", "web"]

NODES = 8
SIZE = 20_000_000
BIG = 150_000_000
LITTLE = 500_000
"""Bytes: all that goes to one node and is no package."""
PUSH = ("push", "hosts.txt", "--offline", "--relay", "--json")


def bare(make_cluster: Maker, web: Web, count: int) -> Cluster:
    """Nodes with empty caches, which may log in to each other by name."""
    cluster = make_cluster(count)
    write(cluster, web, "tiny")
    for node in cluster.nodes:
        empty_cache(node)
        node.let_log_in(cluster.nodes)
    return cluster


def by_relays(cluster: Cluster) -> list[Relay]:
    """Make names that lead this machine through a relay each, and nodes straight on."""
    relays, config, known = [], [], []
    for node in cluster.nodes:
        relay = Relay((node.address, node.port))
        relays.append(relay)
        config += [f"Host {node.name}", "HostName 127.0.0.1", f"Port {relay.port}"]
        known.append(f"[127.0.0.1]:{relay.port} {node.known_hosts_lines()[0].partition(' ')[2]}")
    (cluster.folder / "ssh_config").write_text("\n".join(config) + "\n")
    (cluster.folder / "known_hosts").write_text("\n".join(known) + "\n")
    cluster.write_hosts(node.name for node in cluster.nodes)
    return relays


@pytest.mark.timeout(600)
def test_eight_nodes_and_each_package_is_sent_once(
    make_cluster: Maker, web: Web, env: dict[str, str]
) -> None:
    cluster = bare(make_cluster, web, NODES)
    big_wheel(cluster, SIZE)
    relays = by_relays(cluster)
    done = cluster.run(*PUSH, "-F", "ssh_config", env=env)
    assert list(done.outcomes.values()) == ["installed"] * NODES, done.out + done.err
    packages = done.json["result"]["packages"]
    size = packages["sent"]
    assert size > SIZE
    assert packages["handed_on"] == (NODES - 1) * size
    upward = sum(relay.upward for relay in relays)
    print(f"{size} bytes of packages, {upward} bytes sent in all to {NODES} nodes")
    assert size < upward < size + NODES * LITTLE
    assert upward < 2 * size
    states = [state(node) for node in cluster.nodes]
    assert all(each == states[0] for each in states)
    assert cluster.run("verify", "-F", "ssh_config").code == 0
    for relay in relays:
        relay.close()


def parts(node: Node) -> list[Path]:
    return list((node.envs / ".envsync" / ".train.wheels").glob(".bulky*.part"))


def started(cluster: Cluster, env: Mapping[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        cluster.command(*PUSH), cwd=cluster.folder, env={**os.environ, **env}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


@pytest.mark.timeout(600)
def test_giver_that_dies_in_the_middle(make_cluster: Maker, web: Web, env: dict[str, str]) -> None:
    cluster = bare(make_cluster, web, 4)
    big_wheel(cluster, BIG)
    giver, *others = cluster.nodes
    with started(cluster, env) as push:
        wait_until(lambda: any(parts(node) for node in others), 60)
        giver.stop()
        out, err = push.communicate(timeout=200)
    result = json.loads(out)["result"]
    ends = [each["outcome"] for each in result["hosts"]]
    assert ends == ["failed", *["prepared, not switched"] * 3], out + err
    notes = [note for each in result["hosts"] for note in each["notes"]]
    assert any(note.startswith(f"{giver.host} could not hand on to it: ") for note in notes)
    whole = result["hosts"][-1]["packages"]
    size = whole["sent"] + sum(whole["handed_on"].values())
    # Once to the one that died, and what it had not handed on yet.
    assert size < result["packages"]["sent"] <= 2 * size
    giver.start()
    done = cluster.run(*PUSH, env=env)
    assert done.code == 0, done.out + done.err
    states = [state(node) for node in cluster.nodes]
    assert all(each == states[0] for each in states)


@pytest.mark.timeout(600)
def test_kill_leaves_nothing_running_and_the_next_push_goes_on(
    make_cluster: Maker, web: Web, env: dict[str, str]
) -> None:
    cluster = bare(make_cluster, web, 2)
    size = big_wheel(cluster, BIG)
    first, second = cluster.nodes
    with started(cluster, env) as push:
        wait_until(lambda: parts(second), 60)
        push.kill()
    wait_until(lambda: not first.commands() and not second.commands(), 30)
    (part,) = parts(second)
    there = part.stat().st_size
    assert 0 < there < size
    assert not list(Path("/tmp").glob("envsync.????????"))
    done = cluster.run(*PUSH, env=env)
    assert done.code == 0, done.out + done.err
    hosts = done.json["result"]["hosts"]
    assert hosts[0]["packages"] is None
    assert hosts[1]["packages"]["sent"] == 0
    # The rest of it, and two little wheels.
    assert 0 < hosts[1]["packages"]["handed_on"][first.host] - (size - there) < LITTLE
    assert state(first) == state(second)
