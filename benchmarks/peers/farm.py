"""Loopback nodes in any number, and the work that is done on each, with the answer it must give."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import sys
import tempfile
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from cluster.lab import MAX_LISTEN, Lab, Node, free_port

AT_ONCE = 16
"""Nodes worked on at once, by every contender that can be told: best on two cores."""

# A file of its own for each address, though the addresses of one sshd share a home. sshd tells
# a command where it was reached, so every tool can send the same words to every node.
_WORK = (
    "set -- $SSH_CONNECTION; kernel=$(uname -r); {source} >$HOME/up-$3"
    " && sum=$(sha256sum <$HOME/up-$3) && echo node $3 $kernel ${{sum%% *}}"
)
SCRIPT = _WORK.format(source="cat")
"""The work of one node: a command, an upload on standard input, a command that reads it back."""

LONGEST_WORD = 100_000
"""Bytes: Linux takes 128 KiB in one word of a command line (MAX_ARG_STRLEN, execve(2))."""

CURVE = "curve25519-sha256"


@dataclass(frozen=True)
class Farm:
    """Running nodes, and the files that lead to them."""

    folder: Path
    nodes: tuple[Node, ...]
    addresses: tuple[str, ...]
    port: int
    payload: bytes
    """4 KB, fresh for each farm; text that a shell reads as one word."""

    @property
    def upload(self) -> Path:
        return self.folder / "payload"

    @property
    def hosts(self) -> Path:
        """The addresses, one a line."""
        return self.folder / f"hosts-{len(self.addresses)}"

    @property
    def job(self) -> Path:
        """What a contender's program has to know, as JSON."""
        return self.folder / "job.json"

    @property
    def inline_script(self) -> str:
        """The work with the upload in its words, for tools that pass no standard input on.

        Empty for an upload that no command line can hold, so that no contender reads it here.
        """
        if len(self.payload) > LONGEST_WORD:
            return ""
        return _WORK.format(source=f"printf %s {self.payload.decode()}")

    def ssh_config(self, kex: str = "") -> Path:
        """For OpenSSH; with `kex` only that key exchange."""
        return self.folder / f"ssh_config{'-' if kex else ''}{kex}"

    def first(self, count: int) -> Farm:
        """The same farm, of which only `count` addresses are named."""
        return Farm(self.folder, self.nodes, self.addresses[:count], self.port, self.payload)

    def write(self) -> None:
        """The files that the contenders read."""
        self.upload.write_bytes(self.payload)
        self.hosts.write_text("".join(f"{address}\n" for address in self.addresses))
        job = {
            "addresses": self.addresses,
            "port": self.port,
            "user": "root" if os.geteuid() == 0 else os.environ["USER"],
            "key": str(self.folder / "id_ed25519"),
            "known_hosts": str(self.folder / "known_hosts"),
            "upload": str(self.upload),
            "script": SCRIPT,
            "inline_script": self.inline_script,
            "at_once": AT_ONCE,
        }
        self.job.write_text(json.dumps(job))

    def verify(self, output: str) -> str:
        """What is wrong with a contender's output and with the files on the nodes, or "".

        Removes the files, so that the next contender cannot live on them.
        """
        wanted = hashlib.sha256(self.payload).hexdigest()
        found = re.findall(r"\bnode (\S+) (\S+) ([0-9a-f]{64})\b", output)
        kernel = os.uname().release
        expected = sorted((address, kernel, wanted) for address in self.addresses)
        if sorted(found) != expected:
            self.landed()
            return f"{len(found)} answers, {len(set(found) & set(expected))} of them right"
        return self.landed()

    def landed(self) -> str:
        """What is wrong with the files on the nodes, or ""; removes them."""
        files = [file for node in self.nodes for file in node.home.glob("up-*")]
        whole = {file.name[3:] for file in files if file.read_bytes() == self.payload}
        for file in files:
            file.unlink()
        if whole != set(self.addresses):
            return f"{len(whole)} nodes hold the upload"
        return ""


@contextmanager
def farm(count: int) -> Iterator[Farm]:
    """`count` addresses, 16 an sshd, all on one port: 127.0.1.1 to 127.0.1.16, 127.0.2.1, ..."""
    with tempfile.TemporaryDirectory(prefix="envsync-fanout-") as name:
        folder = Path(name)
        lab = Lab(folder)
        port = free_port()
        nodes: list[Node] = []
        addresses: list[str] = []
        try:
            while len(addresses) < count:
                net = len(nodes) + 1
                more = min(MAX_LISTEN, count - len(addresses))
                mine = [f"127.0.{net}.{number}" for number in range(1, more + 1)]
                nodes.append(_node(lab, mine, port, folder / f"node{net}"))
                addresses += mine
            _write_client_files(folder, nodes, port)
            payload = b64encode(secrets.token_bytes(3072))
            yield Farm(folder, tuple(nodes), tuple(addresses), port, payload)
        finally:
            for node in nodes:
                node.stop()


def _node(lab: Lab, addresses: list[str], port: int, folder: Path) -> Node:
    first, *others = addresses
    extra = [f"ListenAddress {address}:{port}" for address in others]
    extra.append("MaxStartups 500")  # what is dropped and tried again is no fair measure
    extra.append("Subsystem sftp internal-sftp")
    return Node(lab, folder / "home", first, port, folder, extra="\n".join(extra)).start()


def _write_client_files(folder: Path, nodes: list[Node], port: int) -> None:
    known = []
    for net, node in enumerate(nodes, 1):
        key = " ".join((node.folder / "host_key.pub").read_text().split()[:2])
        known += [f"[127.0.{net}.{number}]:{port} {key}" for number in range(1, MAX_LISTEN + 1)]
    (folder / "known_hosts").write_text("\n".join(known) + "\n")
    config = (
        f"IdentityFile {folder}/id_ed25519\nIdentitiesOnly yes\nPort {port}\nBatchMode yes\n"
        f"UserKnownHostsFile {folder}/known_hosts\nGlobalKnownHostsFile /dev/null\n"
    )
    (folder / "ssh_config").write_text(config)
    (folder / f"ssh_config-{CURVE}").write_text(f"{config}KexAlgorithms {CURVE}\n")
