"""Which host keys are trusted: known_hosts, read once, strict unless told otherwise.

The file's form is sshd(8), SSH_KNOWN_HOSTS FILE FORMAT: patterns or hashed names, a key type, a
key; before them perhaps `@revoked` or `@cert-authority`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
import threading
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import paramiko

from envsync.errors import ConnectError
from envsync.transport import certificates

DEFAULT_FILES = (
    Path("~/.ssh/known_hosts"),
    Path("~/.ssh/known_hosts2"),
    Path("/etc/ssh/ssh_known_hosts"),
)
"""Where OpenSSH looks (ssh_config(5): UserKnownHostsFile, GlobalKnownHostsFile)."""

_SSH_PORT = 22
_MARKERS = ("@revoked", "@cert-authority")


class Strictness(Enum):
    """What to do with a key that is not known (ssh_config(5): StrictHostKeyChecking)."""

    STRICT = "strict"
    ACCEPT_NEW = "accept-new"
    OFF = "off"
    """Changed keys pass as well, as with ssh; but no password is sent to such a host."""


@dataclass(frozen=True)
class Asked:
    """The name under which a host is looked up."""

    name: str
    """Its address, or its HostKeyAlias."""
    port: int

    def __str__(self) -> str:
        return self.name if self.port == _SSH_PORT else f"[{self.name}]:{self.port}"


@dataclass(frozen=True)
class KnownKey:
    """One line of a known_hosts file."""

    names: tuple[str, ...]
    kind: str
    """The key's type, such as ssh-ed25519."""
    blob: bytes
    marker: str
    file: Path
    line: int

    def matches(self, name: str) -> bool:
        """Whether the line is about `name`: `!pattern` rules it out, whatever else matches."""
        if any(each.startswith("!") and _fits(each[1:], name) for each in self.names):
            return False
        return any(_fits(each, name) for each in self.names if not each.startswith("!"))


def fingerprint(kind: str, blob: bytes) -> str:
    """As `ssh-keygen -l` prints it."""
    digest = base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
    return f"{kind} SHA256:{digest}"


class KnownHosts:
    """The known_hosts files of this run. Safe to share between threads."""

    def __init__(self, files: tuple[Path, ...], *, hashed: bool = False) -> None:
        """`hashed` writes new names as hashes (ssh_config(5): HashKnownHosts)."""
        self._files = tuple(file.expanduser() for file in files)
        self._hashed = hashed
        self._lock = threading.Lock()
        self._plain: dict[str, list[KnownKey]] = {}
        self._others: list[KnownKey] = []
        self._found: dict[str, list[KnownKey]] = {}
        for file in self._files:
            for key in _read(file):
                self._add(key)

    def key_types(self, asked: Asked) -> list[str]:
        """The types of the keys known for a host: what to ask its server for first.

        Certificates come first where an authority is known for the host.
        """
        with self._lock:
            known = self._lookup(asked)
        plain = [key.kind for key in known if not key.marker]
        authority = any(key.marker == "@cert-authority" for key in known)
        return [*(certificates.ALGORITHMS if authority else ()), *plain]

    def check(self, asked: Asked, offered: paramiko.PKey, strictness: Strictness) -> bool:
        """Accept `offered` or raise ConnectError with both fingerprints and the next step.

        Returns whether the host is known to be the right one: False for a key that only
        `Strictness.OFF` lets pass.
        """
        blob = offered.asbytes()
        kind = certificates.plain_type(offered.get_name())
        with self._lock:
            known = self._lookup(asked)
            same = [key for key in known if key.blob == blob and key.marker != "@cert-authority"]
            if revoked := next((key for key in same if key.marker), None):
                raise _revoked(fingerprint(kind, blob), revoked)
            if self._is_certified(asked, offered, known) or same:
                return True
            if asked.port != _SSH_PORT and self._is_known_without_port(asked, blob):
                return True
            trusted = [key for key in known if not key.marker]
            if trusted and strictness is not Strictness.OFF:
                raise _changed(asked, fingerprint(kind, blob), trusted[0])
            if not trusted and strictness is Strictness.STRICT:
                raise _unknown(asked, fingerprint(kind, blob), self._files[0])
            if not trusted:
                self._remember(asked, kind, blob)
            return not trusted

    def _is_certified(self, asked: Asked, offered: paramiko.PKey, known: list[KnownKey]) -> bool:
        """Whether a known authority vouches for the key. Raises ConnectError for a bad voucher."""
        certificate = certificates.certificate_of(offered)
        if certificate is None:
            return False
        signer = certificates.signer(certificate)
        lines = [key for key in known if key.blob == signer and key.marker]
        if revoked := next((key for key in lines if key.marker == "@revoked"), None):
            raise _revoked("the certificate authority's", revoked)
        if not lines:
            return False
        if reason := certificates.flaw(certificate, asked.name):
            raise ConnectError(
                "host-key",
                f"its host certificate, signed by the authority of {lines[0].file}:"
                f"{lines[0].line}, is not good: {reason}",
                hint="have the host's certificate signed anew (`ssh-keygen -s CA -h -n NAME`)",
            )
        return True

    def _is_known_without_port(self, asked: Asked, blob: bytes) -> bool:
        """Ssh accepts a key that is known for the host's usual port."""
        known = self._lookup(Asked(asked.name, _SSH_PORT))
        return any(key.blob == blob and not key.marker for key in known)

    def _lookup(self, asked: Asked) -> list[KnownKey]:
        name = str(asked).lower()
        if name not in self._found:
            others = [key for key in self._others if key.matches(name)]
            found = [*self._plain.get(name, ()), *others]
            self._found[name] = sorted(found, key=lambda key: (str(key.file), key.line))
        return self._found[name]

    def _add(self, key: KnownKey) -> None:
        """Plain names are found at once; each hashed one costs a hash for every host."""
        self._found.clear()
        if any(re.search(r"[*?!]|\A\|1\|", name) for name in key.names):
            self._others.append(key)
            return
        for name in key.names:
            self._plain.setdefault(name.lower(), []).append(key)

    def _remember(self, asked: Asked, kind: str, blob: bytes) -> None:
        file = self._files[0]
        name = _hash(str(asked)) if self._hashed else str(asked)
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        text = file.read_text(errors="replace") if file.exists() else ""
        with file.open("a") as stream:
            stream.write("" if text.endswith("\n") or not text else "\n")
            stream.write(f"{name} {kind} {base64.b64encode(blob).decode()}\n")
        self._add(KnownKey((str(asked),), kind, blob, "", file, text.count("\n") + 1))


def _read(file: Path) -> list[KnownKey]:
    try:
        lines = file.read_text(errors="replace").splitlines()
    except OSError:
        return []
    return [key for number, line in enumerate(lines, 1) if (key := _parse(line, file, number))]


def _parse(line: str, file: Path, number: int) -> KnownKey | None:
    words = line.split()
    marker = words.pop(0) if words and words[0] in _MARKERS else ""
    if len(words) < 3 or words[0].startswith(("#", "@")):  # noqa: PLR2004 (names, type, key)
        return None
    try:
        blob = base64.b64decode(words[2], validate=True)
    except (binascii.Error, ValueError):
        return None
    return KnownKey(tuple(words[0].split(",")), words[1], blob, marker, file, number)


def _fits(pattern: str, name: str) -> bool:
    if pattern.startswith("|1|"):
        try:
            salt, wanted = (base64.b64decode(part) for part in pattern[3:].split("|"))
        except (binascii.Error, ValueError):
            return False
        return hmac.digest(salt, name.encode(), "sha1") == wanted
    if re.search(r"[*?]", pattern):
        text = re.escape(pattern.lower()).replace(r"\*", ".*").replace(r"\?", ".")
        return re.fullmatch(text, name) is not None
    return pattern.lower() == name


def _hash(name: str) -> str:
    salt = secrets.token_bytes(20)
    words = (salt, hmac.digest(salt, name.lower().encode(), "sha1"))
    return "|1|" + "|".join(base64.b64encode(word).decode() for word in words)


def _revoked(what: str, key: KnownKey) -> ConnectError:
    return ConnectError(
        "host-key",
        f"its host key {what} is marked as revoked ({key.file}:{key.line})",
        hint="do not connect; ask who runs the host",
    )


def _unknown(asked: Asked, offered: str, file: Path) -> ConnectError:
    flag = "" if asked.port == _SSH_PORT else f"-p {asked.port} "
    return ConnectError(
        "host-key-unknown",
        f"its host key is not in known_hosts: {offered}",
        hint=f"check the fingerprint, then `ssh-keyscan {flag}{asked.name} >> {file}`,"
        " or run again with --accept-new",
    )


def _changed(asked: Asked, offered: str, first: KnownKey) -> ConnectError:
    return ConnectError(
        "host-key-changed",
        f"its host key changed: it offers {offered}, but {first.file}:{first.line}"
        f" has {fingerprint(first.kind, first.blob)}",
        hint=f"if the host was reinstalled, `ssh-keygen -R '{asked}' -f {first.file}`;"
        " if not, somebody may be in between",
    )
