"""Which keys to log in with: those named by -i, the agent's, those in ~/.ssh."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import paramiko

from envsync.errors import InputError

DEFAULT_FILES = tuple(Path(f"~/.ssh/{name}") for name in ("id_ed25519", "id_ecdsa", "id_rsa"))
"""In the order in which they are tried."""

MOST_TRIES = 6
"""sshd's MaxAuthTries (sshd_config(5)): it hangs up on the key after that."""


class Identities:
    """The keys of this run, each file read once. Safe to share between threads."""

    def __init__(self, named: tuple[Path, ...]) -> None:
        """`named` must be private keys; raises InputError for one that is not."""
        self.skipped: list[str] = []
        """Keys that could not be used, with the reason, for the message when none fits."""
        self._lock = threading.Lock()
        self._loaded: dict[Path, paramiko.PKey | None] = {}
        self._worked = b""
        for file in named:
            if not file.expanduser().exists():
                raise InputError(f"there is no key file {file}", hint="check the path after -i")
            self._load(file, named=True)
        self._named = named

    @contextlib.contextmanager
    def keys(self, files: tuple[Path, ...], *, use_agent: bool) -> Iterator[list[paramiko.PKey]]:
        """The keys to try, most promising first; the agent stays open inside the block.

        Each connection has an agent session of its own, since paramiko's cannot be shared.
        """
        with contextlib.ExitStack() as stack:
            agents: list[paramiko.PKey] = []
            if use_agent:
                agent = paramiko.Agent()
                stack.callback(agent.close)
                agents = list(agent.get_keys())
            with self._lock:
                named = [self._load(file, named=True) for file in self._named]
                others = [self._load(file, named=False) for file in files]
            unique: dict[bytes, paramiko.PKey] = {}
            for key in (*named, *agents, *others):
                if key is not None:
                    unique.setdefault(key.asbytes(), key)
            ordered = sorted(unique, key=lambda blob: blob != self._worked)
            yield [unique[blob] for blob in ordered[:MOST_TRIES]]

    def remember(self, key: paramiko.PKey) -> None:
        """Note the key that was accepted: on a cluster it fits the next node as well."""
        self._worked = key.asbytes()

    def _load(self, file: Path, *, named: bool) -> paramiko.PKey | None:
        if file not in self._loaded:
            path = file.expanduser()
            if path not in self._loaded:
                self._loaded[path] = self._read(path, named=named) if path.exists() else None
            self._loaded[file] = self._loaded[path]  # asked for once a host: no path is made anew
        return self._loaded[file]

    def _read(self, file: Path, *, named: bool) -> paramiko.PKey | None:
        try:
            return paramiko.PKey.from_path(file)
        except (TypeError, ValueError, paramiko.SSHException, OSError) as error:
            # cryptography tells an encrypted key by its message alone.
            encrypted = any(word in str(error).lower() for word in ("encrypted", "password"))
            if named and not encrypted:
                raise InputError(
                    f"{file} is not a private key that can be read",
                    hint="name the private key, not the .pub file",
                ) from error
            why = "is encrypted (put it into the agent: `ssh-add`)" if encrypted else str(error)
            self.skipped.append(f"{file} {why}")
        return None
