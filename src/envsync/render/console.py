"""Where text goes: people's to standard output, or to standard error when that is for JSON."""

from __future__ import annotations

import os
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from envsync.redact import harmless

WIDTH_WITHOUT_TERMINAL = 160
"""Columns for a log file: wide enough that no table is broken."""


class TextConsole(Console):
    """A console on which nothing that a node or a file says can be an order to the terminal."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """As rich does it, whose own orders are no text."""
        for segment in super().render(renderable, options):
            if segment.control is not None or segment.text.isprintable():
                yield segment
            else:
                yield Segment(harmless(segment.text), segment.style)


def console(*, stderr: bool = False) -> Console:
    """A console that is plain where the output is no terminal, and honours NO_COLOR."""
    found = TextConsole(stderr=stderr, highlight=False, soft_wrap=False)
    if not found.is_terminal and "COLUMNS" not in os.environ:
        found.width = WIDTH_WITHOUT_TERMINAL
    return found
