"""Options of bootstrap: which conda, from where, and to which place on the nodes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from envsync.cli.choices import FlavourName
from envsync.cli.options import FlavourOption, bounded

Installer = Annotated[
    list[Path] | None,
    typer.Option(
        "--installer",
        metavar="FILE",
        help="Use this installer; repeatable, one for each architecture.",
    ),
]
Sha256 = Annotated[
    list[str] | None,
    typer.Option("--sha256", metavar="SUM", help="What the installer must be; repeatable like it."),
]
Mirror = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="URL", help="Fetch from this folder, in place of the publisher's."
    ),
]
Prefix = Annotated[
    str | None,
    typer.Option(
        "--prefix", metavar="PATH", help="Where to on the nodes; by default ~/miniforge3."
    ),
]
Channel = Annotated[
    list[str] | None,
    typer.Option(
        "--channel",
        metavar="CHANNEL",
        help="A channel, or a mirror's address, for its .condarc; repeatable.",
    ),
]
AcceptTerms = Annotated[
    bool, typer.Option("--accept-terms", help="You have accepted Anaconda's terms of service.")
]
Init = Annotated[bool, typer.Option("--init", help="Run `conda init`, which writes to ~/.bashrc.")]
Upgrade = Annotated[
    bool, typer.Option("--upgrade", help="Run a newer installer over what envsync installed.")
]
Remove = Annotated[bool, typer.Option("--remove", help="Remove what envsync installed.")]
ForceRemoval = Annotated[
    bool, typer.Option("--force", help="Remove it with its environments, whoever runs there.")
]
InstallTimeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=1,
        callback=bounded,
        help="Longest time for one host's installation.",
    ),
]


@dataclass(frozen=True)
class Installing:
    """Which conda, from where, and to which place."""

    flavour: FlavourName | None
    installers: tuple[Path, ...]
    sums: tuple[str, ...]
    mirror: str
    prefix: str
    channels: tuple[str, ...]
    accept_terms: bool

    @classmethod
    def of(
        cls,
        flavour: FlavourOption = None,
        installer: Installer = None,
        sha256: Sha256 = None,
        mirror: Mirror = None,
        prefix: Prefix = None,
        channel: Channel = None,
        accept_terms: AcceptTerms = False,  # noqa: FBT002 (an option, as typer wants it)
    ) -> Installing:
        """From the options as typer hands them over."""
        return cls(
            flavour,
            tuple(installer or ()),
            tuple(sha256 or ()),
            mirror or "",
            prefix or "",
            tuple(channel or ()),
            accept_terms,
        )
