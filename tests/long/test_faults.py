"""Networks that fail: each way ends within its bound, in the right words, and leaves no harm."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cluster.conftest import Maker
from cluster.lab import Lab, Node, free_port
from envsync.errors import CommandTimeoutError, ConnectError, LinkLostError
from envsync.model import Host
from envsync.ports import Command
from envsync.transport.connect import SshOptions, SshTransport
from long.network import Namespace, Relay

BOUND = 25.0
"""Seconds: three keepalives, what the system may still hold back, and a slow machine."""


@pytest.fixture(scope="module")
def apart() -> Iterator[Namespace]:
    with Namespace.made() as made:
        yield made


@pytest.fixture
def node(lab: Lab, tmp_path: Path, apart: Namespace) -> Iterator[Node]:
    made = Node(lab, tmp_path / "home", apart.there, free_port(), tmp_path / "node")
    apart.start(made)
    yield made
    made.stop()


def transport(node: Node, *names: str, **options: object) -> SshTransport:
    known = node.folder / "known"
    key = " ".join((node.folder / "host_key.pub").read_text().split()[:2])
    known.write_text("".join(f"{name} {key}\n" for name in names) + node.known_hosts_lines()[0])
    made = {"identity_files": (node.lab.key,), "known_hosts": (known,), "keepalive": 2.0}
    return SshTransport(SshOptions(**{**made, **options}))  # type: ignore[arg-type]


def again(node: Node) -> str:
    """What a second run would get."""
    connection = transport(node).connect(Host(node.address, port=node.port))
    try:
        return connection.run(Command("echo in")).text
    finally:
        connection.close()


def in_command(action: Callable[[], object]) -> Callable[[str], None]:
    """Do something as soon as the command has said its first line."""
    done = threading.Event()

    def on_line(_: str) -> None:
        if not done.is_set():
            done.set()
            action()

    return on_line


@pytest.mark.root
def test_packets_that_are_dropped_from_some_moment_on(node: Node, apart: Namespace) -> None:
    connection = transport(node).connect(Host(node.address, port=node.port))
    started = time.monotonic()
    try:
        with pytest.raises(LinkLostError, match="no answer from the host") as caught:
            connection.run(
                Command("echo begun >&2; sleep 300", timeout=300), in_command(apart.drop)
            )
        assert time.monotonic() - started < BOUND
        assert caught.value.output == "begun\n"
        assert "again" in caught.value.hint
        with pytest.raises(ConnectError, match="no answer on port"):
            transport(node, connect_timeout=1.0).connect(Host(node.address, port=node.port))
    finally:
        apart.let_through()
    assert again(node) == "in\n"


@pytest.mark.root
def test_packets_that_are_dropped_while_much_is_sent(node: Node, apart: Namespace) -> None:
    connection = transport(node).connect(Host(node.address, port=node.port))
    started = time.monotonic()
    script = "head -c 1000000 >/dev/null; echo begun >&2; cat > /dev/null"
    try:
        with pytest.raises(LinkLostError):
            connection.run(
                Command(script, stdin=bytes(400_000_000), timeout=300), in_command(apart.drop)
            )
        assert time.monotonic() - started < BOUND + 10
    finally:
        apart.let_through()
    assert again(node) == "in\n"


@pytest.mark.root
def test_link_that_goes_away_for_ten_seconds_and_comes_back(node: Node, apart: Namespace) -> None:
    connection = transport(node, keepalive=5.0).connect(Host(node.address, port=node.port))

    def away() -> None:
        apart.drop()
        threading.Timer(10, apart.let_through).start()

    done = connection.run(
        Command("echo begun >&2; sleep 20; echo there", timeout=60), in_command(away)
    )
    assert done.text == "there\n"
    connection.close()


def test_delay_of_200_ms_costs_round_trips_and_nothing_else(make_cluster: Maker) -> None:
    node = make_cluster(1, conda=False).nodes[0]
    relay = Relay((node.address, node.port), delay=0.1)
    made = transport(node, f"[127.0.0.1]:{relay.port}")
    started = time.monotonic()
    connection = made.connect(Host("127.0.0.1", port=relay.port))
    connected = time.monotonic()
    payload = bytes(range(256)) * 400
    assert connection.run(Command("cat", stdin=payload)).stdout == payload
    ended = time.monotonic()
    connection.close()
    relay.close()
    assert connected - started < 12 * 0.2 + 2
    assert ended - connected < 12 * 0.2 + 2


@pytest.mark.parametrize("after", [1_000, 100_000, 3_000_000])
def test_reset_in_the_middle(make_cluster: Maker, after: int) -> None:
    node = make_cluster(1, conda=False).nodes[0]
    relay = Relay((node.address, node.port), reset_after=after)
    made = transport(node, f"[127.0.0.1]:{relay.port}")

    def upload() -> None:
        connection = made.connect(Host("127.0.0.1", port=relay.port))
        connection.run(Command("cat > /dev/null", stdin=bytes(20_000_000)))

    started = time.monotonic()
    with pytest.raises((LinkLostError, ConnectError)) as caught:
        upload()
    assert time.monotonic() - started < BOUND + 30
    assert caught.value.hint
    relay.reset_after = 0
    made.connect(Host("127.0.0.1", port=relay.port)).close()
    relay.close()


def test_host_that_stops_reading(make_cluster: Maker) -> None:
    node = make_cluster(1, conda=False).nodes[0]
    connection = transport(node).connect(Host(node.address, port=node.port))

    def freeze() -> None:
        for pid in node.sessions():
            subprocess.run(["kill", f"-{signal.SIGSTOP.value}", str(pid)], check=True)

    started = time.monotonic()
    with pytest.raises(LinkLostError, match="no answer"):
        connection.run(
            Command("echo begun >&2; cat > /dev/null", stdin=bytes(400_000_000), timeout=300),
            in_command(freeze),
        )
    assert time.monotonic() - started < BOUND + 10
    for pid in node.sessions():
        subprocess.run(["kill", f"-{signal.SIGCONT.value}", str(pid)], check=True)


def test_command_that_stops_reading_is_ended_at_its_own_limit(make_cluster: Maker) -> None:
    node = make_cluster(1, conda=False).nodes[0]
    connection = transport(node).connect(Host(node.address, port=node.port))
    started = time.monotonic()
    with pytest.raises(CommandTimeoutError):
        connection.run(Command("sleep 300", stdin=bytes(50_000_000), timeout=2))
    assert time.monotonic() - started < BOUND
    assert connection.run(Command("echo in")).text == "in\n"
    connection.close()
