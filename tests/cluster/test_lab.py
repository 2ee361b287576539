"""The lab itself: its nodes are real to OpenSSH's own client, and so is their conda."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import subprocess
import time
from pathlib import Path

import pytest

from cluster.conftest import Maker
from cluster.lab import MAX_LISTEN, Cluster, Node, free_port
from envsync.demo.channel import Channel, pip_package, python_library
from envsync.demo.conda import find_conda, install_conda
from envsync.errors import EnvsyncError

TORCH = """\
__version__ = "2.5.1"
class version: cuda = None
class cuda:
    @staticmethod
    def is_available(): return False
"""


def client(cluster: Cluster, node: Node, *words: str, port: int = 0) -> list[str]:
    """OpenSSH's own client, with nothing of this machine's settings."""
    options = ["-F", "none", "-i", str(cluster.lab.key), "-o", "BatchMode=yes"]
    options += ["-o", f"UserKnownHostsFile={cluster.folder / 'known_hosts'}"]
    return ["ssh", *options, "-p", str(port or node.port), node.address, *words]


def ssh(cluster: Cluster, node: Node, *words: str, port: int = 0) -> str:
    done = subprocess.run(
        client(cluster, node, *words, port=port),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_session_has_the_nodes_home_and_nothing_of_the_developers_settings(
    make_cluster: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://elsewhere.invalid")
    monkeypatch.setenv("CONDA_PREFIX", "/elsewhere")
    cluster = make_cluster(1, conda=False)
    (node,) = cluster.nodes
    seen = dict(line.partition("=")[::2] for line in ssh(cluster, node, "env").splitlines())
    assert seen["HOME"] == str(node.home)
    assert seen["PATH"] == node.path
    assert not [name for name in seen if name.startswith(("PIP_", "CONDA_"))]


@pytest.mark.parametrize(
    ("shell", "words"),
    [("/usr/bin/tcsh", "set x = 42; echo $x"), ("/usr/bin/fish", "echo (math 6 x 7)")],
    ids=["csh", "fish"],
)
def test_login_shell_speaks_its_own_language(make_cluster: Maker, shell: str, words: str) -> None:
    cluster = make_cluster(1, conda=False, login_shell=shell)
    assert ssh(cluster, cluster.nodes[0], words) == "42\n"


def test_every_port_of_one_sshd_is_the_same_node(make_cluster: Maker) -> None:
    cluster = make_cluster(1, conda=False, aliases=MAX_LISTEN - 1)
    (node,) = cluster.nodes
    assert len(node.ports) == MAX_LISTEN
    homes = {ssh(cluster, node, 'echo "$HOME"', port=port) for port in node.ports[::5]}
    assert homes == {f"{node.home}\n"}


def test_sshd_that_cannot_start_says_why_at_once(make_cluster: Maker) -> None:
    started = time.monotonic()
    with pytest.raises(AssertionError, match="Bad configuration option: Nonsense"):
        make_cluster(1, conda=False, extra="Nonsense yes")
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("cut", [False, True], ids=["connected", "cut off before"])
def test_stop_leaves_nothing_running_and_start_brings_the_same_node_back(
    make_cluster: Maker, *, cut: bool
) -> None:
    cluster = make_cluster(1, conda=False)
    (node,) = cluster.nodes
    session = client(cluster, node, "echo $$; exec sleep 60")
    with subprocess.Popen(session, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as user:
        assert user.stdout is not None
        pid = int(user.stdout.readline())
        assert pid in node.commands()
        if cut:
            node.cut_connections()
            assert user.wait(10) == 255
            assert Path(f"/proc/{pid}").exists()
        node.stop()
    wait_for_the_end(pid)
    assert node.commands() == []
    assert user.returncode == 255
    node.start()
    assert ssh(cluster, node, "echo back") == "back\n"


def wait_for_the_end(pid: int) -> None:
    deadline = time.monotonic() + 5
    while Path(f"/proc/{pid}/exe").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_conda_of_a_node_over_ssh(make_cluster: Maker, tmp_path: Path) -> None:
    cluster = make_cluster(1)
    (node,) = cluster.nodes
    conda, envs = node.root / "bin" / "conda", node.envs
    extra = Channel(tmp_path / "extra")
    torch = {"torch/__init__.py": TORCH}
    extra.add(python_library("pytorch", "2.5.1", torch, depends=("python", "numlike")))
    cluster.write_environment("numlike=1.26", "pytorch", pip=["einlike"], locked=False)
    text = (cluster.folder / "environment.yml").read_text()
    text = text.replace("channels:\n", f"channels:\n  - {extra.url}\n")
    (node.home / "environment.yml").write_text(text)

    (record,) = (node.root / "conda-meta").glob("conda-*.json")
    version = json.loads(record.read_text())["version"]
    assert ssh(cluster, node, f"{conda} --version") == f"conda {version}\n"
    assert record.name.startswith(f"conda-{version}-py3")

    ssh(cluster, node, f'{conda} env create -q -p {envs}/a -f "$HOME/environment.yml"')
    listed = json.loads(ssh(cluster, node, f"{conda} list -p {envs}/a --json"))
    origin = {each["name"]: (each["version"], each["channel"]) for each in listed}
    assert origin["numlike"] == ("1.26.4", "channel")
    assert origin["pytorch"] == ("2.5.1", "extra")
    assert origin["einlike"] == ("0.8.0", "pypi")
    program = "import sys, torch, einlike; print(sys.prefix, torch.cuda.is_available())"
    assert ssh(cluster, node, f"{envs}/a/bin/python -c '{program}'") == f"{envs}/a False\n"

    explicit = ssh(cluster, node, f"{conda} list -p {envs}/a --explicit --md5")
    packages = {line for line in explicit.splitlines() if line.startswith("file:")}
    assert len(packages) == 4
    (node.home / "explicit.txt").write_text(explicit)
    ssh(cluster, node, f'{conda} create -y -q -p {envs}/b --file "$HOME/explicit.txt"')
    again = ssh(cluster, node, f"{conda} list -p {envs}/b --explicit --md5")
    assert packages == {line for line in again.splitlines() if line.startswith("file:")}

    ssh(cluster, node, f"{conda} install -y -q -p {envs}/b numlike=1.25")
    exported = ssh(cluster, node, f"{conda} env export -n b")
    assert "  - numlike=1.25.0=demo_0\n" in exported
    ssh(cluster, node, f"{conda} env remove -y -q -n b")
    assert str(envs / "b") not in ssh(cluster, node, f"{conda} env list")
    assert str(envs / "a") in ssh(cluster, node, f"{conda} env list")


def test_more_addresses_than_an_sshd_takes_are_refused(make_cluster: Maker) -> None:
    with pytest.raises(AssertionError, match="16 addresses"):
        make_cluster(1, conda=False, aliases=MAX_LISTEN)


def test_free_ports_differ() -> None:
    assert len({free_port() for _ in range(20)}) > 1


def test_conda_that_is_no_longer_there_is_not_the_machines_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for tool in ("CONDA_EXE", "MAMBA_EXE"):
        monkeypatch.setenv(tool, str(tmp_path / "gone"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_conda() is None
    exe = tmp_path / "mamba"
    exe.touch(mode=0o755)
    assert find_conda() == exe


def test_without_the_extra_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(EnvsyncError) as caught:
        install_conda(tmp_path / "root", ["file:///nowhere"])
    assert caught.value.hint == "pip install 'envsync[demo]'"
    assert not list(tmp_path.iterdir())


def test_without_a_pip_the_error_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "distributions", lambda **_: [])
    with pytest.raises(EnvsyncError) as caught:
        pip_package()
    assert "ensurepip" in caught.value.hint
