"""One thing that an environment file asks for, from conda or from pip."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as Pep508

_REMOTE = re.compile(r"(?i)(?!(?:\w+\+)?file:)[a-z][a-z0-9+.-]*://")
_LOCAL = re.compile(r"(?i)[./~\\]|(?:\w+\+)?file:|[a-z]:[\\/]")
"""How paths begin; on Windows as well, where many of these files are written."""


@dataclass(frozen=True)
class Reference:
    """A file or a folder of this machine, of which a pip section speaks."""

    kind: str
    """`requirements`, `constraints`, `package` (a file, or a folder of sources) or `links`."""
    path: str
    before: str = ""
    """The entry's text in front of the path, and behind it."""
    after: str = ""
    foreign: bool = False
    """A node cannot take the text as it is: the path is absolute, or a `file:` address."""
    digest: str = ""
    """What an address says of the contents: `sha256:HEX`."""

    def at(self, path: str) -> str:
        """The entry's text for another path."""
        return f"{self.before}{shlex.quote(path) if self.before else path}{self.after}"


@dataclass(frozen=True)
class Requirement:
    """One entry of `dependencies` or of its pip section."""

    text: str
    name: str
    """Lower case; canonical for pip. Empty for a pip option or a URL that names no package."""
    line: int
    pinned: bool = False
    """It asks for a version, a build, or one very file."""
    version: str = ""
    """What is asked of the version, in conda's or pip's own words (`>=2.1,<3`, `==2.5.1+cu124`)."""
    build: str = ""
    """What conda is asked of the build string, with stars as written."""
    channel: str = ""
    """The channel that conda is told to take this one package from."""
    subdir: str = ""
    """The platform that conda is told to take it for (`win-64`)."""
    refers: tuple[Reference, ...] = ()
    """What has to be sent along."""
    file: str = ""
    """The requirements file in which it stands; empty for the environment file itself."""


def is_remote(text: str) -> bool:
    """Whether it begins as an address that every node can reach by itself."""
    return bool(_REMOTE.match(text))


def is_path(text: str) -> bool:
    """Whether it begins as a path: no node can be trusted to have what is there."""
    return bool(_LOCAL.match(text))


def is_package_url(text: str) -> bool:
    """Whether a conda dependency is the address of one package file."""
    return is_remote(text) and "::" not in text


def pep508(text: str) -> Pep508 | None:
    """The requirement in a line of a pip section; None for options and for bare URLs."""
    try:
        return Pep508(re.split(r"\s+--", text)[0])
    except InvalidRequirement:
        return None
