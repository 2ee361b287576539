"""What is going on right now, one line a busy host; only where there is a terminal."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from envsync.events import Event, Failed
from envsync.model import Host
from envsync.report import HostReport, apply

_REFRESH = 4
"""Times a second."""


class LiveView:
    """A sink for events that redraws itself; silent when the console is no terminal."""

    def __init__(self, hosts: Sequence[Host], labels: Mapping[Host, str], to: Console) -> None:
        self._reports = {host: HostReport(host) for host in hosts}
        self._labels = labels
        self._since = dict.fromkeys(hosts, time.monotonic())
        self._console = to
        self._live = Live(
            console=to,
            get_renderable=self._draw,
            refresh_per_second=_REFRESH,
            transient=True,
        )

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start(refresh=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def anew(self) -> None:
        """Forget what has happened: the hosts are gone through once more."""
        self._reports = {host: HostReport(host) for host in self._reports}
        self._since = dict.fromkeys(self._reports, time.monotonic())

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the terminal alone, for a question that the user is to answer."""
        if not self._live.is_started:
            yield
            return
        self._live.stop()
        try:
            yield
        finally:
            self._live.start(refresh=True)

    def __call__(self, event: Event) -> None:
        before = self._reports[event.host]
        after = apply(before, event)
        if after.phase is not before.phase:
            self._since[event.host] = time.monotonic()
        self._reports[event.host] = after
        if isinstance(event, Failed) and self._console.is_terminal:
            # Not only in the end: an hour of building may lie before it.
            where = Text(f"{self._labels[event.host]} failed: ", "red")
            self._live.console.print(where.append(event.message, "default"))

    def _draw(self) -> RenderableType:
        # The event loop may be in the middle of an update: look at one snapshot.
        reports = list(self._reports.values())
        busy = [report for report in reports if report.phase and not report.over]
        busy.sort(key=lambda report: self._since[report.host])
        room = max(3, self._console.height - 4)
        grid = Table.grid(padding=(0, 2))
        for report in busy[:room]:
            elapsed = time.monotonic() - self._since[report.host]
            grid.add_row(
                Text(self._labels[report.host], "bold"),
                Text(report.phase or "", "cyan"),
                Text(f"{elapsed:.0f} s", "dim"),
                Text(report.line, "dim", no_wrap=True, overflow="ellipsis"),
            )
        return Group(grid, self._summary(reports, len(busy) - room))

    def _summary(self, reports: Sequence[HostReport], hidden: int) -> Text:
        failed = sum(report.failure is not None for report in reports)
        done = sum(report.outcome is not None for report in reports)
        text = Text(f"{done} of {len(reports)} done", "bold")
        if failed:
            text.append(f", {failed} failed", "bold red")
        if hidden > 0:
            text.append(f", {hidden} more at work", "dim")
        return text
