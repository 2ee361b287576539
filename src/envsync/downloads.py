"""What all downloads of this machine have in common: the cache, the way out, and sums of files."""

from __future__ import annotations

import base64
import functools
import hashlib
import os
import ssl
import urllib.request
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path
from typing import IO
from urllib.parse import unquote

PATIENCE = 60.0
"""Seconds that a server may be silent."""
PIECE = 1 << 20
"""Bytes that are read at a time."""


def cache_folder(kind: str) -> Path:
    """Where fetched files of a kind stay, for the next time (XDG Base Directory Specification)."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(base) if base.startswith("/") else Path("~/.cache").expanduser()
    return root / "envsync" / kind


@dataclass(frozen=True)
class Sums:
    """What a file is."""

    md5: str
    sha256: str
    size: int
    """Bytes."""


def sums_of(file: Path) -> Sums:
    with file.open("rb") as stream:
        return sums_in(stream)


def sums_in(stream: IO[bytes]) -> Sums:
    """Of all that is still to be read there."""
    md5, sha256, size = hashlib.md5(usedforsecurity=False), hashlib.sha256(), 0
    while data := stream.read(PIECE):
        md5.update(data)
        sha256.update(data)
        size += len(data)
    return Sums(md5.hexdigest(), sha256.hexdigest(), size)


def opened(url: str, start: int = 0) -> HTTPResponse:
    """The answer for what lies there, from a byte on. Proxies are those of the environment."""
    scheme, _, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    login, at, host = authority.rpartition("@")
    request = urllib.request.Request(f"{scheme}://{host}{slash}{path}")  # noqa: S310 (a lock's)
    request.add_header("User-Agent", "envsync")
    if at:
        word = base64.b64encode(unquote(login).encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {word}")
    if start and scheme in {"http", "https"}:
        request.add_header("Range", f"bytes={start}-")
    # A scheme that urllib does not know is an error of its own.
    return urllib.request.urlopen(request, timeout=PATIENCE, context=_trust())  # type: ignore[no-any-return]  # noqa: S310


@functools.cache
def _trust() -> ssl.SSLContext:
    """The system's certificates, and those of the variables that other tools go by."""
    context = ssl.create_default_context()
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT"):
        if (bundle := os.environ.get(name)) and Path(bundle).exists():
            folder = Path(bundle).is_dir()
            context.load_verify_locations(
                cafile=None if folder else bundle, capath=bundle if folder else None
            )
    return context
