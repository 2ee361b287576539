"""Where an environment lives on a node, and the commands that build, seal and link one.

    <envs_dir>/.envsync/<name>/<generation>/       a conda prefix; `.sealed` is written last
    <envs_dir>/.envsync/<name>/<generation>.yml    the environment file it came from
    <envs_dir>/.envsync/<name>/<generation>.lock   exactly what was installed
    <envs_dir>/<name> -> .envsync/<name>/<generation>

conda takes the link for a normal environment and does not list the hidden folder.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from envsync import scripts
from envsync.loan import NOTHING, Loan
from envsync.ports import Command

HIDDEN = ".envsync"
PLAIN = "plain"
"""Instead of where the link points: there is no link, but an environment."""
ADOPTED = "adopted"
"""The id of an environment that was there before envsync, renamed aside."""
SOLVING = "solving"
"""The place in which a canary solves; never sealed."""
FROZEN = (
    "envsync made this environment: it is the same on every node. Change environment.yml and"
    " run `envsync push` instead."
)
"""What conda says to whoever wants to change a generation in place (CEP 22)."""
QUICK = 60.0
"""Seconds that a step may take which only writes a few bytes."""

_BUILD = ("as_pip.sh", "lend.sh", "recall.sh", "mend.sh", "build.sh")

SLOW = 500_000
"""Bytes a second that an upload may be as slow as."""


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

    def file(self, suffix: str) -> str:
        """A file beside the prefix, with something that the generation was made from."""
        return f"{self.prefix}.{suffix}"

    def folder(self, path: str) -> str:
        """A folder among the files that were sent along; they stay as long as the prefix."""
        return f"{self.prefix}.files/{path}"

    def put(self, files: Mapping[str, bytes]) -> Command:
        """Upload what the generation is built from, by suffix: mode 0600, each whole."""
        sizes = (word for suffix, raw in files.items() for word in (suffix, str(len(raw))))
        return Command(
            scripts.load("beside.sh") + scripts.load("put.sh"),
            (self.prefix, *sizes),
            stdin=b"".join(files.values()),
            timeout=QUICK + sum(map(len, files.values())) / SLOW,
        )

    def build(
        self,
        argv: Sequence[str],
        timeout: float,
        folder: str = "",
        *,
        offline: bool = False,
        loan: Loan = NOTHING,
    ) -> Command:
        """Fill the prefix with `argv` and with what was put beside it.

        `folder` is where relative paths of pip's requirements begin, if there are any. With
        `offline` pip keeps to what its requirements say, whatever the node has set for it. What
        is on record at the end names no mirror of the `loan`.
        Answers `built`, or `sealed` when it is there already.
        """
        return Command(
            "".join(map(scripts.load, _BUILD)),
            (
                self.prefix,
                scripts.load("as_job.sh"),
                folder,
                "offline" if offline else "",
                *loan.args,
                *argv,
            ),
            timeout=timeout,
        )

    def strip(self, secrets: Sequence[str] = ()) -> Command:
        """Take credentials out of the addresses that conda has on record in the prefix.

        `secrets` are the paths of more files to take them out of.
        """
        return Command(scripts.load("strip.sh"), (self.prefix, *secrets), timeout=QUICK)

    def seal(self, note: str) -> Command:
        """Mark the prefix as whole, and make activated shells stay with this generation."""
        return Command(
            scripts.load("fingerprint.sh") + scripts.load("seal.sh"),
            (self.prefix, note, scripts.load("pin.sh"), json.dumps({"message": FROZEN})),
            timeout=QUICK,
        )

    def read(self, suffix: str) -> Command:
        """The bytes of a file beside the prefix; none where there is no such file."""
        return Command('[ ! -e "$1" ] || cat -- "$1"', (self.file(suffix),), timeout=QUICK)

    def discard(self) -> Command:
        script = scripts.load("beside.sh") + scripts.load("discard.sh")
        return Command(script, (self.prefix,), timeout=QUICK * 5)

    def switch(self, expected: str, operator: str) -> Command:
        """Make this generation current, if the link still says `expected` (or is absent).

        With PLAIN an environment that envsync did not make is renamed aside first.
        `operator` says who does it; it is kept in the node's history.
        """
        return Command(
            scripts.load("fingerprint.sh") + scripts.load("link.sh"),
            (self.envs_dir, self.name, self.generation, expected, operator),
            timeout=QUICK,
        )
