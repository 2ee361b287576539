"""A network of its own for a node, and what may go wrong in it."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cluster.lab import CLEAN_PATH, SSHD, Node

_FIRST = 213
"""Third part of the addresses 10.213.x.y, which nothing else here uses."""


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)


@dataclass
class Namespace:
    """A network namespace with one link to this machine."""

    name: str
    here: str
    there: str

    @classmethod
    @contextlib.contextmanager
    def made(cls) -> Iterator[Namespace]:
        number = os.getpid() % 250
        made = cls(f"envsync-{os.getpid()}", f"10.{_FIRST}.{number}.1", f"10.{_FIRST}.{number}.2")
        ours, theirs = f"es{os.getpid() % 10**6}a", f"es{os.getpid() % 10**6}b"
        _run("ip", "netns", "add", made.name)
        try:
            _run("ip", "link", "add", ours, "type", "veth", "peer", "name", theirs)
            _run("ip", "link", "set", theirs, "netns", made.name)
            _run("ip", "addr", "add", f"{made.here}/30", "dev", ours)
            _run("ip", "link", "set", ours, "up")
            made.inside("ip", "addr", "add", f"{made.there}/30", "dev", theirs)
            made.inside("ip", "link", "set", theirs, "up")
            made.inside("ip", "link", "set", "lo", "up")
            yield made
        finally:
            _run("ip", "netns", "del", made.name)

    def inside(self, *words: str) -> None:
        _run("ip", "netns", "exec", self.name, *words)

    def drop(self) -> None:
        """Let nothing in any more, and say so to nobody."""
        self.inside("iptables", "-I", "INPUT", "-j", "DROP")

    def let_through(self) -> None:
        self.inside("iptables", "-D", "INPUT", "-j", "DROP")

    def start(self, node: Node) -> None:
        """The node's sshd inside."""
        config = node.folder / "sshd_config"
        config.write_text(node._config())  # noqa: SLF001 (as `Node.start`, elsewhere)
        (node.folder / "authorized_keys").write_bytes(node.lab.key.with_suffix(".pub").read_bytes())
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        with (node.folder / "sshd.log").open("ab") as log:
            node.process = subprocess.Popen(
                ["ip", "netns", "exec", self.name, SSHD, "-D", "-e", "-f", str(config)],
                stdout=log,
                stderr=log,
                env={"PATH": f"/usr/sbin:/sbin:{CLEAN_PATH}", "LANG": "C.UTF-8"},
            )
        node._await(node.port)  # noqa: SLF001


class Relay:
    """A TCP relay that delays bytes, or resets the connection after some of them."""

    def __init__(self, to: tuple[str, int], *, delay: float = 0.0, reset_after: int = 0) -> None:
        """`delay` is in seconds, one way; `reset_after` in bytes towards the server."""
        self._to = to
        self._delay = delay
        self.reset_after = reset_after
        self.upward = 0
        """Bytes that went towards the server, over all connections."""
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()
        for each in self._sockets:
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._to)
                self._sockets += [client, server]
                for source, target, upward in ((client, server, True), (server, client, False)):
                    threading.Thread(
                        target=self._carry, args=(source, target, upward), daemon=True
                    ).start()

    def _carry(self, source: socket.socket, target: socket.socket, upward: bool) -> None:  # noqa: FBT001
        carried = 0
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                carried += len(data)
                self.upward += len(data) if upward else 0
                if upward and self.reset_after and carried > self.reset_after:
                    for each in (source, target):
                        # No linger: the other side gets a reset in place of an end.
                        each.setsockopt(
                            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                        )
                        each.close()
                    return
                time.sleep(self._delay)
                target.sendall(data)
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
