"""Brings all files that a lock names to this machine, before any node is asked to build."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from envsync.depot import fetch_all
from envsync.lock import Section
from envsync.parcels import Parcel, Tell, must_be_files
from envsync.recipe import addresses
from envsync.spec import EnvironmentSpec
from envsync.wheels import fetch_wheels


@dataclass(frozen=True)
class Internet:
    """From channels and indexes, by way of a cache."""

    cache: Path

    def __call__(self, spec: EnvironmentSpec, section: Section, tell: Tell) -> tuple[Parcel, ...]:
        must_be_files(spec, section)
        conda = fetch_all(section.conda, addresses(spec), self.cache, tell)
        return (*conda, *fetch_wheels(spec, section, self.cache, tell))
