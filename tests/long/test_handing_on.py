"""Nodes that hand on to each other what was sent to them: `push --offline --relay`."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from cluster.conftest import Maker
from cluster.lab import Cluster, Lab
from cluster.test_offline import empty_cache, env, state, web, write
from cluster.waiting import wait_until
from cluster.web import Web
from envsync.model import Host
from envsync.ports import NO_WAY, Command, Completed, Handed, Peer
from envsync.transport.connect import SshOptions, SshTransport

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
    done = cluster.run("push", "hosts.txt", "--offline", "--relay", "--dry-run", env=env)
    assert re.search(r"would get \d\.\d MB in 5 of 5 files", done.out), done.out
    assert not any((node.root / "pkgs").exists() for node in cluster.nodes)
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


def test_new_node_gets_what_the_others_have(
    make_cluster: Maker, web: Web, env: dict[str, str]
) -> None:
    """Also through a csh that greets, and beside nodes that have one home in common."""
    old, new = make_cluster(1, login_shell="/usr/bin/tcsh"), make_cluster(1, aliases=1)
    (old.nodes[0].home / ".tcshrc").write_text("echo Welcome\n")
    write(old, web, "tiny")
    empty_cache(old.nodes[0])
    assert (done := old.run("push", "hosts.txt", "--offline", env=env)).code == 0, done.out
    both = Cluster([*old.nodes, *new.nodes], old.folder, old.lab)
    empty_cache(new.nodes[0])
    new.nodes[0].let_log_in()
    done = both.run("push", "hosts.txt", "--offline", "--relay", "--json", env=env)
    assert list(done.outcomes.values()) == ["in sync", "installed", "installed"], (
        done.out + done.err
    )
    went = done.json["result"]["packages"]
    # Just the wheels, which nobody keeps.
    assert 0 < went["sent"] < 10_000
    assert went["handed_on"] > 1_000_000
    assert state(new.nodes[0]) == state(old.nodes[0])
    assert both.run("push", "hosts.txt", "--offline", "--relay", env=env).code == 0


def test_canary_first_and_the_rest_from_it(
    make_cluster: Maker, web: Web, env: dict[str, str]
) -> None:
    cluster = bare(make_cluster, web, 3)
    words = ("push", "hosts.txt", "--offline", "--relay", "--canary", "1", "--json")
    done = cluster.run(*words, env=env)
    assert list(done.outcomes.values()) == ["installed"] * 3, done.out + done.err
    first, *_ = done.json["result"]["hosts"]
    went = done.json["result"]["packages"]
    # Its wheels are gone when it is sealed: these are sent a second time.
    assert 0 < went["sent"] - first["packages"]["sent"] < 10_000
    assert went["sent"] + went["handed_on"] == 3 * first["packages"]["sent"]


def test_no_other_host_key_is_taken(make_cluster: Maker, lab: Lab) -> None:
    """A node goes where it is told, and finds another one there."""
    cluster = make_cluster(2, conda=False)
    here, there = cluster.nodes
    here.let_log_in([there])
    known = cluster.folder / "known_hosts"
    transport = SshTransport(SshOptions(identity_files=(lab.key,), known_hosts=(known,)))
    connection = transport.connect(Host(here.address, port=here.port))
    true, false = (each.known_hosts_lines()[0].partition(" ")[2] for each in (there, here))
    ways = (("root", there.name, ""),)
    said = Command('printf "%s\\n" "$HOME"', stdin=b"")
    try:
        done = connection.run(Command("cat", stdin=Handed(said, Peer(ways, true))))
        assert done.text.startswith(f"{there.home}\n")
        done = connection.run(Command("cat", stdin=Handed(said, Peer(ways, false))))
        assert (done.exit_code, done.text) == (NO_WAY, "")
        assert "Host key verification failed" in done.log
    finally:
        connection.close()
        transport.close()


def test_nothing_to_hand_on_and_no_way_to_do_it(make_cluster: Maker, web: Web) -> None:
    cluster = make_cluster(1, conda=False)
    write(cluster, web, "tiny")
    done = cluster.run("push", "hosts.txt", "--relay")
    assert (done.code, "without --offline it sends nothing" in done.err) == (2, True)
    done = cluster.run("push", "hosts.txt", "--relay", "--offline", "--launcher", "local")
    assert (done.code, "not with --launcher local" in done.err) == (2, True)


@contextmanager
def agent(lab: Lab) -> Iterator[Mapping[str, str]]:
    """An ssh-agent that holds the key, as variables say it."""
    with tempfile.TemporaryDirectory() as folder:  # a socket's path must be short
        env = {"SSH_AUTH_SOCK": f"{folder}/agent"}
        with subprocess.Popen(
            ["ssh-agent", "-D", "-a", env["SSH_AUTH_SOCK"]], stdout=subprocess.DEVNULL
        ) as process:
            try:
                wait_until(Path(env["SSH_AUTH_SOCK"]).exists)
                subprocess.run(["ssh-add", "-q", str(lab.key)], env=os.environ | env, check=True)
                yield env
            finally:
                process.terminate()


def test_agent_is_lent_where_ssh_config_says_so_and_for_nothing_else(
    make_cluster: Maker, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = make_cluster(2, conda=False)
    here, there = cluster.nodes
    here.let_log_in([there])
    # The names alone, and no key of its own.
    text = (here.folder / "ssh_config").read_text()
    (here.folder / "ssh_config").write_text(text[text.index("Host ") :])
    config, known = cluster.folder / "ssh_config", cluster.folder / "known_hosts"
    peer = Peer((("root", there.name, ""),), there.known_hosts_lines()[0].partition(" ")[2])
    handed = Handed(Command('printf "%s\n" "$HOME"', stdin=b""), peer)

    def ask(command: Command) -> Completed:
        options = SshOptions(identity_files=(lab.key,), known_hosts=(known,), config=config)
        transport = SshTransport(options)
        connection = transport.connect(Host(here.address, port=here.port))
        try:
            return connection.run(command)
        finally:
            connection.close()
            transport.close()

    with agent(lab) as env:
        monkeypatch.setenv("SSH_AUTH_SOCK", env["SSH_AUTH_SOCK"])
        config.write_text("")
        assert ask(Command("cat", stdin=handed)).exit_code == NO_WAY
        config.write_text(f"Host {here.address}\nForwardAgent yes\n")
        assert ask(Command("cat", stdin=handed)).text.startswith(f"{there.home}\n")
        assert ask(Command('echo "<$SSH_AUTH_SOCK>"')).text == "<>\n"
        # Nobody takes a key out of the agent from there.
        done = ask(Command("ssh-add -D; ssh-add -l; cat >/dev/null", stdin=handed))
        assert "ED25519" in done.text
    monkeypatch.setenv("SSH_AUTH_SOCK", "/nowhere")
    assert ask(Command("cat", stdin=handed)).exit_code == NO_WAY
