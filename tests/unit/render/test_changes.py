"""Closing words: what a person must know when a command ends, however it ends."""

from __future__ import annotations

import io
from collections.abc import Iterable

from rich.console import Console

from envsync.events import Outcome, Phase
from envsync.model import Host
from envsync.render import changes
from envsync.report import HostReport


def fold(hosts: Iterable[Host]) -> str:
    return "+".join(host.name for host in hosts)


def test_interruption_says_which_hosts_are_where() -> None:
    out = Console(file=io.StringIO(), width=160)
    changes.interrupted(
        out,
        [
            HostReport(Host("a"), phase=Phase.SWITCH, outcome=Outcome.INSTALLED),
            HostReport(Host("b"), phase=Phase.SWITCH),
            HostReport(Host("c"), phase=Phase.BUILD),
            HostReport(Host("d")),
        ],
        fold,
        [Host("a"), Host("b")],
    )
    assert out.file.getvalue().splitlines() == [  # type: ignore[attr-defined]
        "Switched before the interruption: a",
        "Decided, but not seen to have switched: b",
        "`envsync resume` completes the switch, and so does a push.",
        "Left as they were: c+d",
    ]
