"""Waiting for something to happen, and making nodes slow enough for it to be seen."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from cluster.lab import Node


def slow_down(node: Node, seconds: int) -> None:
    """Make every conda start of the node wait first."""
    exe = node.root / "bin" / "conda"
    exe.write_text(exe.read_text().replace("\nexec ", f"\nsleep {seconds}\nexec ", 1))


def wait_until(condition: Callable[[], object], seconds: float = 30) -> None:
    """Return as soon as `condition` holds; fail when it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def processes_below(node: Node) -> list[str]:
    """Command lines that mention the node's home."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = file.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if str(node.root) in line:
            found.append(line)
    return found
