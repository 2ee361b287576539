"""What ssh_config says about a host: the way that already leads there with `ssh HOST`.

OpenSSH's own client is asked (`ssh -G`), so that Include, Match and tokens are right by
construction; where it is not installed, paramiko's parser reads the user's file.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import paramiko

from envsync.errors import ConnectError
from envsync.model import Host
from envsync.transport.patterns import Patterns
from envsync.transport.settings import Settings, interpret

USER_FILE = Path("~/.ssh/config")
SYSTEM_FILE = Path("/etc/ssh/ssh_config")
_LIMIT = 20
"""Seconds for `ssh -G`, which may run a `Match exec`."""
_DEEPEST = 8
"""Jump hosts in a row; more are a ring."""

Answer = Mapping[str, Sequence[str]]


class SshConfig:
    """The configuration of this run. Safe to share between threads."""

    def __init__(self, file: Path | None = None) -> None:
        """`file` replaces the user's and the system's files, as `ssh -F` does."""
        self._file = file
        self._asks_openssh = shutil.which("ssh") is not None
        self._patterns: Patterns | None = None
        self._known: dict[object, tuple[Host, Settings]] = {}
        self._lock = threading.Lock()
        self._asking: dict[object, threading.Lock] = {}

    def settings(self, host: Host) -> Settings:
        """The effective settings for `host`. Raises ConnectError where ssh has none."""
        asked, usual = self._usual(host)
        # Without a HostName ssh gives the name back, in small letters.
        is_name = usual.address.lower() == asked.target.lower()
        return replace(
            usual,
            name=host.target,
            address=host.target if is_name else usual.address,
            port=host.port or usual.port,
            user=host.user or usual.user,
        )

    def route(self, way: Settings, depth: int = 0) -> tuple[Settings, ...]:
        """The jump hosts that lead to `way`, the first one first (ssh_config(5): ProxyJump)."""
        if not way.jump:
            return ()
        if depth > _DEEPEST:
            raise ConnectError(
                "proxy",
                f"its jump hosts lead in a ring: {way.name} again",
                hint="look at ProxyJump in ssh_config: `ssh -G HOST | grep -i proxyjump`",
            )
        hops = [self.settings(host) for host in way.jump]
        # Only the first one's own jump hosts count: the others are reached through it.
        return (*self.route(hops[0], depth + 1), *hops)

    @property
    def unread(self) -> Sequence[str]:
        """What keeps the settings from being whole; to be said once."""
        if self._asks_openssh:
            return ()
        file = (self._file or USER_FILE).expanduser()
        with contextlib.suppress(OSError):
            lines = file.read_text(errors="replace").splitlines()
            if any(line.split()[:1] and line.split()[0].lower() == "include" for line in lines):
                return [f"{file} has Include, which is not followed where no ssh is installed"]
        return ()

    def _usual(self, host: Host) -> tuple[Host, Settings]:
        """Settings for `host` or for one that ssh's files do not tell apart from it, and which.

        One question does for all of those.
        """
        with self._lock:
            self._patterns = self._patterns or Patterns.of(self._sources())
            alike = self._patterns.signature(host.target) if self._asks_openssh else None
            key = (host.target, host.user, host.port) if alike is None else alike
            asking = self._asking.setdefault(key, threading.Lock())
        with asking:
            if key not in self._known:
                asked = host if alike is None else Host(host.target)
                said = _ask(asked, self._file) if self._asks_openssh else self._read(asked)
                set_somewhere = self._patterns.keywords if self._asks_openssh else said.keys()
                self._known[key] = asked, interpret(asked, said, set_somewhere)
            return self._known[key]

    def _sources(self) -> Sequence[Path]:
        if self._file is not None:
            return [self._file.expanduser()]
        return [USER_FILE.expanduser(), SYSTEM_FILE]

    def _read(self, host: Host) -> Answer:
        path = (self._file or USER_FILE).expanduser()
        if not path.exists():
            return {}
        found: Mapping[str, object] = paramiko.SSHConfig.from_path(str(path)).lookup(host.target)
        return {
            key: value if isinstance(value, list) else [str(value)] for key, value in found.items()
        }


def _ask(host: Host, file: Path | None) -> Answer:
    words = ["ssh", "-G", *(["-F", str(file)] if file else [])]
    words += ["-p", str(host.port)] if host.port else []
    words += ["-l", host.user] if host.user else []
    try:
        done = subprocess.run(
            [*words, "--", host.target],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ConnectError(
            "ssh-config",
            f"`ssh -G {host.target}` gave no answer within {_LIMIT} s",
            hint="look at `Match exec` in ssh_config",
        ) from error
    if done.returncode:
        raise ConnectError(
            "ssh-config",
            f"ssh does not accept its configuration for {host.target}",
            hint=f"see `ssh -G {host.target}`",
            output=done.stderr,
        )
    return _gather(line.partition(" ")[::2] for line in done.stdout.splitlines())


def _gather(pairs: Iterable[tuple[str, ...]]) -> Answer:
    found: dict[str, list[str]] = {}
    for key, value in pairs:
        found.setdefault(key.lower(), []).append(value)
    return found
