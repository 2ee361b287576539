"""Where an environment lives on a node, and the commands that build, seal and link one.

    <envs_dir>/.envsync/<name>/<generation>/       a conda prefix; `.sealed` is written last
    <envs_dir>/.envsync/<name>/<generation>.yml    exactly what it was built from
    <envs_dir>/<name> -> .envsync/<name>/<generation>

conda takes the link for a normal environment and does not list the hidden folder.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from envsync import scripts
from envsync.ports import Command

HIDDEN = ".envsync"
QUICK = 60.0
"""Seconds that a step may take which only writes a few bytes."""


def generation_id(*parts: bytes) -> str:
    """The name of what these bytes define: a hash of the bytes, never of a model of them."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()[:12]


def contents(generation: str) -> str:
    """The id of what a generation holds: `0a1b2c.2` is the second repair of `0a1b2c`."""
    return generation.partition(".")[0]


def repair(identity: str, taken: Iterable[str]) -> str:
    """A generation for `identity` that is not taken, since those there were changed by hand.

    A changed prefix is not mended in place: a job may run in it.
    """
    there = set(taken)
    number = next(number for number in itertools.count(1) if f"{identity}.{number}" not in there)
    return f"{identity}.{number}"


@dataclass(frozen=True)
class Slot:
    """One generation's place on one node."""

    envs_dir: str
    name: str
    generation: str

    @property
    def target(self) -> str:
        """What the environment's link says when this generation is current."""
        return f"{HIDDEN}/{self.name}/{self.generation}"

    @property
    def prefix(self) -> str:
        return f"{self.envs_dir}/{self.target}"

    @property
    def link(self) -> str:
        return f"{self.envs_dir}/{self.name}"

    @property
    def file(self) -> str:
        return f"{self.prefix}.yml"

    def put(self, raw: bytes) -> Command:
        """Upload what the generation is built from: mode 0600, whole or not at all."""
        return Command(scripts.load("put.sh"), (self.file, str(len(raw))), stdin=raw, timeout=QUICK)

    def build(self, argv: Sequence[str], timeout: float) -> Command:
        """Fill the prefix with `argv`; answers `built`, or `sealed` when it is there already."""
        return Command(scripts.load("build.sh"), (self.prefix, *argv), timeout=timeout)

    def seal(self, note: str) -> Command:
        """Mark the prefix as whole, and make activated shells stay with this generation."""
        return Command(
            scripts.load("fingerprint.sh") + scripts.load("seal.sh"),
            (self.prefix, note, scripts.load("pin.sh")),
            timeout=QUICK,
        )

    def read(self) -> Command:
        """The bytes that the generation was built from."""
        return Command('cat -- "$1"', (self.file,), timeout=QUICK)

    def discard(self) -> Command:
        return Command(scripts.load("discard.sh"), (self.prefix,), timeout=QUICK * 5)

    def switch(self, expected: str, operator: str) -> Command:
        """Make this generation current, if the link still says `expected` (or is absent).

        `operator` says who does it; it is kept in the node's history.
        """
        return Command(
            scripts.load("link.sh"),
            (self.envs_dir, self.name, self.generation, expected, operator),
            timeout=QUICK,
        )
