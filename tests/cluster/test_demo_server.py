"""The demo's SSH server, seen by paramiko's client: streams, many channels, and a clean end."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import paramiko
import pytest

from envsync.demo.server import DemoNode

LOCALHOST = "127.0.0.1"
BIG = 10_000_000


@pytest.fixture(scope="module")
def key() -> paramiko.PKey:
    return paramiko.ECDSAKey.generate()


@pytest.fixture
def node(tmp_path: Path, key: paramiko.PKey) -> Iterator[DemoNode]:
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    made = DemoNode(env, paramiko.ECDSAKey.generate(), key)
    yield made
    made.close()


def login(node: DemoNode, key: paramiko.PKey) -> paramiko.Transport:
    transport = paramiko.Transport(socket.create_connection((LOCALHOST, node.port), 10))
    try:
        transport.connect(username="anybody", pkey=key)
    except paramiko.SSHException:
        transport.close()
        raise
    return transport


@pytest.fixture
def transport(node: DemoNode, key: paramiko.PKey) -> Iterator[paramiko.Transport]:
    made = login(node, key)
    yield made
    made.close()


def begin(transport: paramiko.Transport, command: str) -> paramiko.Channel:
    channel = transport.open_session()
    channel.settimeout(30)
    channel.exec_command(command)
    return channel


def line(channel: paramiko.Channel) -> str:
    got = b""
    while not got.endswith(b"\n"):
        got += channel.recv(1)
    return got.decode().strip()


def everything(channel: paramiko.Channel) -> tuple[bytes, bytes, int]:
    """Both streams, read at once, and the exit code."""
    with ThreadPoolExecutor(2) as pool:
        out = pool.submit(channel.makefile("rb").read)
        err = pool.submit(channel.makefile_stderr("rb").read)
        return out.result(30), err.result(30), channel.recv_exit_status()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def assert_ends(pid: int, seconds: float = 6) -> None:
    deadline = time.monotonic() + seconds
    while alive(pid):
        assert time.monotonic() < deadline, f"process {pid} still runs"
        time.sleep(0.02)


def test_command_runs_at_home_in_the_nodes_own_environment(
    transport: paramiko.Transport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://elsewhere.invalid")
    out, err, code = everything(begin(transport, "pwd; env; echo no >&2; exit 7"))
    where, *env = out.decode().splitlines()
    assert where == str(tmp_path)
    assert {f"HOME={tmp_path}", "PATH=/usr/bin:/bin"} <= set(env)
    assert "PIP_INDEX_URL" not in out.decode()
    assert (err, code) == (b"no\n", 7)


def test_another_key_is_refused(node: DemoNode) -> None:
    with pytest.raises(paramiko.AuthenticationException):
        login(node, paramiko.ECDSAKey.generate())


def test_big_outputs_on_both_streams(transport: paramiko.Transport) -> None:
    command = f"head -c {BIG} /dev/zero & head -c {BIG} /dev/zero | tr '\\0' x >&2; wait"
    out, err, code = everything(begin(transport, command))
    assert (out, err, code) == (b"\0" * BIG, b"x" * BIG, 0)


def test_input_flows_and_its_end_arrives(transport: paramiko.Transport) -> None:
    channel = begin(transport, "cat; echo end")
    channel.sendall(b"one\n")
    assert line(channel) == "one"
    channel.sendall(bytes(range(256)))
    channel.shutdown_write()
    assert everything(channel) == (bytes(range(256)) + b"end\n", b"", 0)


def test_command_may_end_while_its_input_is_open(transport: paramiko.Transport) -> None:
    channel = begin(transport, "head -n 1")
    channel.sendall(b"first\nsecond\n")
    assert everything(channel) == (b"first\n", b"", 0)


def test_commands_of_one_connection_run_side_by_side(transport: paramiko.Transport) -> None:
    channels = [begin(transport, f"read word; echo $word {number}") for number in range(20)]
    # The last one is served first: none waits for another.
    for number, channel in reversed(list(enumerate(channels))):
        channel.sendall(b"answer\n")
        assert everything(channel) == (f"answer {number}\n".encode(), b"", 0)


def test_shortest_commands_are_never_taken_for_refused(node: DemoNode, key: paramiko.PKey) -> None:
    """The answer to a request goes out before what the command says, however short it is."""

    def ask(_: int) -> list[int]:
        transport = login(node, key)
        codes = [begin(transport, "exit 3").recv_exit_status() for _ in range(50)]
        transport.close()
        return codes

    with ThreadPoolExecutor(4) as pool:
        assert [code for codes in pool.map(ask, range(4)) for code in codes] == [3] * 200


def test_keepalive_is_answered(transport: paramiko.Transport) -> None:
    """OpenSSH refuses the request, too: that is the answer."""
    assert transport.global_request("keepalive@openssh.com", wait=True) is None
    assert transport.is_active()
    assert everything(begin(transport, "echo here")) == (b"here\n", b"", 0)


def test_home_that_is_gone_refuses_the_command_and_keeps_the_connection(
    transport: paramiko.Transport, tmp_path: Path
) -> None:
    tmp_path.rename(tmp_path.with_name("elsewhere"))
    with pytest.raises(paramiko.SSHException):
        begin(transport, "true")
    tmp_path.with_name("elsewhere").rename(tmp_path)
    assert everything(begin(transport, "echo here")) == (b"here\n", b"", 0)


RUNNING = {
    "plain": "echo $$; exec sleep 60",
    "child": "sleep 60 & echo $!; wait",
    "own group": "timeout 50 sh -c 'echo $$; sleep 60; :'",
    "deaf to TERM": "trap '' TERM; echo $$; while :; do sleep 1; done",
    "endless output": "echo $$; exec yes",
}


@pytest.mark.parametrize("eof", [False, True], ids=["input open", "input ended"])
@pytest.mark.parametrize("command", RUNNING.values(), ids=RUNNING.keys())
def test_command_ends_with_its_connection(
    transport: paramiko.Transport, command: str, *, eof: bool
) -> None:
    channel = begin(transport, command)
    pid = int(line(channel))
    if eof:
        channel.shutdown_write()
    transport.close()
    assert_ends(pid)


def test_command_that_reads_no_input_ends_with_its_connection(
    transport: paramiko.Transport,
) -> None:
    channel = begin(transport, "echo $$; exec sleep 60")
    pid = int(line(channel))
    channel.settimeout(0.5)
    with pytest.raises(TimeoutError):
        channel.sendall(b"x" * BIG)
    transport.close()
    assert_ends(pid)


def test_command_may_tidy_up_when_its_input_ends(
    transport: paramiko.Transport, tmp_path: Path
) -> None:
    """As the transport's scripts do: a signal to all at once would end the one that tidies."""
    tidy = "sleep 60 & job=$!; echo $job; (cat; kill $job; sleep 0.3; echo done >tidied) <&0 & wait"
    channel = begin(transport, f"exec 3<&0; {tidy.replace('<&0', '<&3')}")
    pid = int(line(channel))
    transport.close()
    assert_ends(pid)
    deadline = time.monotonic() + 5
    while not (tmp_path / "tidied").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_output_that_nobody_wants_ends_its_writer(transport: paramiko.Transport) -> None:
    channel = begin(transport, "echo $$; exec yes")
    pid = int(line(channel))
    channel.close()
    assert_ends(pid)
    assert transport.is_active()


def test_what_a_finished_command_left_behind_lives_on(
    transport: paramiko.Transport,
) -> None:
    """As under sshd: only what has not ended belongs to the connection."""
    out, _, code = everything(begin(transport, "sleep 5 >/dev/null 2>&1 & echo $!"))
    assert code == 0
    transport.close()
    time.sleep(0.3)
    assert alive(int(out))
    os.kill(int(out), 9)


def test_close_ends_listener_connections_commands_and_threads(
    node: DemoNode, key: paramiko.PKey
) -> None:
    transport = login(node, key)
    pid = int(line(begin(transport, "echo $$; exec sleep 60")))
    started = time.monotonic()
    node.close()
    assert time.monotonic() - started < 5
    assert_ends(pid, 1)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((LOCALHOST, node.port), 1)
    transport.close()
    deadline = time.monotonic() + 5
    while threading.active_count() > 1:
        assert time.monotonic() < deadline, threading.enumerate()
        time.sleep(0.02)
