"""A report of verify as an SVG picture: the tables that a terminal shows."""

from __future__ import annotations

import io
import re

from rich.console import Console
from rich.text import Text

from envsync.hostnames import fold_names
from envsync.render.digest import FACTS, Digest, legible
from envsync.render.table import make

WIDTH = 140
MOST_ROWS = 40
"""Differences and links that are shown; a picture has no scroll bar."""
_COLOURS = {"in sync": "green", "warned": "yellow"}


def picture(digest: Digest) -> str:
    """Nodes in groups of equals, and what differs; no font is fetched for it."""
    console = Console(record=True, file=io.StringIO(), width=WIDTH, force_terminal=True)
    nodes = make("nodes", "result", *FACTS, "packages")
    alike: dict[tuple[str, ...], list[str]] = {}
    for line in digest.lines:
        alike.setdefault((line.state, *line.facts), []).append(line.host)
    for (state, *cells), hosts in alike.items():
        style = _COLOURS.get(state, "red")
        nodes.add_row(Text(fold_names(hosts)), Text(state, style), *map(Text, cells))
    console.print(nodes)
    if digest.measures:
        links = make("node", "rank", "latency", "bandwidth")
        for host, measured in list(digest.measures.items())[:MOST_ROWS]:
            links.add_row(Text(host), *map(Text, measured))
        console.print(links)
    for said in digest.checks:
        console.print(Text(said))
    if digest.differences:
        table = make("group", "name", "on most nodes", "elsewhere")
        for row in digest.differences[:MOST_ROWS]:
            usual = row.majority
            others = [f"{value} on {hosts}" for value, hosts in row.shares if value != usual]
            table.add_row(*map(Text, (row.group, row.name, usual, "; ".join(others))))
        console.print(table)
    style = "bold green" if digest.passed else "bold red"
    console.print(Text(digest.headline, style))
    svg = console.export_svg(title="envsync verify", unique_id="envsync")
    return legible(re.sub(r"@font-face \{.*?\}\n", "", svg, flags=re.DOTALL))
