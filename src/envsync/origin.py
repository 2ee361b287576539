"""Where pip took a package from, in words that are the same on every node (PEP 610)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, unquote

from envsync.model import UNKNOWN
from envsync.redact import bare

_SENT = re.compile(r"/\.envsync/[^/]+/[^/]+\.files(?:/|$)(.*)")
"""What came along with a push lies beside its generation, wherever that is on a node."""


def recorded(record: Mapping[str, Any]) -> str:
    """From a direct_url.json; empty for a package of an index, which has none."""
    url = bare(str(record.get("url") or ""))
    if not url:
        return ""
    part = f"#subdirectory={record['subdirectory']}" if record.get("subdirectory") else ""
    folder, vcs = record.get("dir_info"), record.get("vcs_info")
    if isinstance(vcs, Mapping):
        return f"{vcs.get('vcs')}+{url}@{vcs.get('commit_id')}{part}"
    sent = _SENT.search(unquote(url))
    if not isinstance(folder, Mapping):
        return _sent(sent[1]) if sent else url + part
    place = "what was sent along" if sent else unquote(url.removeprefix("file://"))
    return f"{place} (editable)" if folder.get("editable") else place


def locked(line: str) -> str:
    """From a locked requirement; UNKNOWN where it leaves open which commit is meant."""
    _, at, rest = line.partition(" @ ")
    if not at:
        return ""
    address, _, options = rest.partition(" ")
    url, _, fragment = address.partition("#")
    words = {key: values[-1] for key, values in parse_qs(fragment).items()}
    if re.match(r"file:\.{1,2}/", url):
        if options:
            return _sent(unquote(url))
        editable = "editable" in fragment.split("&")
        return "what was sent along" + (" (editable)" if editable else "")
    part = f"#subdirectory={words['subdirectory']}" if "subdirectory" in words else ""
    if "+" in url.partition("://")[0] and not re.search(r"@[0-9a-f]{40}$", url):
        return UNKNOWN
    return bare(url) + part


def _sent(path: str) -> str:
    """An archive that was sent along: its name, since folders depend on where it was sent from."""
    return f"{path.rpartition('/')[2]}, which was sent along"
