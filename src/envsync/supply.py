"""Brings all files that a lock names to this machine, before any node is asked to build."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from envsync.access import Access
from envsync.depot import fetch_all
from envsync.lock import Section
from envsync.parcels import Parcel, Tell, must_be_files
from envsync.spec import EnvironmentSpec
from envsync.wheels import fetch_wheels


@dataclass(frozen=True)
class Internet:
    """From channels and indexes, by way of a cache."""

    cache: Path
    access: Access = field(default_factory=Access)
    """Of which this machine uses the mirrors; its proxies and certificates are its own."""

    def __call__(self, spec: EnvironmentSpec, section: Section, tell: Tell) -> tuple[Parcel, ...]:
        must_be_files(spec, section)
        way = self.access.way(spec)
        conda = fetch_all(section.conda, way.source, self.cache, tell)
        return (*conda, *fetch_wheels(way, section, self.cache, tell))
