"""The nouns of the program: plain frozen data, no behaviour beyond small derivations."""

from __future__ import annotations

from dataclasses import dataclass

UNKNOWN = "?"
"""What a node could not say, or only the source of a package knows: no difference in itself."""


@dataclass(frozen=True, order=True)
class Host:
    """One line of an inventory. `name` is what the user wrote and what every table shows."""

    name: str
    """As written, without user and port: a DNS name, an alias or an address."""
    user: str = ""
    """Empty: the user running envsync."""
    port: int = 0
    """0: the default, 22."""
    address: str = ""
    """What ssh is told, where that is not `name`: Ansible's `ansible_host`."""

    @property
    def target(self) -> str:
        """What one would write behind `ssh`."""
        return self.address or self.name

    def __str__(self) -> str:
        address = f"[{self.name}]" if ":" in self.name else self.name
        return (
            (f"{self.user}@" if self.user else "")
            + address
            + (f":{self.port}" if self.port else "")
        )


@dataclass(frozen=True, order=True)
class Package:
    """One installed package, from conda or from pip."""

    kind: str
    """`conda` or `pip`."""
    name: str
    version: str
    build: str = ""
    channel: str = ""
    digest: str = ""
    """Hash of the package file, where conda recorded one."""
    origin: str = ""
    """Where pip took it from, if that was no index; `envsync.origin` has the words for it."""

    def __str__(self) -> str:
        return f"{self.version} (pip)" if self.kind == "pip" else f"{self.version} {self.build}"


@dataclass(frozen=True, order=True)
class Platform:
    """What a solver's answer depends on: nodes that are alike in this get the same lock.

    None stands for any, as in a lock that was made elsewhere; an empty text for none there.
    """

    subdir: str
    cuda: str | None = None
    """The virtual package `__cuda`: what the driver can do at most."""
    glibc: str | None = None
    flavour: str | None = None
    """`conda`, `mamba` or `micromamba`."""

    def covers(self, node: Platform) -> bool:
        """Whether what was solved for this platform is meant for `node`, too."""
        return self.subdir == node.subdir and all(
            mine is None or mine == theirs
            for mine, theirs in (
                (self.cuda, node.cuda),
                (self.glibc, node.glibc),
                (self.flavour, node.flavour),
            )
        )

    def __str__(self) -> str:
        parts = [self.subdir]
        parts += [f"CUDA {self.cuda}"] if self.cuda else []
        parts += [f"glibc {self.glibc}"] if self.glibc else []
        return ", ".join([*parts, *([self.flavour] if self.flavour else [])])


@dataclass(frozen=True)
class Notice:
    """Something that was read and is worth knowing, but no error. `line` counts from 1."""

    message: str
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}: " if self.line else f"{self.file}: " if self.file else ""
        return where + self.message
