"""Where text goes: people's to standard output, or to standard error when that is for JSON."""

from __future__ import annotations

import os

from rich.console import Console

WIDTH_WITHOUT_TERMINAL = 160
"""Columns for a log file: wide enough that no table is broken."""


def console(*, stderr: bool = False) -> Console:
    """A console that is plain where the output is no terminal, and honours NO_COLOR."""
    found = Console(stderr=stderr, highlight=False, soft_wrap=False)
    if not found.is_terminal and "COLUMNS" not in os.environ:
        found.width = WIDTH_WITHOUT_TERMINAL
    return found
