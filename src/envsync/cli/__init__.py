"""The command line: reads words, calls the verbs, prints what they found."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from envsync.cli.app import app
from envsync.cli.boundary import guarded


def run(argv: Sequence[str]) -> int:
    """Run one command; never raises for anything a user can cause."""
    return guarded(app, list(argv), sys.stdout)
