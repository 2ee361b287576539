"""Some of the hosts, and runs that are cut short: what is done to whom, and what is remembered."""

from __future__ import annotations

from cluster.conftest import Maker
from cluster.lab import Cluster
from cluster.waiting import slow_down, wait_until


def links(cluster: Cluster) -> list[str]:
    return [str((node.envs / "train").readlink()) for node in cluster.nodes]


def test_push_to_some_of_the_hosts_leaves_the_others_and_remembers_all(
    make_cluster: Maker,
) -> None:
    cluster = make_cluster(2)
    one, two = cluster.nodes
    cluster.write_environment("numlike=1.25")
    assert cluster.run("push", "hosts.txt").code == 0
    before = links(cluster)
    cluster.write_environment("numlike=1.26")
    some = cluster.run("push", "hosts.txt", "-x", two.host)
    assert some.code == 0, some.out + some.err
    assert "only 1 of 2 hosts: 1 host keeps what it has" in some.out
    assert links(cluster)[0] != before[0]
    assert links(cluster)[1] == before[1]
    seen = cluster.run("verify", "--json")
    assert seen.code == 1
    assert set(seen.outcomes) == {one.host, two.host}
    assert {each["host"] for each in seen.json["result"]["findings"]} >= {two.host}
    slip = cluster.run("push", "hosts.txt", "-x", "no-such-host")
    assert (slip.code, links(cluster)[1]) == (2, before[1])
    assert "none of the inventory's hosts" in slip.err


def test_those_that_failed_are_known_until_a_push_goes_well(make_cluster: Maker) -> None:
    cluster = make_cluster(2)
    one, two = cluster.nodes
    cluster.write_environment("tiny")
    assert cluster.run("push", "hosts.txt").code == 0
    two.stop()
    assert cluster.run("verify").code == 1
    two.start()
    # To look at others is no reason to forget it.
    assert cluster.run("ping", one.host).code == 0
    failed = cluster.run("verify", "--failed", "--json")
    assert (failed.code, failed.outcomes) == (0, {two.host: "ok"})
    assert cluster.run("push", "hosts.txt").code == 0
    none = cluster.run("verify", "--failed")
    assert none.code == 2
    assert "no host failed" in none.err


def test_deadline_ends_a_push_with_every_host_as_it_was(make_cluster: Maker) -> None:
    cluster = make_cluster(2)
    cluster.write_environment("tiny")
    for node in cluster.nodes:
        slow_down(node, 60)
    done = cluster.run("push", "hosts.txt", "--deadline", "6", "--json")
    assert done.code == 1
    assert set(done.outcomes.values()) == {"deadline"}
    assert not any((node.envs / "train").exists() for node in cluster.nodes)
    wait_until(lambda: not any(node.commands() for node in cluster.nodes), 30)


def test_ping_shows_how_each_host_was_reached_and_how_to_see_a_failure(
    make_cluster: Maker,
) -> None:
    cluster = make_cluster(2)
    one, two = cluster.nodes
    two.stop()
    done = cluster.run("ping", "hosts.txt", "--json")
    assert done.code == 1
    result = done.json["result"]
    assert done.outcomes == {one.host: "ok", two.host: "refused"}
    reached = result["pongs"][one.host]["reached"]
    assert reached["address"] == one.host
    assert reached["key"].startswith("ssh-ed25519 SHA256:")
    assert reached["host_key"].startswith("ssh-ed25519 SHA256:")
    assert reached["key"] != reached["host_key"]
    assert result["pongs"][one.host]["conda"]["version"] == "24.7.1"
    command = result["in_ssh"][two.host]
    assert command.startswith("ssh -v ")
    assert f"-p {two.port} {two.address} true" in command
    spared = cluster.run(
        "ping", f"{two.host},{one.host}", "--max-failures", "0", "-j", "1", "--json"
    )
    assert spared.outcomes == {two.host: "refused", one.host: "not-tried"}
