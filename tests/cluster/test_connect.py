"""Reaching a host: every way in which it can fail, told apart and bounded in time."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cluster.conftest import Maker
from cluster.lab import Lab, Node, free_port, keygen
from envsync.errors import ConnectError, HostError, InputError, LinkLostError
from envsync.model import Host
from envsync.ports import Command
from envsync.transport import ssh
from envsync.transport.connect import SshOptions, SshTransport
from envsync.transport.shell import Exchange


@pytest.fixture
def node(make_cluster: Maker) -> Node:
    return make_cluster(1, conda=False).nodes[0]


@pytest.fixture
def known(node: Node, tmp_path: Path) -> Path:
    file = tmp_path / "known_hosts"
    file.write_text("\n".join(node.known_hosts_lines()) + "\n")
    return file


def transport(lab: Lab, known: Path, **options: object) -> SshTransport:
    return SshTransport(
        SshOptions(**{"identity_files": (lab.key,), "known_hosts": (known,), **options})  # type: ignore[arg-type]
    )


def refusal(made: SshTransport, node: Node) -> ConnectError:
    with pytest.raises(ConnectError) as caught:
        made.connect(Host(node.address, port=node.port))
    assert caught.value.hint
    return caught.value


def test_unknown_host_key_is_refused_with_the_line_to_run(
    lab: Lab, node: Node, tmp_path: Path
) -> None:
    file = tmp_path / "empty"
    error = refusal(transport(lab, file), node)
    assert error.cause == "host-key-unknown"
    shown = subprocess.run(
        ["ssh-keygen", "-lf", str(node.folder / "host_key.pub")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.split()[1] in error.message
    assert f"ssh-keyscan -p {node.port} {node.address} >> {file}" in error.hint
    assert not file.exists()


def test_accept_new_remembers_so_that_openssh_agrees(lab: Lab, node: Node, tmp_path: Path) -> None:
    file = tmp_path / "new" / "known_hosts"
    transport(lab, file, accept_new=True).connect(Host(node.address, port=node.port)).close()
    done = subprocess.run(
        ["ssh", "-F", "none", "-i", str(lab.key), "-o", f"UserKnownHostsFile={file}",
         "-o", "StrictHostKeyChecking=yes", "-p", str(node.port), f"root@{node.address}"
         if os.geteuid() == 0 else node.address, "true"],
        check=False,
    )  # fmt: skip
    assert done.returncode == 0


def test_changed_host_key_is_refused_even_with_accept_new(
    lab: Lab, node: Node, known: Path, tmp_path: Path
) -> None:
    keygen(tmp_path / "other")
    other = " ".join((tmp_path / "other.pub").read_text().split()[:2])
    known.write_text(f"# a comment\n[{node.address}]:{node.port} {other}\n")
    error = refusal(transport(lab, known, accept_new=True), node)
    assert error.cause == "host-key-changed"
    assert error.message.count("SHA256:") == 2
    assert f"{known}:2" in error.message
    assert "ssh-keygen -R" in error.hint


def test_hashed_known_hosts_are_understood(lab: Lab, node: Node, known: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(known)], check=True, capture_output=True)
    assert node.address not in known.read_text()
    transport(lab, known).connect(Host(node.address, port=node.port)).close()


def test_revoked_host_key_is_refused(lab: Lab, node: Node, known: Path) -> None:
    known.write_text(known.read_text() + "@revoked " + known.read_text())
    assert "revoked" in refusal(transport(lab, known), node).message


def test_wrong_key_names_the_user_and_what_was_tried(
    lab: Lab, node: Node, known: Path, tmp_path: Path
) -> None:
    keygen(tmp_path / "wrong")
    made = transport(lab, known, identity_files=(tmp_path / "wrong",), config=Path("/dev/null"))
    error = refusal(made, node)
    assert error.cause == "authentication"
    assert "ssh-ed25519" in error.message


def test_missing_key_file_is_bad_input(lab: Lab, known: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no key file"):
        transport(lab, known, identity_files=(tmp_path / "nope",))


def test_key_from_the_agent(lab: Lab, node: Node, known: Path, tmp_path: Path, monkeypatch) -> None:  # noqa: ANN001
    path = tmp_path / "agent"
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(path)], stdout=subprocess.DEVNULL)
    try:
        while not path.exists():
            time.sleep(0.02)
        monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
        subprocess.run(["ssh-add", "-q", str(lab.key)], check=True, capture_output=True)
        made = transport(lab, known, identity_files=(), config=Path("/dev/null"))
        made.connect(Host(node.address, port=node.port)).close()
    finally:
        agent.terminate()
        agent.wait()


def test_encrypted_key_is_named_when_nothing_else_fits(
    lab: Lab, node: Node, known: Path, tmp_path: Path
) -> None:
    key = tmp_path / "locked"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", key], check=True)
    made = transport(lab, known, identity_files=(key,), config=Path("/dev/null"))
    error = refusal(made, node)
    assert f"{key} is encrypted" in error.message


def test_nothing_listens(lab: Lab, node: Node, known: Path) -> None:
    node.stop()
    assert refusal(transport(lab, known), node).cause == "refused"


def test_name_without_address(lab: Lab, known: Path) -> None:
    with pytest.raises(ConnectError) as caught:
        transport(lab, known).connect(Host("no-such-host.invalid"))
    assert caught.value.cause == "no-address"


@pytest.fixture
def mute() -> Iterator[int]:
    """A server that accepts and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def test_server_without_a_banner_is_bounded(lab: Lab, known: Path, mute: int) -> None:
    started = time.monotonic()
    with pytest.raises(ConnectError) as caught:
        transport(lab, known, connect_timeout=1.0).connect(Host("127.0.0.1", port=mute))
    assert caught.value.cause == "no-banner"
    assert time.monotonic() - started < 5


def test_drop_before_the_login_is_tried_again(lab: Lab, node: Node, known: Path) -> None:
    """A relay that hangs up on the first two connections, as a busy sshd does."""
    refused = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def relay() -> None:
            for number in range(3):
                client, _ = listener.accept()
                if number < 2:
                    refused.append(number)
                    client.close()
                    continue
                server = socket.create_connection((node.address, node.port))
                for one, other in ((client, server), (server, client)):
                    threading.Thread(target=_copy, args=(one, other), daemon=True).start()

        threading.Thread(target=relay, daemon=True).start()
        known.write_text(known.read_text().replace(f"[{node.address}]:{node.port}", "*"))
        name = f"[127.0.0.1]:{port}"
        key = " ".join((node.folder / "host_key.pub").read_text().split()[:2])
        known.write_text(f"{name} {key}\n")
        transport(lab, known).connect(Host("127.0.0.1", port=port)).close()
    assert refused == [0, 1]


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    target.close()


def test_64_logins_at_once_get_past_default_maxstartups(lab: Lab, node: Node, known: Path) -> None:
    made = transport(lab, known)
    host = Host(node.address, port=node.port)

    def login(_: int) -> str:
        connection = made.connect(host)
        text = connection.run(Command("echo in")).text
        connection.close()
        return text

    with ThreadPoolExecutor(64) as pool:
        assert list(pool.map(login, range(64))) == ["in\n"] * 64


def test_ssh_config_leads_there(lab: Lab, node: Node, known: Path, tmp_path: Path) -> None:
    known = known.rename(tmp_path / "my known hosts")
    (tmp_path / "included").write_text(
        f"Host gpu*\n  HostName {node.address}\n  Port {node.port}\n  HostKeyAlias the-node\n"
        f'  IdentityFile {lab.key}\n  IdentitiesOnly yes\n  UserKnownHostsFile "{known}"\n'
    )
    key = " ".join((node.folder / "host_key.pub").read_text().split()[:2])
    known.write_text(f"the-node {key}\n")
    config = tmp_path / "config"
    config.write_text(f"Include {tmp_path}/included\n")
    made = SshTransport(SshOptions(config=config))
    made.connect(Host("gpu07")).close()


@pytest.mark.parametrize("how", ["killed", "frozen"])
def test_connection_that_dies_in_a_command_ends_in_bounded_time(
    lab: Lab, node: Node, known: Path, how: str
) -> None:
    connection = transport(lab, known, keepalive=0.5).connect(Host(node.address, port=node.port))
    started: list[float] = []

    def die(_: str) -> None:
        started.append(time.monotonic())
        for pid in node.sessions():
            os.kill(pid, signal.SIGKILL if how == "killed" else signal.SIGSTOP)

    with pytest.raises(LinkLostError) as caught:
        connection.run(Command("echo begun >&2; sleep 60", timeout=60), die)
    assert time.monotonic() - started[0] < 5
    assert caught.value.output == "begun\n"
    assert "again" in caught.value.hint


def test_free_port_is_refused_at_once(lab: Lab, known: Path) -> None:
    started = time.monotonic()
    with pytest.raises(ConnectError):
        transport(lab, known).connect(Host("127.0.0.1", port=free_port()))
    assert time.monotonic() - started < 8


class EndsItsOutputFirst(Exchange):
    """A command whose output ends long before it does."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.wire = "exec >&- 2>&-; sleep 2; exit 3"


def test_waiting_for_the_end_after_the_output_costs_no_cpu(
    lab: Lab, node: Node, known: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh, "Exchange", EndsItsOutputFirst)
    connection = transport(lab, known).connect(Host(node.address, port=node.port))
    used = time.process_time()
    with pytest.raises(HostError, match="exit code 3"):
        connection.run(Command("", stdin=b""))
    connection.close()
    assert time.process_time() - used < 1
