"""What every transport must do, shown over a pipe, over OpenSSH and over the demo's server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import paramiko
import pytest

from cluster.conftest import Maker
from cluster.lab import Lab
from envsync.demo.server import DemoNode
from envsync.errors import CommandTimeoutError, LinkLostError
from envsync.model import Host
from envsync.ports import Command, Connection
from envsync.transport.connect import SshOptions, SshTransport
from envsync.transport.local import LocalTransport

HOSTILE = ("x; touch /tmp/p", "it's", '"', "$(id)", "a\nb", "", "-n", "!!", "~", "é")
KINDS = ("local", "openssh", "openssh with csh", "openssh with fish", "demo server")


@pytest.fixture(params=KINDS)
def connection(
    request: pytest.FixtureRequest, lab: Lab, make_cluster: Maker, tmp_path: Path
) -> Iterator[Connection]:
    if request.param == "local":
        env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
        yield LocalTransport(env).connect(Host("here"))
        return
    known_hosts = tmp_path / "known"
    if request.param == "demo server":
        host_key = paramiko.ECDSAKey.generate()
        env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
        node = DemoNode(env, host_key, paramiko.PKey.from_path(lab.key))
        name = f"[127.0.0.1]:{node.port}"
        known_hosts.write_text(f"{name} {host_key.get_name()} {host_key.get_base64()}\n")
        host = Host("127.0.0.1", port=node.port)
        close = node.close
    else:
        shell = {"csh": "/usr/bin/tcsh", "fish": "/usr/bin/fish"}.get(request.param[13:], "")
        real = make_cluster(1, conda=False, login_shell=shell).nodes[0]
        known_hosts.write_text("\n".join(real.known_hosts_lines()))
        host = Host(real.address, port=real.port)
        close = real.stop
    options = SshOptions(identity_files=(lab.key,), known_hosts=(known_hosts,), keepalive=0.5)
    made = SshTransport(options).connect(host)
    yield made
    made.close()
    close()


def test_arguments_arrive_unchanged(connection: Connection) -> None:
    done = connection.run(Command('printf "%s\\0" "$@"', HOSTILE))
    assert tuple(done.text.split("\0")[:-1]) == HOSTILE


def test_exit_code_is_data(connection: Connection) -> None:
    assert connection.run(Command("exit 42")).exit_code == 42


def test_input_and_output_are_bytes(connection: Connection) -> None:
    payload = bytes(range(256)) * 4000
    assert connection.run(Command("cat", stdin=payload)).stdout == payload


def test_file_of_this_machine_is_input(connection: Connection, tmp_path: Path) -> None:
    file = tmp_path / "big"
    file.write_bytes(bytes(range(256)) * 4096 * 5)
    done = connection.run(Command("wc -c; exit 3", stdin=file))
    assert (done.text.strip(), done.exit_code) == (str(5 << 20), 3)
    assert connection.run(Command("exit 4", stdin=file)).exit_code == 4


def test_without_input_the_script_finds_none(connection: Connection) -> None:
    assert connection.run(Command("wc -c")).text.strip() == "0"


def test_chatty_command_fills_both_streams_without_a_deadlock(connection: Connection) -> None:
    script = "yes out | head -c 5000000; yes err | head -c 5000000 >&2; yes | head -c 3000000"
    done = connection.run(Command(script))
    assert (len(done.stdout), len(done.stderr)) == (8_000_000, 5_000_000)


def test_input_that_nobody_reads_is_no_error(connection: Connection) -> None:
    done = connection.run(Command("echo done", stdin=b"x" * 3_000_000))
    assert done.text == "done\n"


def test_lines_come_while_the_command_runs(connection: Connection) -> None:
    seen: list[tuple[str, float]] = []
    started = time.monotonic()
    connection.run(
        Command("echo one >&2; sleep 1; echo two >&2"),
        lambda line: seen.append((line, time.monotonic() - started)),
    )
    assert [line for line, _ in seen] == ["one", "two"]
    assert seen[1][1] - seen[0][1] > 0.7


def test_many_commands_share_one_connection(connection: Connection) -> None:
    answers = [connection.run(Command('echo "$1"', (str(n),))).text for n in range(30)]
    assert answers == [f"{n}\n" for n in range(30)]


def test_time_limit_ends_the_command_on_the_far_side(
    connection: Connection, tmp_path: Path
) -> None:
    trace = tmp_path / "alive"
    script = 'while :; do date >"$1"; sleep 0.1; done'
    started = time.monotonic()
    with pytest.raises(CommandTimeoutError):
        connection.run(Command(script, (str(trace),), timeout=1))
    assert time.monotonic() - started < 8
    time.sleep(0.5)
    before = trace.stat().st_mtime_ns
    time.sleep(0.5)
    assert trace.stat().st_mtime_ns == before


def test_silence_longer_than_the_keepalive_is_no_fault(connection: Connection) -> None:
    assert connection.run(Command("sleep 3; echo still here")).text == "still here\n"


def test_closed_connection_says_so(connection: Connection) -> None:
    connection.close()
    with pytest.raises(LinkLostError):
        connection.run(Command("true"))
