"""Which keys to log in with, and in which order.

Those named by -i, those of ssh_config that the agent holds, the agent's others, those of
ssh_config in files; encrypted files last, since they cost a question. The key that fitted one
host is tried first on the next for which ssh_config says the same of keys, so this is gone
through once.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import paramiko
from paramiko.agent import AgentKey, AgentSSH
from paramiko.pkey import PublicBlob

from envsync.errors import InputError
from envsync.transport import certificates
from envsync.transport.keyfiles import KeyFile

DEFAULT_FILES = tuple(Path(f"~/.ssh/{name}") for name in ("id_ed25519", "id_ecdsa", "id_rsa"))
"""In the order in which they are tried."""

Ask = Callable[[str], str | None]
"""Asks the user for a secret; None when there is nobody to ask, or no answer."""


@dataclass(frozen=True)
class Wanted:
    """What ssh_config says of keys for a host."""

    files: tuple[Path, ...]
    certificates: tuple[Path, ...] = ()
    only_these: bool = False
    """IdentitiesOnly: no other keys of the agent."""
    agent: str | None = None
    """IdentityAgent: a socket, `none`, or None for that of the environment."""


class Identities:
    """The keys of this run, each file read once. Safe to share between threads."""

    def __init__(self, named: tuple[Path, ...], ask: Ask | None = None) -> None:
        """`named` must be private keys; raises InputError for one that is not."""
        self._ask = ask
        self._lock = threading.Lock()
        self._asking = threading.Lock()
        self._files: dict[Path, KeyFile] = {}
        self._opened: dict[Path, paramiko.PKey | None] = {}
        self._worked: dict[Wanted, paramiko.PKey] = {}
        self._named = named
        for file in named:
            if not file.expanduser().exists():
                raise InputError(f"there is no key file {file}", hint="check the path after -i")
            if self._file(file).broken:
                raise InputError(
                    f"{file} is not a private key that can be read",
                    hint="name the private key, not the .pub file",
                )

    def keys(self, wanted: Wanted) -> Iterator[paramiko.PKey]:
        """The keys to try, most promising first; the agent is open until the iterator ends.

        Each connection has an agent session of its own, since paramiko's cannot be shared.
        """
        tried: set[bytes] = set()
        worked = self._worked.get(wanted)
        if worked is not None and not isinstance(worked, AgentKey):
            tried.add(_presented(worked))
            yield worked
        with contextlib.closing(_Agent(wanted.agent)) as agent:
            for key in self._in_order(wanted, agent.keys, worked):
                if _presented(key) not in tried:
                    tried.add(_presented(key))
                    yield key

    def remember(self, key: paramiko.PKey, wanted: Wanted) -> None:
        """Note the key that was accepted: on a cluster it fits the next node as well."""
        self._worked[wanted] = key

    def skipped(self, wanted: Wanted) -> Sequence[str]:
        """Keys that could not be used, with the reason, for the message when none fits."""
        files = [self._file(file) for file in (*self._named, *wanted.files)]
        return [
            file.broken or f"{file.path} is encrypted (put it into the agent: `ssh-add`)"
            for file in dict.fromkeys(files)
            if file.exists and (file.broken or (file.encrypted and not self._opened.get(file.path)))
        ]

    def _in_order(
        self, wanted: Wanted, agent: Mapping[bytes, paramiko.PKey], worked: paramiko.PKey | None
    ) -> Iterator[paramiko.PKey]:
        if worked is not None and (key := agent.get(_presented(worked))):
            yield key
        named = {file.expanduser() for file in self._named}
        files = [self._file(file) for file in dict.fromkeys((*self._named, *wanted.files))]
        beside = [file.expanduser() for file in wanted.certificates]
        plain = [file for file in files if file.key]
        first = [file for file in plain if file.path in named]
        configured = {file.public for file in files if file.public}
        held = [key for key in agent.values() if key.asbytes() in configured]
        others = [] if wanted.only_these else list(agent.values())
        for file in first:
            yield from self._forms(file.key, file, beside)
        for key in (*held, *others):
            yield from (*_certified(key, beside), key)
        for file in plain:
            yield from self._forms(file.key, file, beside)
        in_agent = {key.asbytes() for key in held}
        for file in files:
            if file.encrypted and file.public not in in_agent:
                yield from self._forms(self._unlocked(file), file, beside)

    def _forms(
        self, key: paramiko.PKey | None, file: KeyFile, others: Sequence[Path]
    ) -> Iterator[paramiko.PKey]:
        """A key with each certificate that belongs to it, and alone."""
        if key is not None:
            beside = file.path.with_name(file.path.name + "-cert.pub")
            yield from _certified(key, [beside, *others])
            yield key

    def _file(self, file: Path) -> KeyFile:
        path = file.expanduser()
        with self._lock:
            if path not in self._files:
                self._files[path] = KeyFile.read(path)
            return self._files[path]

    def _unlocked(self, file: KeyFile) -> paramiko.PKey | None:
        """The key of an encrypted file: its passphrase is asked for once in a run."""
        with self._asking:
            if file.path not in self._opened:
                self._opened[file.path] = file.unlock(self._ask) if self._ask else None
            return self._opened[file.path]


class _Agent:
    """One session with an agent, and the keys it holds by what they present to a server."""

    def __init__(self, place: str | None) -> None:
        self._session = AgentSSH()
        self.keys: dict[bytes, paramiko.PKey] = {}
        path = _socket_path(place)
        if not path:
            return
        link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            link.settimeout(10)
            link.connect(path)
            # paramiko's own classes know only the socket of the environment.
            self._session._connect(link)  # type: ignore[attr-defined]  # noqa: SLF001
        except (OSError, paramiko.SSHException):
            link.close()
            return
        for key in self._session.get_keys():
            self.keys.setdefault(_presented(key), key)

    def close(self) -> None:
        self._session._close()  # type: ignore[attr-defined]  # noqa: SLF001 (no other end)


def _socket_path(place: str | None) -> str:
    """The agent's socket; empty for none (ssh_config(5): IdentityAgent)."""
    if place == "none":
        return ""
    if place in {None, "SSH_AUTH_SOCK"}:
        return os.environ.get("SSH_AUTH_SOCK", "")
    assert place is not None  # noqa: S101 (see above)
    return str(Path(os.path.expandvars(place)).expanduser())


def _presented(key: paramiko.PKey) -> bytes:
    """What a server gets to see of a key: its certificate, or its public half."""
    blob = getattr(key, "public_blob", None)
    return blob.key_blob if blob else key.asbytes()


def _certified(key: paramiko.PKey, files: Sequence[Path]) -> Iterator[paramiko.PKey]:
    """The key as each of the certificates presents it that were made for it."""
    for file in files:
        if certificates.key_of(file) == key.asbytes():
            yield _Certified(key, PublicBlob.from_file(str(file)))


class _Certified(paramiko.PKey):
    """A key that presents a certificate; paramiko would change the key itself."""

    def __init__(self, key: paramiko.PKey, blob: PublicBlob) -> None:
        self._key = key
        self.public_blob = blob

    def asbytes(self) -> bytes:
        return self._key.asbytes()

    def get_name(self) -> str:
        return self._key.get_name()

    def sign_ssh_data(self, data: bytes, algorithm: str | None = None) -> paramiko.Message:
        return self._key.sign_ssh_data(data, algorithm)
