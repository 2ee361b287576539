"""Installers of conda and micromamba: who publishes them, what a file says of itself. Pure.

Miniforge and Miniconda are shell scripts that constructor makes: their first lines hold `NAME`,
`VER` and `PLAT`, and they take `-b` (ask nothing), `-p PREFIX` and `-u` (conda/constructor,
header.sh). micromamba is a program by itself, without anything to install.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import yaml

from envsync.errors import InputError
from envsync.observation import SUBDIRS
from envsync.redact import bare, redact

HEAD = 4096
"""Bytes at the beginning of an installer that say what it is."""
TERMS = "https://www.anaconda.com/legal"
_SUM = re.compile(r"\b[0-9a-fA-F]{64}\b")
_SYSTEMS = {"Linux": "Linux", "Darwin": "MacOSX"}
# e_machine of an ELF header (System V ABI), and conda's names for it
_MACHINES = {62: "linux-64", 183: "linux-aarch64", 21: "linux-ppc64le"}


class Flavour(StrEnum):
    """Which of them."""

    MINIFORGE = "miniforge"
    MINICONDA = "miniconda"
    MICROMAMBA = "micromamba"


@dataclass(frozen=True)
class Installer:
    """A file on this machine that was checked."""

    path: Path
    flavour: Flavour
    subdir: str
    label: str
    """Name and version, for people."""
    sha256: str
    size: int
    """Bytes."""

    @property
    def kind(self) -> str:
        """How a node runs it: `shell` with `-b -p`, or the `program` itself."""
        return "program" if self.flavour is Flavour.MICROMAMBA else "shell"


@dataclass(frozen=True)
class Publisher:
    """Where a flavour comes from, always its newest release."""

    folder: str
    """Address of the folder with the files."""
    pattern: str
    """Name of a file; `{system}` and `{machine}` are those of uname, `{subdir}` is conda's."""
    sums: str
    """Where the sha256 stands: in a file of the same name and this ending, or, when it is
    empty, in the table that the folder itself is."""
    prefix: str
    """Where it goes by default; envsync looks there for a conda (observe.sh)."""

    def file(self, subdir: str) -> str:
        """The name of the file for a platform. Raises InputError for one without."""
        for (system, machine), name in SUBDIRS.items():
            if name == subdir:
                return self.pattern.format(system=_SYSTEMS[system], machine=machine, subdir=subdir)
        raise InputError(f"nobody publishes an installer for {subdir or 'this system'}")


PUBLISHERS: Mapping[Flavour, Publisher] = {
    Flavour.MINIFORGE: Publisher(
        "https://github.com/conda-forge/miniforge/releases/latest/download",
        "Miniforge3-{system}-{machine}.sh",
        ".sha256",
        "~/miniforge3",
    ),
    Flavour.MINICONDA: Publisher(
        "https://repo.anaconda.com/miniconda",
        "Miniconda3-latest-{system}-{machine}.sh",
        "",
        "~/miniconda3",
    ),
    # The .sha256 beside it is that of the bare program, not of the archives
    # (mamba-org/micromamba-releases, issue 37).
    Flavour.MICROMAMBA: Publisher(
        "https://github.com/mamba-org/micromamba-releases/releases/latest/download",
        "micromamba-{subdir}",
        ".sha256",
        "~/micromamba",
    ),
}


def published_sum(text: str, name: str, *, table: bool) -> str:
    """The sha256 of file `name` in what its publisher says; empty when it is not there.

    A `table` is a web page with a row for each file; else it is the output of sha256sum.
    """
    if not table:
        found = _SUM.search(text)
        return found[0].lower() if found else ""
    for row in re.split(r"(?i)<tr\b", text):
        if re.search(rf"[\s>\"'/]{re.escape(name)}[\s<\"']", row) and (found := _SUM.search(row)):
            return found[0].lower()
    return ""


def is_sum(text: str) -> bool:
    return _SUM.fullmatch(text) is not None


def identify(path: Path, head: bytes, sha256: str, size: int) -> Installer:
    """What the file is, by its first bytes. Raises InputError."""
    if head.startswith(b"\x7fELF"):
        subdir = _MACHINES.get(int.from_bytes(head[18:20], "little"), "")
        if not subdir:
            raise InputError(
                "it is a program for a machine that conda does not know", file=str(path)
            )
        return Installer(path, Flavour.MICROMAMBA, subdir, "micromamba", sha256, size)
    if head[:4] in {b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"}:
        subdir = "osx-arm64" if head[4:8] == b"\x0c\x00\x00\x01" else "osx-64"
        return Installer(path, Flavour.MICROMAMBA, subdir, "micromamba", sha256, size)
    fields = dict(re.findall(r"(?m)^# ?(NAME|VER|PLAT): +(\S+)", head.decode("utf-8", "replace")))
    if not head.startswith(b"#!") or not {"NAME", "PLAT"} <= fields.keys():
        raise InputError(
            "it is no installer: its first lines do not say NAME and PLAT",
            file=str(path),
            hint="name a Miniforge3-*.sh or Miniconda3-*.sh as it was published, or a micromamba"
            " that is not packed",
        )
    # Anaconda's are the ones whose use is bound to its terms.
    anaconda = fields["NAME"].lower().startswith(("miniconda", "anaconda"))
    return Installer(
        path,
        Flavour.MINICONDA if anaconda else Flavour.MINIFORGE,
        fields["PLAT"],
        f"{fields['NAME']} {fields.get('VER', '')}".rstrip(),
        sha256,
        size,
    )


def consented(flavour: Flavour, *, accepted: bool) -> None:
    """Raises InputError where somebody would agree to terms in the user's place."""
    if flavour is Flavour.MINICONDA and not accepted:
        raise InputError(
            "Miniconda is for those who accept Anaconda's terms of service: that is yours to do",
            hint=f"read them ({TERMS}), then say --accept-terms; Miniforge, the default, asks none",
        )


def condarc(text: str, channels: Sequence[str]) -> str:
    """The settings of a new installation: its own, and ours. Raises ValueError.

    Without `channels` those that the installer has set stay.
    """
    try:
        found: Any = yaml.safe_load(text) if text.strip() else {}
        settings = {**found, "auto_activate_base": False}
    except (yaml.YAMLError, TypeError, RecursionError) as error:
        raise ValueError("the .condarc that the installer made cannot be read") from error
    if channels:
        settings["channels"] = list(channels)
    return yaml.safe_dump(settings, sort_keys=False)


def check_channels(channels: Sequence[str]) -> None:
    """Raises InputError for what may not stand in a file that everybody may read."""
    for each in channels:
        if bare(each) != each:
            raise InputError(
                f"--channel: {redact(each)} has a credential, which a .condarc shows to everybody",
                hint="name the channel without it; a login for it is the user's (`conda auth`)",
            )
        if not each.strip() or any(ord(character) < ord(" ") for character in each):
            raise InputError(f"--channel: {each!r} is no channel", hint="a name, or an address")


def check_prefix(prefix: str) -> None:
    """Raises InputError for a prefix that no installer can do with."""
    path = prefix.removeprefix("~")
    odd = any(character.isspace() or ord(character) < ord(" ") for character in prefix)
    parts = path.strip("/").split("/")
    if (
        odd
        or not path.startswith("/")
        or not path.strip("/")
        or not {"", ".", ".."}.isdisjoint(parts)
    ):
        raise InputError(
            f"--prefix: {prefix!r} is no place for a conda",
            hint="a whole path without blanks, such as ~/conda or /scratch/you/miniforge3",
        )
