"""Real nodes on this machine: an OpenSSH sshd each, with a home, a host key and a conda."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from envsync.demo.channel import Channel, pip_package, python_library, python_package, wheel
from envsync.demo.conda import install_conda

SSHD = "/usr/sbin/sshd"
MAX_LISTEN = 16
"""Addresses that one sshd listens on at most (MAX_LISTEN_SOCKS in OpenSSH's sshd.c)."""
CLEAN_PATH = "/usr/local/bin:/usr/bin:/bin"
ENVSYNC = [sys.executable, "-m", "envsync"]


def free_port(address: str = "127.0.0.1") -> int:
    with socket.socket() as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


def keygen(file: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(file)], check=True)


@dataclass
class Lab:
    """What all nodes of a test session share: channel, wheels, the client's key."""

    folder: Path
    channel: Channel = field(init=False)
    key: Path = field(init=False)
    wheels: Path = field(init=False)
    solver: Cluster | None = None
    """A node that solves for all tests, so that not every one of them does."""
    locks: dict[str, bytes] = field(default_factory=dict)
    """What it has solved, by the text of the environment.yml."""

    def __post_init__(self) -> None:
        self.channel = Channel(self.folder / "channel")
        self.wheels = self.folder / "wheels"
        self.key = self.folder / "id_ed25519"
        keygen(self.key)
        self.channel.add(
            python_package(),
            pip_package(),
            python_library("numlike", "1.26.4", {"numlike/__init__.py": "__version__='1.26.4'\n"}),
            python_library("numlike", "1.25.0", {"numlike/__init__.py": "__version__='1.25.0'\n"}),
            python_library("tiny", "1.0", {"tiny.py": "x = 1\n"}),
        )
        wheel(self.wheels, "numlike", "2.1.0", {"numlike/__init__.py": "__version__='2.1.0'\n"})
        wheel(self.wheels, "einlike", "0.8.0", {"einlike.py": "x = 1\n"})

    def lock_for(self, text: str) -> bytes:
        """The lock of an environment.yml."""
        assert self.solver is not None
        if text not in self.locks:
            (self.solver.folder / "environment.yml").write_text(text)
            done = self.solver.run("lock", "hosts.txt")
            assert done.code == 0, done.out + done.err
            self.locks[text] = self.solver.lock.read_bytes()
        return self.locks[text]


@dataclass
class Node:
    """One node; `start` and `stop` its sshd as often as a test needs."""

    lab: Lab
    home: Path
    address: str
    port: int
    folder: Path
    login_shell: str = ""
    """A program that gets `-c COMMAND` instead of the user's own shell."""
    aliases: int = 0
    """How many more ports the same sshd listens on, up to 15; each counts as a host."""
    extra: str = ""
    process: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True)
        self.home.mkdir(parents=True, exist_ok=True)
        keygen(self.folder / "host_key")
        pip = self.home / ".config" / "pip" / "pip.conf"
        pip.parent.mkdir(parents=True, exist_ok=True)
        pip.write_text(f"[global]\nno-index = true\nfind-links = {self.lab.wheels}\n")
        ports = [self.port, *(free_port(self.address) for _ in range(self.aliases))]
        self.ports = list(dict.fromkeys(ports))
        assert len(self.ports) <= MAX_LISTEN, "one sshd listens on 16 addresses at most"

    @property
    def host(self) -> str:
        return f"{self.address}:{self.port}"

    @property
    def name(self) -> str:
        """As an alias in ssh_config."""
        return self.folder.name

    @property
    def path(self) -> str:
        """Where its programs are looked for: those of its own first, if it has any."""
        return f"{self.folder / 'bin'}:{CLEAN_PATH}"

    @property
    def hosts(self) -> list[str]:
        return [f"{self.address}:{port}" for port in self.ports]

    @property
    def root(self) -> Path:
        return self.home / "miniforge3"

    @property
    def envs(self) -> Path:
        return self.root / "envs"

    def install_conda(self, *channels: str) -> None:
        """A conda whose starts are counted in `conda_starts`."""
        exe = install_conda(self.root, channels or (self.lab.channel.url,))
        lines = exe.read_text().splitlines()
        lines.insert(1, f"echo \"$*\" >> '{self.folder}/starts'")
        exe.write_text("\n".join(lines) + "\n")

    @property
    def conda_starts(self) -> list[str]:
        """The arguments of every start, without those that conda makes of itself."""
        file = self.folder / "starts"
        lines = file.read_text().splitlines() if file.exists() else []
        return [line for line in lines if not line.startswith("shell.")]

    def known_hosts_lines(self) -> list[str]:
        key = " ".join((self.folder / "host_key.pub").read_text().split()[:2])
        return [f"[{self.address}]:{port} {key}" for port in self.ports]

    def start(self) -> Node:
        config = self.folder / "sshd_config"
        (self.folder / "authorized_keys").write_text((self.lab.key.with_suffix(".pub")).read_text())
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        config.write_text(self._config())
        with (self.folder / "sshd.log").open("ab") as log:
            self.process = subprocess.Popen(
                [SSHD, "-D", "-e", "-f", str(config)],
                stdout=log,
                stderr=log,
                env={"PATH": CLEAN_PATH, "LANG": "C.UTF-8"},
            )
        # sshd listens on them in order; to try all of 16 would count against its MaxStartups.
        self._await(self.ports[-1])
        return self

    def stop(self) -> None:
        """End the daemon, every session, and what their commands left running."""
        if self.process is not None:
            sessions = self.sessions()
            self.process.terminate()
            self.process.wait(10)
            for pid in sessions:
                _kill(pid)
            self.process = None
        for pid in self.commands():
            _kill(pid)

    def sessions(self) -> list[int]:
        """The pids of the sshd children that hold a connection each."""
        assert self.process is not None
        return _descendants(self.process.pid, "sshd")

    def commands(self) -> list[int]:
        """The pids of what runs with this node's home: sshd gave it to its sessions alone."""
        mark = f"HOME={self.home}".encode()
        found = []
        for file in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if mark in file.read_bytes().split(b"\0"):
                    found.append(int(file.parent.name))
        return found

    def cut_connections(self) -> None:
        """End every connection at once, as a broken network or a killed sshd would."""
        for pid in self.sessions():
            _kill(pid)

    def let_log_in(self, peers: Iterable[Node] = ()) -> None:
        """Give it a key for other nodes, and a name for each of `peers`, as its own ssh has them.

        ssh looks into the home that the account has, which nodes have in common here.
        """
        config, program = self.folder / "ssh_config", self.folder / "bin" / "ssh"
        lines = [f"IdentityFile {self.lab.key}", "IdentitiesOnly yes"]
        for peer in peers:
            lines += [f"Host {peer.name}", f"HostName {peer.address}", f"Port {peer.port}"]
        config.write_text("\n".join(lines) + "\n")
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F {config} "$@"\n')
        program.chmod(0o755)

    def pip_install(self, name: str, *words: str) -> None:
        """What a person does by hand on a node, in the environment `name`."""
        python = self.envs / name / "bin" / "python"
        subprocess.run(
            [str(python), "-m", "pip", "install", "-q", *words],
            env={"HOME": str(self.home), "PATH": CLEAN_PATH},
            check=True,
        )

    def _config(self) -> str:
        lines = [f"ListenAddress {self.address}:{port}" for port in self.ports]
        lines += [
            f"HostKey {self.folder / 'host_key'}",
            f"AuthorizedKeysFile {self.folder / 'authorized_keys'}",
            "PidFile none",
            "StrictModes no",
            "UsePAM no",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            "PermitRootLogin yes",
            "PrintMotd no",
            f"SetEnv {_quoted(f'HOME={self.home}')} PATH={self.path}",
        ]
        if self.login_shell:
            lines.append(f'ForceCommand {self.login_shell} -c "$SSH_ORIGINAL_COMMAND"')
        return "\n".join([*lines, self.extra, ""])

    def _await(self, port: int) -> None:
        for _ in range(200):
            try:
                with socket.create_connection((self.address, port), 1):
                    return
            except OSError:
                if self.process is None or self.process.poll() is not None:
                    break
                time.sleep(0.05)
        raise AssertionError((self.folder / "sshd.log").read_text())


@dataclass(frozen=True)
class Ran:
    """How a call of envsync ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def outcomes(self) -> dict[str, str]:
        """What became of each host, in order: its outcome, or the cause of its failure."""
        return {
            each["host"]: each["failure"]["cause"] if each["failure"] else each["outcome"]
            for each in self.json["result"]["hosts"]
        }


@dataclass
class Cluster:
    """Nodes and a folder to push from."""

    nodes: list[Node]
    folder: Path
    lab: Lab

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.write_known_hosts()
        self.write_hosts(host for node in self.nodes for host in node.hosts)

    def write_known_hosts(self) -> None:
        lines = [line for node in self.nodes for line in node.known_hosts_lines()]
        (self.folder / "known_hosts").write_text("\n".join(lines) + "\n")

    def write_hosts(self, hosts: Iterable[str]) -> None:
        (self.folder / "hosts.txt").write_text("".join(f"{host}\n" for host in hosts))

    def write_environment(
        self,
        *dependencies: str,
        pip: Iterable[str] = (),
        name: str = "train",
        locked: bool = True,
    ) -> None:
        """An environment.yml with python and pip, and what else is asked for.

        With `locked` its lock lies beside it, as if both came out of Git.
        """
        lines = [f"name: {name}", "channels:", f"  - {self.lab.channel.url}", "  - nodefaults"]
        lines += ["dependencies:", "  - python=3", "  - pip", *(f"  - {d}" for d in dependencies)]
        if pip := list(pip):
            lines += ["  - pip:", *(f"      - {each}" for each in pip)]
        text = "\n".join(lines) + "\n"
        (self.folder / "environment.yml").write_text(text)
        if locked and self.lab.solver:
            self.lock.write_bytes(self.lab.lock_for(text))

    @property
    def lock(self) -> Path:
        """The lock beside the environment.yml."""
        return self.folder / "environment.lock"

    def command(self, *words: str) -> list[str]:
        """The command line, with what leads to the nodes where the command takes it."""
        leads = ["-i", str(self.lab.key), "--known-hosts", str(self.folder / "known_hosts")]
        takes = words[0] not in {"lint", "demo", "bundle", "image"} and not words[0].startswith("-")
        return [*ENVSYNC, *words, *(leads if takes else [])]

    def run(self, *words: str, stdin: str = "", env: Mapping[str, str] | None = None) -> Ran:
        done = subprocess.run(
            self.command(*words),
            cwd=self.folder,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=240,
            env={**os.environ, "COLUMNS": "200", **(env or {})},
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)


def _quoted(word: str) -> str:
    """For sshd_config, which knows double quotes and backslashes."""
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _descendants(pid: int, name: str) -> list[int]:
    parents: dict[int, list[int]] = {}
    names: dict[int, str] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        head, _, tail = text.rpartition(")")
        child, comm = head.split(" (", 1)
        parents.setdefault(int(tail.split()[1]), []).append(int(child))
        names[int(child)] = comm
    found, todo = [], [pid]
    while todo:
        children = parents.get(todo.pop(), [])
        found += [child for child in children if names[child] == name]
        todo += children
    return found


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
