"""Every way that ssh_config may describe, against real sshd: jumps, keys, trust, algorithms."""

from __future__ import annotations

import contextlib
import os
import pty
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

import pytest

from cluster.conftest import Maker
from cluster.lab import CLEAN_PATH, ENVSYNC, SSHD, Cluster, Lab, Node, free_port, keygen
from envsync.errors import ConnectError
from envsync.model import Host
from envsync.ports import Command
from envsync.transport.connect import SshOptions, SshTransport
from envsync.transport.ssh import SshConnection

PASSWORD = "s3cret"  # noqa: S105 (of a user that lives for one test)


@pytest.fixture
def cluster(make_cluster: Maker) -> Cluster:
    return make_cluster(1, conda=False)


@pytest.fixture
def node(cluster: Cluster) -> Node:
    return cluster.nodes[0]


class Way:
    """An ssh_config that leads to nodes by names of its own."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab = lab
        self.file = folder / "ssh_config"
        self.known = folder / "known"
        self.known.touch()
        self._lines: list[str] = []
        self.also("*", f"IdentityFile {lab.key}", f"UserKnownHostsFile {self.known}")

    def to(self, name: str, node: Node, *settings: str) -> None:
        """A name for a node, whose host key is known."""
        self.known.write_text(self.known.read_text() + "\n".join(node.known_hosts_lines()) + "\n")
        self.also(name, f"HostName {node.address}", f"Port {node.port}", *settings)

    def also(self, name: str, *settings: str) -> None:
        # The first value that fits counts, as in ssh.
        self._lines.insert(0, "\n ".join([f"Host {name}", *settings]))
        self.file.write_text("\n".join(self._lines) + "\n")

    def transport(self, **options: object) -> SshTransport:
        return SshTransport(SshOptions(config=self.file, **options))  # type: ignore[arg-type]

    def connect(self, name: str, **options: object) -> SshConnection:
        return self.transport(**options).connect(Host(name))

    def says(self, name: str, script: str, **options: object) -> str:
        connection = self.connect(name, **options)
        try:
            return connection.run(Command(script)).text.strip()
        finally:
            connection.close()

    def refusal(self, name: str, **options: object) -> ConnectError:
        with pytest.raises(ConnectError) as caught:
            self.connect(name, **options)
        assert caught.value.hint
        return caught.value


@pytest.fixture
def way(lab: Lab, tmp_path: Path) -> Way:
    return Way(lab, tmp_path)


def logins(node: Node) -> int:
    return (node.folder / "sshd.log").read_text().count("Accepted ")


@pytest.fixture
def behind(way: Way, make_cluster: Maker) -> list[Node]:
    """Two jump hosts in a row, and a node behind them."""
    outer, inner, far = make_cluster(3, conda=False).nodes
    way.to("outer", outer)
    way.to("inner", inner)
    way.to("far*", far, "ProxyJump outer,inner")
    return [outer, inner, far]


def test_two_jump_hosts_each_with_one_connection(way: Way, behind: list[Node]) -> None:
    made = way.transport()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: made.connect(Host(f"far{n}")), range(8)))
    answers = [each.run(Command("echo $SSH_CONNECTION")).text.split() for each in found]
    assert [answer[3] for answer in answers] == [str(behind[2].port)] * 8
    assert [logins(node) for node in behind] == [1, 1, 8]
    for each in found:
        each.close()
    made.close()


def test_host_key_of_each_jump_host_is_checked(way: Way, behind: list[Node]) -> None:
    lines = way.known.read_text().splitlines()
    inner = behind[1].known_hosts_lines()[0]
    way.known.write_text("\n".join(line for line in lines if line != inner) + "\n")
    error = way.refusal("far1")
    assert error.cause == "host-key-unknown"
    assert "jump host inner was not reached" in error.message


def test_host_behind_that_is_down_is_not_blamed_on_the_jump_host(
    way: Way, behind: list[Node]
) -> None:
    behind[2].stop()
    error = way.refusal("far1")
    assert error.cause == "unreachable"
    assert "jump host inner does not reach" in error.message


def test_jump_host_that_is_down_is_asked_once_for_all(way: Way, behind: list[Node]) -> None:
    behind[0].stop()
    made = way.transport()
    for number in range(3):
        with pytest.raises(ConnectError, match="jump host outer was not reached"):
            made.connect(Host(f"far{number}"))


def test_jump_host_that_lets_nobody_through(way: Way, make_cluster: Maker) -> None:
    gate = make_cluster(1, conda=False, extra="AllowTcpForwarding no").nodes[0]
    way.to("gate", gate)
    way.to("far", gate, "ProxyJump gate")
    error = way.refusal("far")
    assert error.cause == "jump"
    assert "AllowTcpForwarding" in error.hint


def test_128_hosts_through_one_jump_host_at_sshds_own_limits(way: Way, make_cluster: Maker) -> None:
    gate, far = make_cluster(2, conda=False, extra="MaxStartups 10:30:100").nodes
    way.to("gate", gate)
    way.to("far*", far, "ProxyJump gate")
    made = way.transport()

    def login(number: int) -> str:
        connection = made.connect(Host(f"far{number}"))
        text = connection.run(Command("echo in")).text
        connection.close()
        return text

    with ThreadPoolExecutor(32) as pool:
        assert list(pool.map(login, range(128))) == ["in\n"] * 128
    made.close()
    assert logins(gate) == 1


RELAY = """
import os, socket, sys, threading
server = socket.create_connection((sys.argv[1], int(sys.argv[2])))
def out():
    while data := server.recv(65536):
        os.write(1, data)
threading.Thread(target=out, daemon=True).start()
while data := os.read(0, 65536):
    server.sendall(data)
"""


def test_proxy_command(way: Way, node: Node, tmp_path: Path) -> None:
    (tmp_path / "relay.py").write_text(RELAY)
    way.to("far", node, f"ProxyCommand {sys.executable} {tmp_path}/relay.py %h %p")
    assert way.says("far", "cat; echo in") == "in"


def test_proxy_command_that_fails_is_shown_and_not_tried_again(way: Way, node: Node) -> None:
    way.to("far", node, "ProxyCommand sh -c 'echo no route >&2; exit 3'")
    error = way.refusal("far")
    assert error.cause == "proxy"
    assert "exit code 3" in error.message
    assert error.output == "no route\n"


@pytest.fixture
def authority(tmp_path: Path) -> Path:
    keygen(tmp_path / "ca")
    return tmp_path / "ca"


def sign(authority: Path, key: Path, *words: str) -> None:
    subprocess.run(
        ["ssh-keygen", "-q", "-s", str(authority), "-I", "lab", *words, str(key)], check=True
    )


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("kind", ["ed25519", "rsa", "ecdsa"])
def test_login_with_a_certificate(
    way: Way, make_cluster: Maker, authority: Path, tmp_path: Path, kind: str, *, named: bool
) -> None:
    trusting = make_cluster(1, conda=False, extra=f"TrustedUserCAKeys {authority}.pub").nodes[0]
    (trusting.folder / "authorized_keys").write_text("")
    key = tmp_path / "signed"
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", str(key)], check=True)
    way.to("far", trusting, f"IdentityFile {key}", "IdentitiesOnly yes")
    assert way.refusal("far").cause == "authentication"
    user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    sign(authority, key.with_suffix(".pub"), "-n", user)
    if named:
        (tmp_path / "signed-cert.pub").rename(tmp_path / "elsewhere.pub")
        way.also("far", f"CertificateFile {tmp_path}/elsewhere.pub")
    assert way.says("far", "echo in") == "in"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["-n", "127.0.0.*"], ""),
        ([], ""),
        (["-n", "gpu01"], "it is for gpu01, not for 127.0.0"),
        (["-n", "127.0.0.*", "-V", "20200101:20200102"], "it has expired"),
    ],
)
def test_host_certificate(
    way: Way, lab: Lab, authority: Path, tmp_path: Path, words: list[str], says: str
) -> None:
    address = "127.0.0.9"
    signed = Node(lab, tmp_path / "h", address, free_port(address), tmp_path / "n")
    sign(authority, signed.folder / "host_key.pub", "-h", *words)
    signed.extra = f"HostCertificate {signed.folder}/host_key-cert.pub"
    signed.start()
    try:
        way.to("far", signed)
        public = " ".join(authority.with_suffix(".pub").read_text().split()[:2])
        way.known.write_text(f"@cert-authority [127.0.0.*]:* {public}\n")
        if says:
            error = way.refusal("far")
            assert error.cause == "host-key"
            assert says in error.message
        else:
            assert way.says("far", "echo in") == "in"
            way.known.write_text(way.known.read_text() + f"@revoked * {public}\n")
            assert "revoked" in way.refusal("far").message
    finally:
        signed.stop()


def test_host_key_known_by_pattern_or_without_its_port(way: Way, node: Node) -> None:
    way.to("far", node)
    key = " ".join((node.folder / "host_key.pub").read_text().split()[:2])
    for names in (f"[127.0.0.*]:{node.port}", node.address, f"*,!{node.address}x"):
        way.known.write_text(f"{names} {key}\n")
        assert way.says("far", "echo in") == "in", names
    way.known.write_text(f"*,!*{node.address}* {key}\n")
    assert way.refusal("far").cause == "host-key-unknown"


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[str]:
    path = tmp_path / "agent"
    process = subprocess.Popen(["ssh-agent", "-D", "-a", str(path)], stdout=subprocess.DEVNULL)
    while not path.exists():
        threading.Event().wait(0.02)
    yield str(path)
    process.terminate()
    process.wait()


def add(agent: str, *keys: Path) -> None:
    subprocess.run(
        ["ssh-add", "-q", *map(str, keys)],
        env={**os.environ, "SSH_AUTH_SOCK": agent},
        check=True,
        capture_output=True,
    )


def test_agent_with_20_keys_of_which_the_last_fits(
    way: Way, lab: Lab, make_cluster: Maker, tmp_path: Path, agent: str
) -> None:
    (node,) = make_cluster(1, conda=False, extra="LogLevel VERBOSE").nodes
    wrong = [tmp_path / f"wrong{number}" for number in range(19)]
    for key in wrong:
        keygen(key)
    add(agent, *wrong, lab.key)
    way.to("far*", node, f"IdentityAgent {agent}", f"IdentityFile {tmp_path}/none")
    way.file.write_text(way.file.read_text().replace(f"IdentityFile {lab.key}", "Port 22"))

    def said(text: str) -> int:
        return (node.folder / "sshd.log").read_text().count(text)

    made = way.transport()
    made.connect(Host("far1")).close()
    assert said("Failed publickey") == 19
    assert said("Too many authentication failures") == 3, "sshd hung up on every sixth key"
    assert said("Accepted publickey") == 1
    made.connect(Host("far2")).close()
    assert said("Failed publickey") == 19, "the key that fitted is tried first"
    assert said("Accepted publickey") == 2


def test_key_that_is_named_is_asked_of_a_full_agent_first(
    way: Way, lab: Lab, make_cluster: Maker, tmp_path: Path, agent: str
) -> None:
    strict = make_cluster(1, conda=False, extra="MaxAuthTries 1").nodes[0]
    wrong = [tmp_path / f"wrong{number}" for number in range(8)]
    for key in wrong:
        keygen(key)
    add(agent, *wrong, lab.key)
    public = tmp_path / "named.pub"
    public.write_bytes(lab.key.with_suffix(".pub").read_bytes())
    way.to("far", strict, f"IdentityAgent {agent}", f"IdentityFile {public}")
    assert way.says("far", "echo in") == "in"
    way.also("far", "IdentityAgent none")
    way.file.write_text(way.file.read_text().replace(f"IdentityFile {lab.key}", "Port 22"))
    assert way.refusal("far").cause == "authentication"


def test_only_the_named_key_of_the_agent_with_identities_only(
    way: Way, lab: Lab, node: Node, tmp_path: Path, agent: str
) -> None:
    keygen(tmp_path / "other")
    add(agent, lab.key)
    way.to("far", node, f"IdentityAgent {agent}", "IdentitiesOnly yes")
    way.also("*", f"IdentityFile {tmp_path}/other")
    way.file.write_text(way.file.read_text().replace(f"IdentityFile {lab.key}", "Port 22"))
    assert way.refusal("far").cause == "authentication"


@pytest.fixture
def locked(lab: Lab, tmp_path: Path) -> Path:
    key = tmp_path / "locked"
    key.write_bytes(lab.key.read_bytes())
    key.chmod(0o600)
    subprocess.run(
        ["ssh-keygen", "-q", "-p", "-N", "pa55phrase-0f-0urs", "-f", str(key)],
        check=True,
        capture_output=True,
    )
    return key


def test_passphrase_is_asked_for_once_for_all_hosts(way: Way, node: Node, locked: Path) -> None:
    way.to("far*", node, f"IdentityFile {locked}", "IdentitiesOnly yes")
    way.file.write_text(way.file.read_text().replace(f"IdentityFile {way.lab.key}", "Port 22"))
    asked: list[str] = []

    def ask(question: str) -> str:
        asked.append(question)
        return "wrong" if len(asked) == 1 else "pa55phrase-0f-0urs"

    made = way.transport(ask=ask)
    with ThreadPoolExecutor(8) as pool:
        for each in pool.map(lambda number: made.connect(Host(f"far{number}")), range(8)):
            each.close()
    assert len(asked) == 2
    assert str(locked) in asked[0]
    assert "does not open it" in asked[1]


def test_passphrase_that_is_typed_slowly_opens_the_way_all_the_same(
    way: Way, make_cluster: Maker, tmp_path: Path, agent: str, locked: Path
) -> None:
    """Sshd hangs up on a login that takes too long (LoginGraceTime)."""
    (node,) = make_cluster(1, conda=False, extra="LoginGraceTime 2").nodes
    keygen(tmp_path / "wrong")
    add(agent, tmp_path / "wrong")
    way.to("far", node, f"IdentityFile {locked}", f"IdentityAgent {agent}")
    way.file.write_text(way.file.read_text().replace(f"IdentityFile {way.lab.key}", "Port 22"))

    def ask(_: str) -> str:
        time.sleep(4)
        return "pa55phrase-0f-0urs"

    assert way.says("far", "echo in", ask=ask) == "in"


def test_passphrase_that_nobody_gives_is_named(way: Way, node: Node, locked: Path) -> None:
    way.to("far", node, f"IdentityFile {locked}", "IdentitiesOnly yes")
    way.file.write_text(way.file.read_text().replace(f"IdentityFile {way.lab.key}", "Port 22"))
    for ask in (None, lambda _: None):
        error = way.refusal("far", ask=ask)
        assert f"{locked} is encrypted" in error.message


@pytest.mark.parametrize(
    ("setting", "attribute", "value"),
    [
        ("Ciphers aes256-ctr", "remote_cipher", "aes256-ctr"),
        ("MACs hmac-sha2-512\n Ciphers aes128-ctr", "remote_mac", "hmac-sha2-512"),
        ("HostKeyAlgorithms ssh-ed25519", "host_key_type", "ssh-ed25519"),
        ("Compression no", "remote_cipher", "aes128-gcm@openssh.com"),
    ],
)
def test_algorithms(way: Way, node: Node, setting: str, attribute: str, value: str) -> None:
    way.to("far", node, setting)
    connection = way.connect("far")
    assert getattr(connection._transport, attribute) == value  # noqa: SLF001 (what was agreed)
    connection.close()


def test_key_exchange_that_was_chosen(way: Way, node: Node) -> None:
    way.to("far", node, "KexAlgorithms ecdh-sha2-nistp384")
    assert way.says("far", "echo in") == "in"
    way.also("far", "KexAlgorithms diffie-hellman-group1-sha1")
    error = way.refusal("far")
    assert "KexAlgorithms" in error.message


def test_bind_address_family_and_user(way: Way, node: Node) -> None:
    way.to("far", node, "BindAddress 127.0.0.77")
    assert way.says("far", "echo ${SSH_CONNECTION%% *}") == "127.0.0.77"
    way.also("far", "AddressFamily inet6")
    assert way.refusal("far").cause == "no-address"
    way.also("far", "AddressFamily inet", "User nobody-at-all")
    assert "nobody-at-all" in way.refusal("far").message


def test_connect_timeout_and_attempts_are_ssh_configs(way: Way, node: Node) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        way.to("far", node)
        way.also("far", "HostName 127.0.0.1", f"Port {mute.getsockname()[1]}", "ConnectTimeout 1")
        assert "within 1 s" in way.refusal("far").message
        assert "within 2 s" in way.refusal("far", connect_timeout=2.0).message


@pytest.mark.parametrize("strictness", ["accept-new", "no"])
def test_new_host_key_by_ssh_config(way: Way, node: Node, strictness: str) -> None:
    way.to("far", node, f"StrictHostKeyChecking {strictness}", "HashKnownHosts yes")
    way.known.write_text("")
    assert way.says("far", "echo in") == "in"
    assert way.known.read_text().startswith("|1|")
    shown = subprocess.run(
        ["ssh-keygen", "-F", f"[{node.address}]:{node.port}", "-f", str(way.known)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "found" in shown.stdout


def test_changed_host_key_passes_only_where_ssh_config_says_so(
    way: Way, node: Node, tmp_path: Path
) -> None:
    way.to("far", node, "StrictHostKeyChecking accept-new")
    keygen(tmp_path / "other")
    other = " ".join((tmp_path / "other.pub").read_text().split()[:2])
    way.known.write_text(f"[{node.address}]:{node.port} {other}\n")
    assert way.refusal("far").cause == "host-key-changed"
    way.also("far", "StrictHostKeyChecking no")
    assert way.says("far", "echo in") == "in"


@pytest.fixture(params=["password", "keyboard-interactive"])
def with_password(request: pytest.FixtureRequest, lab: Lab, tmp_path: Path) -> Iterator[Node]:
    """A node that takes passwords: of a user whom only its own mount namespace knows."""
    made = subprocess.run(
        ["openssl", "passwd", "-6", "-stdin"],
        input=f"{PASSWORD}\n", capture_output=True, text=True, check=True,
    )  # fmt: skip
    passwd, shadow, home = tmp_path / "passwd", tmp_path / "shadow", tmp_path / "home"
    home.mkdir(mode=0o755)
    passwd.write_text(Path("/etc/passwd").read_text() + f"jo:x:0:0::{home}:/bin/sh\n")
    shadow.write_text(Path("/etc/shadow").read_text() + f"jo:{made.stdout.strip()}:1::::::\n")
    node = Node(lab, home, "127.0.0.9", free_port("127.0.0.9"), tmp_path / "node")
    config = node._config()  # noqa: SLF001 (as `Node.start`, elsewhere)
    if request.param == "password":
        config = config.replace("PasswordAuthentication no", "PasswordAuthentication yes")
    else:
        config = config.replace("UsePAM no", "UsePAM yes").replace(
            "KbdInteractiveAuthentication no", "KbdInteractiveAuthentication yes"
        )
    (node.folder / "sshd_config").write_text(config)
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    script = (
        f"mount --bind {passwd} /etc/passwd && mount --bind {shadow} /etc/shadow &&"
        f" exec {SSHD} -D -e -f {node.folder}/sshd_config"
    )
    with (node.folder / "sshd.log").open("ab") as log:
        node.process = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", script],
            stdout=log, stderr=log, env={"PATH": f"/usr/sbin:/sbin:{CLEAN_PATH}"},
        )  # fmt: skip
    node._await(node.port)  # noqa: SLF001
    yield node
    node.stop()


@pytest.mark.root
def test_password_when_no_key_fits(way: Way, with_password: Node, tmp_path: Path) -> None:
    way.to("far", with_password, "User jo", f"IdentityFile {tmp_path}/none")
    way.file.write_text(
        way.file.read_text().replace(f"IdentityFile {way.lab.key}", "IdentitiesOnly yes")
    )
    assert way.says("far", "echo $USER", password=PASSWORD) == "jo"
    error = way.refusal("far", password=PASSWORD[1:])
    assert error.cause == "authentication"
    assert PASSWORD[1:] not in error.message + error.hint
    assert way.refusal("far").cause == "authentication"
    # Never to a host that may be another one.
    keygen(tmp_path / "other")
    other = " ".join((tmp_path / "other.pub").read_text().split()[:2])
    way.known.write_text(f"[{with_password.address}]:{with_password.port} {other}\n")
    way.also("far", "StrictHostKeyChecking no")
    assert way.refusal("far", password=PASSWORD).cause == "authentication"


class Watch:
    """Looks for pa55phrase-0f-0urs in the command line and environment of every process."""

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()
        self._over = threading.Event()
        self.seen: set[str] = set()
        self.looks = 0
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.02):
            self.looks += 1
            for process in (name for name in os.listdir("/proc") if name.isdigit()):  # noqa: PTH208
                for name in ("cmdline", "environ"):
                    with contextlib.suppress(OSError):  # it has ended
                        file = Path("/proc", process, name)
                        if self._secret in file.read_bytes():
                            self.seen.add(str(file))


def test_watch_sees_what_it_looks_for() -> None:
    with Watch("in-the-0pen") as watch, subprocess.Popen(["sleep", "1"], env={"A": "in-the-0pen"}):
        pass
    assert watch.seen


def kept(folder: Path) -> str:
    """All that envsync has written into a folder."""
    files = [each for each in folder.rglob("*") if each.is_file()]
    return "".join(each.read_text(errors="replace") for each in files)


@pytest.mark.root
def test_password_is_seen_nowhere(way: Way, with_password: Node, tmp_path: Path) -> None:
    way.to("far", with_password, "User jo", f"IdentityFile {tmp_path}/none", "IdentitiesOnly yes")
    way.file.write_text(way.file.read_text().replace(f"IdentityFile {way.lab.key}", "Port 22"))
    folder = tmp_path / "work"
    (folder / ".envsync").mkdir(parents=True)
    (folder / "hosts.txt").write_text("far\n")
    words = [*ENVSYNC, "ping", "hosts.txt", "-F", str(way.file), "--ask-pass", "--json", "-v"]
    for secret in (PASSWORD, "n0t-the-s3cret"):
        with Watch(secret) as watch:
            done = subprocess.run(
                words, cwd=folder, input=f"{secret}\n", capture_output=True, text=True, check=False
            )
        assert done.returncode == (0 if secret == PASSWORD else 1), done.stderr
        assert secret not in done.stdout + done.stderr + kept(folder)
        assert watch.looks
        assert not watch.seen


def test_passphrase_is_asked_for_on_the_terminal_and_seen_nowhere(
    way: Way, node: Node, locked: Path, tmp_path: Path
) -> None:
    way.to("far*", node, f"IdentityFile {locked}", "IdentitiesOnly yes")
    way.file.write_text(way.file.read_text().replace(f"IdentityFile {way.lab.key}", "Port 22"))
    (tmp_path / "hosts.txt").write_text("far[1-4]\n")
    words = [*ENVSYNC, "ping", "hosts.txt", "-F", str(way.file)]
    with Watch("pa55phrase-0f-0urs") as watch:
        pid, terminal = pty.fork()
        if not pid:
            os.chdir(tmp_path)
            os.execv(words[0], words)  # noqa: S606 (no shell is wanted)
        shown = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while data := os.read(terminal, 4096):
                shown += data
                if data.rstrip().endswith(b":") and shown.count(b"Passphrase") == 1:
                    os.write(terminal, b"pa55phrase-0f-0urs\n")
        _, status = os.waitpid(pid, 0)
    os.close(terminal)
    text = shown.decode(errors="replace")
    assert os.waitstatus_to_exitcode(status) == 0, text
    assert text.count("Passphrase for") == 1
    assert "pa55phrase-0f-0urs" not in text
    assert "4 of 4 nodes answered" in text
    assert not watch.seen
