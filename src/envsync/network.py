"""What users say of proxies and certificates, checked before any node is asked to use it."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from envsync.errors import InputError
from envsync.mirrors import VARIABLE, fill
from envsync.redact import redact


def check_proxy(text: str) -> tuple[str, str, str, str]:
    """Scheme, user, password and host, variables as written. Raises InputError."""
    scheme, _, rest = text.partition("://")
    login, at, host = rest.rstrip("/").rpartition("@")
    user, colon, password = login.partition(":")
    if (
        scheme.lower() not in {"http", "https", "socks4", "socks5", "socks5h"}
        or not re.fullmatch(r"[^\s/?#@$'\"\\]+", host)
        or (at and not user)
        or (colon and not password)
    ):
        raise InputError(
            f"proxy {redact(text)}: it is no address of a proxy",
            hint="http://proxy.example:3128, or http://user:$NAME@proxy.example:3128",
        )
    if password and not VARIABLE.fullmatch(password):
        raise InputError(
            f"proxy {redact(text)}: a password stands in it, where everybody can read it",
            hint="write $NAME in its place, and set that variable where you run envsync",
        )
    return scheme.lower(), user, password, host


def read_proxy(text: str, environment: Mapping[str, str]) -> str:
    """Its address, with the values of its variables. Raises InputError."""
    scheme, user, password, host = check_proxy(text)
    login = ":".join(quote(fill(each, environment), safe="") for each in (user, password) if each)
    return f"{scheme}://{login}{'@' if login else ''}{host}"


def read_certificates(file: Path) -> bytes:
    """Of a file in PEM. Raises InputError for one that cannot be read or holds none."""
    try:
        raw = file.expanduser().read_bytes()
    except OSError as error:
        raise InputError(
            f"it cannot be read: {error.strerror}", file=str(file), hint="name another --ca-bundle"
        ) from error
    if b"PRIVATE KEY-----" in raw:
        raise InputError(
            "it holds a private key, which is nobody else's business",
            file=str(file),
            hint="name a file with certificates alone",
        )
    try:
        if b"-----BEGIN CERTIFICATE" not in raw:  # of nothing ssl makes the system's own
            raise ValueError("no certificate")
        ssl.create_default_context(cadata=raw.decode("ascii"))
    except (ssl.SSLError, ValueError) as error:
        raise InputError(
            "it holds no certificates in PEM",
            file=str(file),
            hint="`openssl x509 -inform der -in FILE` turns one of the other form into it",
        ) from error
    return raw
