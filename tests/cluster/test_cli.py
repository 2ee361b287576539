"""What every command owes its user: exit codes, JSON, plain output, clear refusals."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import time
from pathlib import Path

import jsonschema
import pytest

from cluster.conftest import Maker
from cluster.lab import ENVSYNC, Cluster

ESCAPE = "\x1b"


def test_commands_print_one_envelope_and_nothing_else(pushed: Cluster) -> None:
    one, two = (node.host for node in pushed.nodes)
    for words in (
        ("push", "hosts.txt"),
        ("push", "hosts.txt", "--dry-run"),
        ("verify",),
        ("verify", "hosts.txt"),
        ("diff", one, two),
        ("lint",),
    ):
        done = pushed.run(*words, "--json")
        envelope = json.loads(done.out)
        assert envelope["version"] == 1
        assert (envelope["command"], envelope["exit_code"]) == (words[0], done.code)
        assert envelope["error"] is None
        assert ESCAPE not in done.out


@pytest.mark.parametrize(
    "words",
    [
        ("push", "nowhere.txt"),
        ("push", "hosts.txt", "--no-such-option"),
        ("push",),
        ("verify", "nowhere.txt"),
        ("diff", "nobody", "nothing"),
        ("lint", "nowhere.yml"),
    ],
)
def test_bad_words_are_exit_2_in_json_and_in_text(pushed: Cluster, words: tuple[str, ...]) -> None:
    as_json = pushed.run(*words, "--json")
    assert as_json.code == 2
    assert json.loads(as_json.out)["error"]["message"]
    text = pushed.run(*words)
    assert (text.code, text.out) == (2, "")
    assert text.err.startswith("envsync: ")
    assert "Traceback" not in text.err


def test_output_without_a_terminal_has_no_control_codes(pushed: Cluster) -> None:
    done = pushed.run("verify", env={"TERM": "xterm-256color"})
    assert ESCAPE not in done.out + done.err
    assert "\r" not in done.out + done.err


@pytest.mark.parametrize("no_color", [False, True])
def test_terminal_gets_progress_and_colour_unless_no_color(
    pushed: Cluster, *, no_color: bool
) -> None:
    leader, follower = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "30"}
    env.pop("NO_COLOR", None)
    if no_color:
        env["NO_COLOR"] = "1"
    with subprocess.Popen(
        pushed.command("verify"),
        cwd=pushed.folder,
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=env,
    ) as process:
        os.close(follower)
        shown = b""
        while True:
            try:
                data = os.read(leader, 65536)
            except OSError:  # Linux says EIO when the last writer is gone
                break
            if not data:
                break
            shown += data
        process.wait()
    os.close(leader)
    text = shown.decode()
    assert "2 nodes hold train" in text
    assert "0 of 2 done" in text or "1 of 2 done" in text
    colours = re.search(r"\x1b\[[0-9;]*3[0-9]", text)
    assert (colours is None) is no_color


def test_verify_and_diff_need_no_words_after_a_push(pushed: Cluster) -> None:
    one, two = pushed.nodes
    bare = subprocess.run(
        [*ENVSYNC, "verify"], cwd=pushed.folder, capture_output=True, text=True, check=False
    )
    assert bare.returncode == 0, bare.stderr
    short = pushed.run("diff", one.address, two.address)
    assert short.code == 0


def test_reports_say_what_json_does_and_are_as_published(pushed: Cluster) -> None:
    names = ("r.json", "r.md", "r.xml", "r.html", "r.svg")
    options = [word for name in names for word in ("--report", name)]
    done = pushed.run("verify", "--json", *options)
    assert done.code == 0, done.err
    report = json.loads((pushed.folder / "r.json").read_text())
    assert report == json.loads(done.out)
    docs = Path(__file__).parents[2] / "docs" / "reference"
    jsonschema.validate(report, json.loads((docs / "verify.schema.json").read_text()))
    for name in names:
        text = (pushed.folder / name).read_text()
        assert "train" in text
        (pushed.folder / name).unlink()


def test_diff_of_a_node_with_its_lock_its_file_and_its_report(pushed: Cluster) -> None:
    one = pushed.nodes[0].host
    assert pushed.run("verify", "--report", "r.json").code == 0
    report = f"r.json#{one}"
    for other in ("environment.lock", "environment.yml", report):
        done = pushed.run("diff", one, other)
        assert done.code == 0, done.out + done.err
        assert "are equal in all" in done.out
    changed = (pushed.folder / "r.json").read_text().replace('"name": "tiny", "version": "', "&9")
    (pushed.folder / "r.json").write_text(changed.replace("&9", '"name": "tiny", "version": "9'))
    done = pushed.run("diff", report, one, "--json", "--only", "conda")
    (pushed.folder / "r.json").unlink()
    (row,) = done.json["result"]["rows"]
    assert (done.code, row["name"], row["jump"]) == (1, "tiny", "major")


def test_report_that_cannot_be_written_stops_before_any_node(pushed: Cluster) -> None:
    for name in ("r.pdf", "no/such/folder/r.json"):
        done = pushed.run("verify", "--report", name)
        assert (done.code, done.out) == (2, "")
        assert "--report" in done.err


def test_without_a_push_a_sentence_says_so(tmp_path: Path) -> None:
    for words in (["verify"], ["diff", "a", "b"]):
        done = subprocess.run(
            [*ENVSYNC, *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert "there was no push from" in done.stderr
        assert list(tmp_path.iterdir()) == []


def test_verify_of_an_environment_that_is_not_there(pushed: Cluster) -> None:
    done = pushed.run("verify", "hosts.txt", "-n", "nope")
    assert done.code == 1
    assert "there is no environment nope" in done.out
    assert "Traceback" not in done.out + done.err


@pytest.mark.parametrize(
    "host", ["x; touch /tmp/envsync-p", "-oProxyCommand=touch", "$(id)", "a b", "gpu[1-99999999]"]
)
def test_hostile_hosts_are_refused_with_file_and_line(pushed: Cluster, host: str) -> None:
    file = pushed.folder / "hostile.txt"
    file.write_text(f"# first\n{host}\n")
    done = pushed.run("push", file.name)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("envsync: hostile.txt:2: ")
    assert not Path("/tmp/envsync-p").exists()


@pytest.mark.parametrize(
    "name", ["x; touch /tmp/envsync-p", "../up", "$(id)", "-rf", "a/b", "base"]
)
def test_hostile_names_are_refused(pushed: Cluster, name: str) -> None:
    done = pushed.run("push", "hosts.txt", f"--name={name}")
    assert (done.code, done.out) == (2, "")
    (pushed.folder / "other.yml").write_text(f"name: '{name}'\ndependencies: [python]\n")
    done = pushed.run("push", "hosts.txt", "-f", "other.yml")
    assert done.code == 2
    assert done.err.startswith("envsync: other.yml:1: ")
    assert not Path("/tmp/envsync-p").exists()


def test_push_is_stopped_by_lints_errors_and_shows_its_warnings(pushed: Cluster) -> None:
    doubtful = "name: env1\nchannels: [https://h.test/t/hunter2/x]\ndependencies: [python=3.8"
    (pushed.folder / "doubtful.yml").write_text(doubtful + "]\n")
    done = pushed.run("push", "hosts.txt", "-f", "doubtful.yml", "--dry-run")
    assert done.code == 0, done.err
    said = done.out + done.err
    assert re.findall(r"note: doubtful\.yml:(\d): (ENV\d+): ", said) == [
        ("1", "ENV101"),
        ("2", "ENV201"),
        ("2", "ENV601"),
    ]
    assert "hunter2" not in said
    (pushed.folder / "doubtful.yml").write_text(doubtful + ", numpy=1, numpy=2]\n")
    stopped = pushed.run("push", "hosts.txt", "-f", "doubtful.yml", "--dry-run")
    assert (stopped.code, stopped.out) == (2, "")
    assert "numpy is asked for 2 times" in stopped.err


def test_hosts_from_standard_input(pushed: Cluster) -> None:
    done = pushed.run("verify", "-", stdin=f"{pushed.nodes[0].host}\n")
    assert done.code == 0
    assert "1 node holds train" in done.out


def test_64_hosts_of_one_sshd_are_looked_at_without_a_dropped_one(make_cluster: Maker) -> None:
    cluster = make_cluster(1)
    node = cluster.nodes[0]
    cluster.write_environment("tiny", locked=False)
    key = " ".join((node.folder / "host_key.pub").read_text().split()[:2])
    (cluster.folder / "known_hosts").write_text(f"all-one {key}\n")
    (cluster.folder / "config").write_text(
        f"Host n*\n  HostName {node.address}\n  Port {node.port}\n  HostKeyAlias all-one\n"
    )
    cluster.write_hosts(["n[01-64]"])
    done = cluster.run("push", "hosts.txt", "--dry-run", "--json", "-F", "config")
    assert done.code == 0, done.out
    assert [each["outcome"] for each in done.json["result"]["hosts"]] == [
        "would solve and install"
    ] * 64
    shown = cluster.run("push", "hosts.txt", "--dry-run", "-F", "config")
    assert re.search(r"n\[01-64\]\s+would solve and install", shown.out)


def test_help_imports_neither_paramiko_nor_rich_live() -> None:
    done = subprocess.run(
        [ENVSYNC[0], "-X", "importtime", "-m", "envsync", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "typer" in imported
    assert not {"paramiko", "rich", "rich.live", "rattler", "ClusterShell"} & imported


def test_interrupted_demo_leaves_nothing_behind(tmp_path: Path) -> None:
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [*ENVSYNC, "demo"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as demo:
        time.sleep(6)
        assert list(tmp_path.iterdir())
        demo.terminate()
        _, err = demo.communicate(timeout=20)
    assert demo.returncode == 130
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []
