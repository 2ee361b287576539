"""A node that reaches nothing but what comes to its sshd, and a line that is cut."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.conftest import Maker
from cluster.lab import Cluster, Lab, Node, free_port
from cluster.test_offline import big_wheel, empty_cache, env, state, web, write
from cluster.web import Web
from long.network import Namespace, Relay

__all__ = ["env", "web"]

BIG = 200_000_000
CUT = 120_000_000
SLACK = 8_000_000
"""Bytes that were on their way, and all that is not a package."""


@pytest.fixture(scope="module")
def apart() -> Iterator[Namespace]:
    with Namespace.made() as made:
        yield made


@pytest.fixture
def cluster(lab: Lab, warm_packages: Path, tmp_path: Path, apart: Namespace) -> Iterator[Cluster]:
    """One node in a network of its own, with an empty package cache."""
    assert warm_packages.exists()  # and with it a node that solves
    node = Node(lab, tmp_path / "home", apart.there, free_port(), tmp_path / "node")
    node.install_conda()
    apart.start(node)
    yield Cluster([node], tmp_path / "project", lab)
    node.stop()


def outside(apart: Namespace, url: str) -> bool:
    """Whether something in there gets an answer from a server of this machine."""
    port = url.rpartition(":")[2]
    for address in ("127.0.0.1", apart.here):
        words = ["timeout", "3", "bash", "-c", f"exec 3<>/dev/tcp/{address}/{port}"]
        if subprocess.run(["ip", "netns", "exec", apart.name, *words], check=False).returncode == 0:
            return True
    return False


@pytest.mark.root
def test_node_without_a_network_gets_what_others_fetch(
    cluster: Cluster, make_cluster: Maker, apart: Namespace, web: Web, env: dict[str, str]
) -> None:
    assert not outside(apart, web.url)
    online = make_cluster(1)
    write(online, web, "tiny")
    write(cluster, web, "tiny")
    assert (done := online.run("push", "hosts.txt")).code == 0, done.out + done.err
    done = cluster.run("push", "hosts.txt", "--offline", env=env)
    assert done.code == 0, done.out + done.err
    assert state(cluster.nodes[0]) == state(online.nodes[0])
    assert cluster.run("push", "hosts.txt", "--offline", env=env).code == 0


@pytest.mark.root
def test_cut_in_the_middle_of_an_upload_resumes(
    lab: Lab, cluster: Cluster, web: Web, env: dict[str, str]
) -> None:
    node = cluster.nodes[0]
    relay = Relay((node.address, node.port), reset_after=CUT)
    key = node.known_hosts_lines()[0].partition(" ")[2]
    (cluster.folder / "known_hosts").write_text(f"[127.0.0.1]:{relay.port} {key}\n")
    cluster.write_hosts([f"127.0.0.1:{relay.port}"])
    write(cluster, web)
    big_wheel(cluster, BIG)
    done = cluster.run("push", "hosts.txt", "--offline", "--json", env=env)
    assert list(done.outcomes.values()) == ["link-lost"], done.out + done.err
    wheels = node.envs / ".envsync" / ".train.wheels"
    (part,) = wheels.glob(".bulky*.part")
    there = part.stat().st_size
    assert there > CUT - SLACK
    assert not list(wheels.glob("bulky*"))
    relay.reset_after = relay.upward = 0
    done = cluster.run("push", "hosts.txt", "--offline", "--json", env=env)
    assert list(done.outcomes.values()) == ["installed"], done.out + done.err
    assert BIG - there < relay.upward < BIG - there + SLACK
    assert not wheels.exists()

    # Another environment of the same packages: its node has them all.
    write(cluster, web, name="other")
    lines = (cluster.folder / "environment.yml").read_text().partition("  - pip:")[0]
    (cluster.folder / "environment.yml").write_text(lines)
    cluster.lock.write_bytes(lab.lock_for(lines))
    web.asked.clear()
    relay.upward = 0
    done = cluster.run("push", "hosts.txt", "--offline", env=env)
    assert done.code == 0, done.out + done.err
    assert re.search(r"sent 0\.0 MB in 0 of \d+ files", done.out)
    assert relay.upward < 200_000
    assert not web.asked
    empty_cache(node)
    done = cluster.run("push", "hosts.txt", "--offline", "--dry-run", "--rebuild", env=env)
    assert re.search(r"would send \d+\.\d MB in (\d+) of \1 files", done.out), done.out + done.err
    assert not (node.root / "pkgs").exists()
    relay.close()
