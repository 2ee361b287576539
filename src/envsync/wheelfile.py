"""Wheels from files in memory: the same bytes for the same files.

A wheel is a zip archive whose last file, RECORD, has a hash of each of the others (Python
Packaging User Guide, "Binary distribution format").
"""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from collections.abc import Mapping

WHEEL = "Wheel-Version: 1.0\nGenerator: envsync\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
"""The file of that name, for a pure Python wheel."""
_THEN = (2024, 1, 1, 0, 0, 0)


def packed(files: Mapping[str, bytes], info: str) -> bytes:
    """The bytes of a wheel; `info` is the name of its `.dist-info` folder."""
    record = "".join(f"{path},sha256={_hash(raw)},{len(raw)}\n" for path, raw in files.items())
    path = f"{info}/RECORD"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, raw in {**files, path: f"{record}{path},,\n".encode()}.items():
            archive.writestr(zipfile.ZipInfo(name, _THEN), raw)
    return buffer.getvalue()


def _hash(raw: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(raw).digest()).decode().rstrip("=")
