"""What envsync.toml says holds for every command, and the command line goes before it."""

from __future__ import annotations

import shutil
import subprocess

from cluster.conftest import Maker
from cluster.lab import Cluster


def test_push_verify_and_diff_need_no_words(make_cluster: Maker) -> None:
    cluster = make_cluster(2)
    cluster.write_environment("tiny")
    config = cluster.folder / "envsync.toml"
    named = cluster.run("push")
    assert (named.code, "no hosts are named" in named.err) == (2, True)
    config.write_text('hosts = "hosts.txt"\nfan-out = 2\nreport = ["report.md"]\n')
    done = cluster.run("push", "--json")
    assert (done.code, set(done.outcomes.values())) == (0, {"installed"}), done.err
    assert cluster.run("verify").code == 0
    assert (cluster.folder / "report.md").exists()
    first, second = (node.host for node in cluster.nodes)
    assert cluster.run("diff", first, second).code == 0
    assert cluster.run("status").code == 0
    assert cluster.run("log").code == 0

    # The command line goes before it.
    one = cluster.run("verify", first, "--report", "other.md", "--json")
    assert list(one.outcomes) == [first]
    assert (cluster.folder / "other.md").exists()
    config.write_text('hosts = "hosts.txt"\nname = "other"\n')
    missing = cluster.run("verify", "--json")
    assert missing.json["result"]["name"] == "other"
    assert cluster.run("verify", "-n", "train").code == 0


def test_wrong_config_stops_every_command_and_touches_nothing(pushed: Cluster) -> None:
    folder = pushed.folder / "wrong"
    folder.mkdir()
    shutil.copy(pushed.folder / "environment.yml", folder)
    (folder / "envsync.toml").write_text('name = "x"\nfanout = 3\n')
    for words in (("verify",), ("push", "hosts.txt"), ("ping", "hosts.txt")):
        done = pushed.run(*words, "-f", "wrong/environment.yml", "--json")
        assert done.code == 2, done.out
        error = done.json["error"]
        assert (error["file"], error["line"]) == ("wrong/envsync.toml", 2)
        assert "fan-out" in error["hint"]


def test_config_says_where_each_value_comes_from(pushed: Cluster) -> None:
    folder = pushed.folder / "shown"
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[tool.envsync]\n\nfan-out = 4\nhosts = ["a", "b"]\n')
    words = [*pushed.command("--version")[:-1], "config", "-f", "shown/environment.yml"]
    shown = subprocess.run(words, cwd=pushed.folder, capture_output=True, text=True, check=True)
    (line,) = [each for each in shown.stdout.splitlines() if "fan-out" in each]
    assert line.split() == ["fan-out", "4", "shown/pyproject.toml:3"]
    (line,) = [each for each in shown.stdout.splitlines() if "deadline" in each]
    assert line.split() == ["deadline", "none", "default"]
