"""conda's records of a prefix, as `scripts/records.sh` sends them; and answers in parts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

_KEY = re.compile(r'^ {2,4}("[a-z0-9_]+": .*?),?$')
_CLAIM = re.compile(r'"([^"]*(?:dist-info/METADATA|egg-info/PKG-INFO|\.egg-info))"')


def split(text: str) -> dict[str, list[str]]:
    """The lines of each `@@` part; `end` carries an exit code."""
    parts: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("@@"):
            title, _, rest = line[2:].partition(" ")
            lines = parts[title] = [rest] if rest else []
        else:
            lines.append(line)
    return parts


def read_records(lines: Iterable[str]) -> dict[str, dict[str, Any]]:
    """By file: the wanted keys of each record, and under `claims` its Python packages."""
    records: dict[str, dict[str, Any]] = {}
    for line in lines:
        file, _, text = line.partition(":")
        record = records.setdefault(file, {"claims": set()})
        if key := _KEY.match(text):
            record |= json.loads("{" + key[1] + "}")
        elif claim := _CLAIM.search(text):
            record["claims"].add(claim[1])
    for file, record in records.items():
        if not {"name", "version"} <= record.keys():
            record.update(_from_name(file))
    return records


def _from_name(file: str) -> dict[str, Any]:
    """What the name of a record tells when the record itself is damaged."""
    name, version, build = [*file.removesuffix(".json").rsplit("-", 2), "", ""][:3]
    return {"name": name, "version": version, "build": f"{build} (damaged record)"}
