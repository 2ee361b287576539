"""The programs that run on a node, as constant texts. Variable parts reach them as `$1`, ..."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def load(name: str) -> str:
    """The text of `name` in this folder, for `envsync.ports.Command.script`."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
