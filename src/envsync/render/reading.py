"""What is said of a file that was read; apart from `screens`, which imports far more than lint."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from envsync.lint import Finding
from envsync.model import Notice


def notices(to: Console, found: Iterable[Notice]) -> None:
    """What was read and is worth knowing, one line each."""
    for each in found:
        to.print(Text.assemble(("note: ", "yellow"), str(each)))


def linted(to: Console, found: Sequence[Finding], source: str) -> None:
    styles = {"error": "red", "warning": "yellow", "info": "cyan"}
    for each in found:
        where = f"{each.file}:{each.line}: " if each.line else f"{each.file}: "
        to.print(
            Text.assemble(where, (f"{each.level} {each.code} ", styles[each.level]), each.message)
        )
        to.print(Text(f"    {each.hint}", "dim"))
    if not found:
        to.print(Text(f"{source}: nothing to complain about.", "bold green"))
