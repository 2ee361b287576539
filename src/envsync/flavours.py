"""conda, mamba and micromamba: what to call for the same effect. Data, not subclasses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True)
class Conda:
    """A package manager as found on a node."""

    exe: str
    """Absolute path; a non-interactive shell often has no conda on its PATH."""
    root_prefix: str
    version: str = ""
    """Empty when it could not be read without starting it."""
    found_by: str = ""

    @property
    def flavour(self) -> str:
        """`conda`, `mamba` or `micromamba`."""
        return PurePosixPath(self.exe).name

    def __str__(self) -> str:
        return f"{self.flavour} {self.version}".rstrip()

    def create(self, prefix: str, file: str) -> tuple[str, ...]:
        """The argv that makes an environment at `prefix`, which must not exist, from `file`.

        conda 26.7 and later, and mamba, delete an existing prefix without asking.
        """
        if self.flavour == "micromamba":
            return (
                self.exe, "create", "--yes", "--root-prefix", self.root_prefix,
                "--prefix", prefix, "--file", file,
            )  # fmt: skip
        return (self.exe, "env", "create", "--prefix", prefix, "--file", file)

    def install(self, prefix: str, explicit: str, *, offline: bool = False) -> tuple[str, ...]:
        """The argv that makes an environment at `prefix` of just what the explicit list has.

        With `offline` of what the package caches hold.
        """
        alone = ("--offline",) if offline else ()
        if self.flavour == "micromamba":
            return (*self.create(prefix, explicit), *alone)
        # Else `create_default_packages` of a .condarc would come on top.
        plain = ("--no-default-packages",) if self.flavour == "conda" else ()
        made = (self.exe, "create", "--yes", *plain, *alone)
        return (*made, "--prefix", prefix, "--file", explicit)

    def information(self) -> tuple[str, ...]:
        """The argv that prints as JSON, among other things, which package caches there are."""
        root = ("--root-prefix", self.root_prefix) if self.flavour == "micromamba" else ()
        return (self.exe, "info", *root, "--json")

    def clean(self) -> tuple[str, ...]:
        """The argv that drops packages from the cache which no environment uses."""
        root = ("--root-prefix", self.root_prefix) if self.flavour == "micromamba" else ()
        return (self.exe, "clean", "--yes", *root, "--packages", "--tarballs")
