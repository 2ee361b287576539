"""Secrets that only the user knows: asked for on the terminal, never an argument or a variable."""

from __future__ import annotations

import contextlib
import getpass
import os
import sys
import termios
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from envsync.errors import InputError


class Questions:
    """Asks one thing at a time, whichever thread wants to know."""

    def __init__(self, paused: Callable[[], AbstractContextManager[None]]) -> None:
        """`paused` keeps others from writing to the terminal meanwhile."""
        self._paused = paused
        self._lock = threading.Lock()
        self._before: list[Any] | None = None

    def ask(self, question: str) -> str | None:
        """The answer; None where there is no terminal, or nothing was said."""
        with self._lock, self._paused():
            try:
                terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
            except OSError:
                return None
            try:
                self._before = termios.tcgetattr(terminal)
                return getpass.getpass(question) or None
            except (EOFError, OSError, termios.error):
                return None
            finally:
                self._before = None
                os.close(terminal)

    def close(self) -> None:
        """Give the terminal its echo back when an interruption cuts a question short."""
        if self._before is not None:
            with contextlib.suppress(OSError, termios.error), open("/dev/tty") as terminal:  # noqa: PTH123
                termios.tcsetattr(terminal, termios.TCSADRAIN, self._before)


def password() -> str:
    """The password of --ask-pass: from the terminal, or the first line of standard input.

    Raises InputError where there is none.
    """
    if sys.stdin is not None and sys.stdin.isatty():
        with contextlib.suppress(EOFError):
            if answer := getpass.getpass("Password for all hosts: "):
                return answer
    elif sys.stdin is not None and (answer := sys.stdin.readline().rstrip("\r\n")):
        return answer
    raise InputError(
        "--ask-pass got no password",
        hint="type it, or give it as the first line of standard input (and the hosts in a file)",
    )
