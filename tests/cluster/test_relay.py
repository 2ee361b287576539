"""Nodes that hand on to each other what was sent to them: `push --offline --relay`."""

from __future__ import annotations

from cluster.conftest import Maker
from cluster.lab import Cluster
from cluster.test_offline import empty_cache, env, state, web, write
from cluster.web import Web

__all__ = ["env", "web"]


def bare(make_cluster: Maker, web: Web, count: int) -> Cluster:
    """Nodes with empty caches, which may log in to each other."""
    cluster = make_cluster(count)
    write(cluster, web, "tiny")
    for node in cluster.nodes:
        empty_cache(node)
        node.let_log_in()
    return cluster


def test_nodes_hand_on_what_was_sent_to_one(
    make_cluster: Maker, web: Web, env: dict[str, str]
) -> None:
    cluster = bare(make_cluster, web, 3)
    done = cluster.run("push", "hosts.txt", "--offline", "--relay", "--json", env=env)
    assert set(done.outcomes.values()) == {"installed"}, done.out + done.err
    first, second, third = done.json["result"]["hosts"]
    size = first["packages"]["sent"]
    assert size > 0
    assert first["packages"]["handed_on"] == {}
    assert second["packages"] == {"sent": 0, "handed_on": {first["host"]: size}}
    assert third["packages"]["sent"] == 0
    assert sum(third["packages"]["handed_on"].values()) == size
    assert done.json["result"]["packages"] == {"sent": size, "handed_on": 2 * size}
    one, two, three = (state(node) for node in cluster.nodes)
    assert one == two == three
    for node in cluster.nodes:
        assert not list(node.home.rglob("*.part"))
        assert not (node.envs / ".envsync" / ".train.wheels").exists()


def test_nodes_that_cannot_log_in_to_each_other_all_get_it_from_here(
    make_cluster: Maker, web: Web, env: dict[str, str]
) -> None:
    cluster = bare(make_cluster, web, 4)
    for node in cluster.nodes:
        (node.folder / "ssh_config").write_text("IdentityFile none\nIdentityAgent none\n")
    done = cluster.run("push", "hosts.txt", "--offline", "--relay", env=env)
    assert done.code == 0, done.out + done.err
    first, second, *_ = cluster.nodes
    assert f"{first.host} could not hand on to it: " in done.out
    assert "Permission denied (publickey)" in done.out
    assert "nodes cannot hand on to each other: it got everything from this machine" in done.out
    assert "nodes handed on" not in done.out
    assert state(first) == state(second) == state(cluster.nodes[-1])
