"""Private key files: what can be said of one without its passphrase, and opening it with one."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import paramiko

_MAGIC = b"openssh-key-v1\0"
_TRIES = 3
"""ssh_config(5), NumberOfPasswordPrompts."""


@dataclass(frozen=True)
class KeyFile:
    """A file that IdentityFile or -i names; it may be missing, or hold just a public key."""

    path: Path
    exists: bool = False
    public: bytes = b""
    """The public key; empty where only the passphrase would tell."""
    key: paramiko.PKey | None = None
    encrypted: bool = False
    broken: str = ""
    """Why it cannot be used."""

    @classmethod
    def read(cls, path: Path) -> KeyFile:
        """What is in the file, and in the `.pub` beside it."""
        try:
            text = path.read_text(errors="replace")
        except OSError as error:
            public = _public(path.with_name(path.name + ".pub"))
            if path.exists():
                reason = f"{path} cannot be read: {error.strerror}"
                return cls(path, exists=True, public=public, broken=reason)
            return cls(path, public=public)
        if "PRIVATE KEY" not in text:
            # ssh takes IdentityFile key.pub as the name of a key that the agent holds.
            public = _public(path)
            return cls(path, exists=True, public=public, broken=f"{path} is no private key")
        public = _openssh_public(text) or _public(path.with_name(path.name + ".pub"))
        try:
            key = paramiko.PKey.from_path(path)
        except (TypeError, ValueError, paramiko.SSHException, OSError) as error:
            # cryptography tells an encrypted key by its message alone.
            if any(word in str(error).lower() for word in ("encrypted", "password")):
                return cls(path, exists=True, public=public, encrypted=True)
            return cls(path, exists=True, public=public, broken=f"{path}: {error}")
        return cls(path, exists=True, public=key.asbytes(), key=key)

    def unlock(self, ask: Callable[[str], str | None]) -> paramiko.PKey | None:
        """The key, opened with a passphrase that `ask` gets; None when the user has none."""
        question = f"Passphrase for {self.path}: "
        for _ in range(_TRIES):
            answer = ask(question)
            if not answer:
                return None
            try:
                return paramiko.PKey.from_path(self.path, answer.encode())  # type: ignore[arg-type]
            except (TypeError, ValueError, paramiko.SSHException, OSError):
                question = f"That does not open it. Passphrase for {self.path}: "
        return None


def _public(file: Path) -> bytes:
    """The key of a `.pub` file."""
    try:
        words = file.read_text(errors="replace").split()
        return base64.b64decode(words[1], validate=True)
    except (OSError, IndexError, binascii.Error, ValueError):
        return b""


def _openssh_public(text: str) -> bytes:
    """The public half, which OpenSSH's own form (PROTOCOL.key) leaves readable."""
    found = re.search(r"-----BEGIN OPENSSH PRIVATE KEY-----(.*?)-----END", text, re.DOTALL)
    try:
        raw = base64.b64decode("".join(found[1].split())) if found else b""
        if not raw.startswith(_MAGIC):
            return b""
        message = paramiko.Message(raw[len(_MAGIC) :])
        for _ in ("cipher", "key derivation", "its options"):
            message.get_binary()
        return message.get_binary() if message.get_int() == 1 else b""
    except (binascii.Error, ValueError, IndexError):
        return b""
