"""Nothing that a node says is an order to the terminal."""

from __future__ import annotations

import io
from typing import Literal

import pytest
from rich.table import Table
from rich.text import Text

from envsync.render.console import TextConsole

EVIL = "\x1b[31mred\x1b]0;title\x07 \x9b2J\x7f\x08\rtorch\tend"


@pytest.mark.parametrize("colours", ["standard", None])
def test_orders_in_text_are_left_out(colours: Literal["standard"] | None) -> None:
    out = io.StringIO()
    to = TextConsole(file=out, color_system=colours, width=60, highlight=False)
    table = Table("what", box=None)
    table.add_row(Text(EVIL, "bold red"))
    to.print(table)
    to.print(Text(EVIL))
    to.print(EVIL, markup=False)
    for word in ("[31m" + "red", "]0;title", "torch"):
        assert out.getvalue().count(word) == 3
    for order in ("\x1b[31mred", "\x1b]", "\x07", "\x9b", "\x7f", "\x08", "\r"):
        assert order not in out.getvalue()


def test_own_colours_and_moves_stay() -> None:
    out = io.StringIO()
    to = TextConsole(file=out, force_terminal=True, color_system="standard")
    to.print(Text("bad", "bold red"))
    to.show_cursor(show=False)
    assert out.getvalue() == "\x1b[1;31mbad\x1b[0m\n\x1b[?25l"
