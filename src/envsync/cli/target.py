"""Which environment on which hosts a command is about: its words, or the last push."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from envsync.cli.options import Connecting
from envsync.generations import generation_id
from envsync.inventory import read_inventory
from envsync.model import Host, Notice
from envsync.spec import EnvironmentSpec, parse_environment, read_environment
from envsync.store import Store


@dataclass(frozen=True)
class Target:
    """Which environment to look at, on which hosts, and what it should be."""

    hosts: Sequence[Host]
    name: str
    spec: EnvironmentSpec | None
    """None when only a name is known: then the nodes are just compared."""
    generation: str | None
    connecting: Connecting
    notices: Sequence[Notice]


def find_target(hosts: str | None, file: Path, name: str | None, connecting: Connecting) -> Target:
    """From the words given, or from what the last push from this folder left."""
    if hosts is not None:
        return _named(hosts, file, name, connecting)
    last = Store(file.parent).last_push()
    spec = parse_environment(last.raw, last.source, last.name)
    notices = []
    if file.exists() and file.read_bytes() != last.raw:
        notices.append(
            Notice("changed since the last push; comparing with what was pushed", str(file))
        )
    return Target(
        last.hosts,
        name or last.name,
        spec if name in (None, last.name) else None,
        last.generation if name in (None, last.name) else None,
        connecting.or_remembered(dict(last.connection)),
        notices,
    )


def _named(hosts: str, file: Path, name: str | None, connecting: Connecting) -> Target:
    inventory = read_inventory(hosts, sys.stdin)
    if name is not None and not file.exists():
        return Target(inventory.hosts, name, None, None, connecting, inventory.warnings)
    spec = read_environment(file, name)
    return Target(
        inventory.hosts,
        spec.name,
        spec,
        generation_id(spec.raw),
        connecting,
        (*inventory.warnings, *spec.notices),
    )
