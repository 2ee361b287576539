"""The programs that run on a node, as constant texts. Variable parts reach them as `$1`, ..."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def load(name: str) -> str:
    """The text of `name` in this folder, for `envsync.ports.Command.script`."""
    # Not importlib.resources, whose import alone takes 0.015 s: this is never in an archive.
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
