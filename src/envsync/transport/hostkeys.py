"""Which host keys are trusted: known_hosts, read once, strict unless told otherwise."""

from __future__ import annotations

import base64
import hashlib
import threading
from dataclasses import dataclass
from pathlib import Path

import paramiko
from paramiko.hostkeys import HostKeyEntry, InvalidHostKey

from envsync.errors import ConnectError

DEFAULT_FILES = (
    Path("~/.ssh/known_hosts"),
    Path("~/.ssh/known_hosts2"),
    Path("/etc/ssh/ssh_known_hosts"),
)
"""Where OpenSSH looks (ssh_config(5): UserKnownHostsFile, GlobalKnownHostsFile)."""


@dataclass(frozen=True)
class KnownKey:
    """One line of a known_hosts file; an entry matches by plain or hashed name."""

    entry: HostKeyEntry
    file: Path
    line: int
    revoked: bool


def known_name(name: str, port: int) -> str:
    """The form of a host's name in known_hosts (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT)."""
    return name if port == 22 else f"[{name}]:{port}"  # noqa: PLR2004 (SSH's own port)


def fingerprint(key: paramiko.PKey) -> str:
    """As `ssh-keygen -l` prints it."""
    digest = base64.b64encode(hashlib.sha256(key.asbytes()).digest()).decode().rstrip("=")
    return f"{key.get_name()} SHA256:{digest}"


class KnownHosts:
    """The known_hosts files of this run. Safe to share between threads."""

    def __init__(self, files: tuple[Path, ...], *, accept_new: bool) -> None:
        self._files = tuple(file.expanduser() for file in files)
        self._accept_new = accept_new
        self._lock = threading.Lock()
        self._plain: dict[str, list[KnownKey]] = {}
        self._hashed: list[tuple[str, KnownKey]] = []
        for file in self._files:
            for key in _read(file):
                self._add(key)

    def key_types(self, name: str) -> list[str]:
        """The types of the keys known for a host: what to ask its server for first."""
        return [key.entry.key.get_name() for key in self._lookup(name) if not key.revoked]

    def check(self, name: str, offered: paramiko.PKey) -> None:
        """Accept `offered` or raise ConnectError with both fingerprints and the next step.

        `name` is the host's as `known_name` makes it, or its HostKeyAlias.
        """
        with self._lock:
            known = self._lookup(name)
            same = [key for key in known if key.entry.key == offered]
            if revoked := next((key for key in same if key.revoked), None):
                raise ConnectError(
                    "host-key",
                    f"its host key {fingerprint(offered)} is marked as revoked"
                    f" ({revoked.file}:{revoked.line})",
                    hint="do not connect; ask who runs the host",
                )
            if same:
                return
            trusted = [key for key in known if not key.revoked]
            if trusted:
                raise _changed(name, offered, trusted)
            if not self._accept_new:
                raise _unknown(name, offered, self._files[0])
            self._remember(name, offered)

    def _add(self, key: KnownKey) -> None:
        # By name, or a thousand hosts would look through a thousand lines each.
        for name in dict.fromkeys(key.entry.hostnames):
            if name.startswith("|1|"):
                self._hashed.append((name, key))
            else:
                self._plain.setdefault(name, []).append(key)

    def _lookup(self, name: str) -> list[KnownKey]:
        hashed = [
            key for mark, key in self._hashed if paramiko.HostKeys.hash_host(name, mark) == mark
        ]
        return [*self._plain.get(name, ()), *hashed]

    def _remember(self, name: str, key: paramiko.PKey) -> None:
        file = self._files[0]
        entry = HostKeyEntry([name], key)
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        text = file.read_text(errors="replace") if file.exists() else ""
        line = entry.to_line() or ""
        with file.open("a") as stream:
            stream.write(("" if text.endswith("\n") or not text else "\n") + line)
        self._add(KnownKey(entry, file, text.count("\n") + 1, revoked=False))


def _read(file: Path) -> list[KnownKey]:
    try:
        lines = file.read_text(errors="replace").splitlines()
    except OSError:
        return []
    known = []
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0].startswith("#") or words[0] == "@cert-authority":
            continue
        revoked = words[0] == "@revoked"
        try:
            entry = HostKeyEntry.from_line(" ".join(words[1:] if revoked else words), number)
        except (InvalidHostKey, paramiko.SSHException, ValueError):
            continue  # a key type that this paramiko does not know cannot be offered either
        if entry is not None and entry.key is not None:
            known.append(KnownKey(entry, file, number, revoked))
    return known


def _unknown(name: str, offered: paramiko.PKey, file: Path) -> ConnectError:
    address, _, port = name.removeprefix("[").partition("]:")
    flag = f"-p {port} " if port else ""
    return ConnectError(
        "host-key-unknown",
        f"its host key is not in known_hosts: {fingerprint(offered)}",
        hint=f"check the fingerprint, then `ssh-keyscan {flag}{address} >> {file}`,"
        " or run again with --accept-new",
    )


def _changed(name: str, offered: paramiko.PKey, trusted: list[KnownKey]) -> ConnectError:
    first = trusted[0]
    return ConnectError(
        "host-key-changed",
        f"its host key changed: it offers {fingerprint(offered)}, but {first.file}:{first.line}"
        f" has {fingerprint(first.entry.key)}",
        hint=f"if the host was reinstalled, `ssh-keygen -R '{name}' -f {first.file}`;"
        " if not, somebody may be in between",
    )
