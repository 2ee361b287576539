"""`verify --watch`: what changes on real nodes between two looks, and how it ends."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cluster.lab import Cluster

SCHEMA = Path(__file__).parents[2] / "docs/reference/verify.schema.json"
PROMPT = 8
"""Seconds: one is promised; a machine that runs other tests beside is slower, and a hang is 20."""
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00"


@contextlib.contextmanager
def watching(cluster: Cluster, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A watch whose output goes to files `out` and `err`; killed if it is still there."""
    with (cluster.folder / "out").open("w") as out, (cluster.folder / "err").open("w") as err:
        watch = subprocess.Popen(
            cluster.command("verify", "--watch", "1", *words),
            cwd=cluster.folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        )
    try:
        yield watch
    finally:
        watch.kill()
        watch.wait()


def await_line(file: Path, pattern: str, since: int = 0) -> int:
    """Wait until a line of `file` from line `since` on fits; the number of the next line."""
    for _ in range(300):
        lines = file.read_text().splitlines()
        for number, line in enumerate(lines[since:], since):
            if re.fullmatch(pattern, line):
                return number + 1
        time.sleep(0.1)
    raise AssertionError(f"no {pattern!r} in {lines[since:]}")


def interrupt(watch: subprocess.Popen[str]) -> tuple[int, float]:
    """Its exit code after ^C, and the seconds that took."""
    began = time.monotonic()
    watch.send_signal(signal.SIGINT)
    return watch.wait(20), time.monotonic() - began


def sessions(cluster: Cluster) -> list[list[int]]:
    return [node.sessions() for node in cluster.nodes]


def test_lines_tell_what_changed_and_the_connections_stay(cluster: Cluster) -> None:
    out = cluster.folder / "out"
    one, two = cluster.nodes
    with watching(cluster, "--report", "now.json") as watch:
        at = await_line(out, f"{TIME} train: 2 in sync")
        kept = sessions(cluster)
        at = await_line(out, f"{TIME} train: 2 in sync; no change", at)
        assert sessions(cluster) == kept
        assert all(kept)
        record = next((two.envs / "train").resolve().glob("conda-meta/tiny-*.json"))
        record.rename(two.home / "tiny.json")
        at = await_line(out, rf"{TIME} new     {re.escape(two.address)}: tiny .*", at)
        at = await_line(out, f"{TIME} train: 1 drifted, 1 in sync", at)
        assert json.loads((cluster.folder / "now.json").read_text())["exit_code"] == 1
        (two.home / "tiny.json").rename(record)
        at = await_line(out, rf"{TIME} gone    {re.escape(two.address)}: tiny .*", at)
        one.stop()
        at = await_line(out, rf"{TIME} lost    {re.escape(one.address)}: .*", at)
        at = await_line(out, f"{TIME} train: 1 failed, 1 in sync; no change", at)
        one.start()
        at = await_line(out, rf"{TIME} back    {re.escape(one.address)}: .*", at)
        await_line(out, f"{TIME} train: 2 in sync; no change", at)
        code, took = interrupt(watch)
    assert (code, (cluster.folder / "err").read_text()) == (0, "")
    assert took < PROMPT
    assert all(re.match(TIME, line) for line in out.read_text().splitlines())


def test_connection_that_was_cut_between_two_looks_is_no_lost_host(cluster: Cluster) -> None:
    out = cluster.folder / "out"
    with watching(cluster) as watch:
        at = await_line(out, f"{TIME} train: 2 in sync")
        for node in cluster.nodes:
            node.cut_connections()
        for _ in range(3):
            at = await_line(out, f"{TIME} train: 2 in sync; no change", at)
        assert interrupt(watch)[0] == 0
    assert "lost" not in out.read_text()


def test_json_is_one_object_a_look_and_the_code_is_that_of_the_last(cluster: Cluster) -> None:
    out = cluster.folder / "out"
    for node in cluster.nodes[:1]:
        node.stop()
    with watching(cluster, "--json", "--deep") as watch:
        await_line(out, r"\{.*\}", await_line(out, r"\{.*\}"))
        code, took = interrupt(watch)
    looks: list[Any] = [json.loads(line) for line in out.read_text().splitlines()]
    schema = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
    for look in looks:
        schema.validate(look)
    assert (code, took < PROMPT) == (1, True)
    first, second = (look["result"] for look in looks[:2])
    assert [each["turn"] for each in first["changes"]][:1] == ["lost"]
    assert second["changes"] == []
    assert second["at"] > first["at"]
    assert set(second["files"]) == {cluster.nodes[1].host}
    assert re.match(TIME, (cluster.folder / "err").read_text())


def test_interrupted_in_the_first_look_it_is_130_within_a_second(cluster: Cluster) -> None:
    gate = (cluster.nodes[0].envs / "train").resolve() / "etc" / "conda" / "activate.d"
    gate.mkdir(parents=True, exist_ok=True)
    begun = cluster.folder / "begun"
    (gate / "slow.sh").write_text(f"touch '{begun}'; sleep 30\n")
    with watching(cluster) as watch:
        wait_for(begun.exists)
        code, took = interrupt(watch)
    assert (code, took < PROMPT) == (130, True)
    assert (cluster.folder / "out").read_text() == ""
    assert (cluster.folder / "err").read_text().endswith("envsync: interrupted\n")


def wait_for(what: Callable[[], bool]) -> None:
    for _ in range(200):
        if what():
            return
        time.sleep(0.05)
    raise AssertionError(what)


def test_terminal_is_drawn_anew_and_left_in_order(pushed: Cluster) -> None:
    leader, follower = pty.openpty()
    watch = subprocess.Popen(
        pushed.command("verify", "--watch", "1"),
        cwd=pushed.folder,
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"},
        start_new_session=True,
    )
    os.close(follower)
    shown = b""
    while b"look 3 at" not in shown and select.select([leader], [], [], 30)[0]:
        shown += os.read(leader, 65536)
    os.kill(watch.pid, signal.SIGINT)
    with contextlib.suppress(OSError):  # Linux says so when the other end is closed
        while more := os.read(leader, 65536):
            shown += more
    os.close(leader)
    assert watch.wait(5) == 0
    text = shown.decode()
    assert text.count("\x1b[2J") == 3
    assert "every 1 s, look 1 at " in text
    assert "2 nodes hold train, all alike" in text
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h")  # the cursor


def test_watch_ends_with_the_time_of_the_run(pushed: Cluster) -> None:
    began = time.monotonic()
    done = pushed.run("verify", "--watch", "1", "--deadline", "8")
    assert done.code == 0, done.out
    assert 8 < time.monotonic() - began < 20
    assert "lost" not in done.out


@pytest.mark.parametrize("seconds", ["0", "-1", "x", "nan", "1e9", "99999999999"])
def test_seconds_that_are_none(pushed: Cluster, seconds: str) -> None:
    done = pushed.run("verify", f"--watch={seconds}")
    assert (done.code, done.out) == (2, "")
    assert "--watch" in done.err
