"""Going back on real nodes: all or none, at once, and without conda."""

from __future__ import annotations

from cluster.conftest import Maker
from cluster.lab import Cluster


def current(cluster: Cluster) -> set[str]:
    return {(node.envs / "train").resolve().name for node in cluster.nodes}


def test_back_and_forth_on_all_nodes_or_on_none(make_cluster: Maker) -> None:
    cluster = make_cluster(2)
    cluster.write_environment("numlike=1.25")
    assert cluster.run("push", "hosts.txt").code == 0
    (old,) = current(cluster)
    nothing = cluster.run("rollback")
    assert (nothing.code, "no earlier generation" in nothing.out) == (1, True)

    cluster.write_environment("numlike=1.26")
    assert cluster.run("push", "hosts.txt").code == 0
    (new,) = current(cluster)
    starts = [len(node.conda_starts) for node in cluster.nodes]

    back = cluster.run("rollback")
    assert back.code == 0, back.out + back.err
    assert current(cluster) == {old}
    verified = cluster.run("verify", "--json")
    assert verified.code == 0
    assert verified.json["result"]["generations"] == [old]

    cluster.nodes[1].stop()
    stuck = cluster.run("rollback")
    assert stuck.code == 1
    assert "No node was switched" in stuck.out
    assert current(cluster) == {old}
    cluster.nodes[1].start()

    named = cluster.run("rollback", "--to", new, "--json")
    assert (named.code, named.json["result"]["generations"]) == (0, [new])
    assert current(cluster) == {new}
    assert cluster.run("rollback", "--to", "nonesuch").code == 1
    assert [len(node.conda_starts) for node in cluster.nodes] == starts
