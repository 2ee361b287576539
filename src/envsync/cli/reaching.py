"""Options that say how channels and indexes are reached: mirrors, proxies, certificates."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

ChannelMap = Annotated[
    list[str] | None,
    typer.Option(
        "--channel-map",
        metavar="URL=URL",
        help="Ask the second address in place of the first and all below it; repeatable.",
    ),
]
Proxy = Annotated[
    str | None,
    typer.Option(metavar="URL", help="The proxy for hosts that have none set for themselves."),
]
NoProxy = Annotated[
    str | None,
    typer.Option(
        "--no-proxy", metavar="HOSTS", help="What hosts reach without it, with commas between."
    ),
]
CaBundle = Annotated[
    Path | None,
    typer.Option(
        "--ca-bundle",
        metavar="FILE",
        help="Certificates (PEM) for hosts that have none set for themselves.",
    ),
]
Override = Annotated[
    bool,
    typer.Option(
        "--override-node-settings",
        help="Proxy and certificates for all hosts, whatever is set on them.",
    ),
]


@dataclass(frozen=True)
class Reaching:
    """How hosts reach channels and indexes, in the user's words."""

    channel_map: tuple[str, ...]
    proxy: str
    no_proxy: str
    ca_bundle: Path | None
    override: bool

    @classmethod
    def of(
        cls,
        channel_map: ChannelMap = None,
        proxy: Proxy = None,
        no_proxy: NoProxy = None,
        ca_bundle: CaBundle = None,
        override_node_settings: Override = False,  # noqa: FBT002 (an option, as typer wants it)
    ) -> Reaching:
        """From the options as typer hands them over."""
        return cls(
            tuple(channel_map or ()), proxy or "", no_proxy or "", ca_bundle, override_node_settings
        )
