"""Makes the pictures of README.md from a real run: the demo's cluster, a real terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from envsync.demo.cluster import by_hand, running

COLUMNS = 100
IMAGES = Path("docs/images")


def main() -> int:
    with (
        tempfile.TemporaryDirectory(prefix="envsync-pictures-") as base,
        running(Path(base)) as cluster,
    ):
        push = _in_terminal(cluster.folder, "push", "hosts.txt", "-F", "ssh_config")
        by_hand(cluster, "node2", "pip", "install", "numpy==2.1.0")
        verify = _in_terminal(cluster.folder, "verify")
        diff = _in_terminal(cluster.folder, "diff", "node1", "node2")
    IMAGES.mkdir(parents=True, exist_ok=True)
    _picture("push", push)
    _picture("diff", verify + "\n" + diff)
    return 0


def _in_terminal(folder: Path, *words: str) -> str:
    """What a person sees in the end; the progress that was there meanwhile is gone by then."""
    leader, follower = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
    env.pop("NO_COLOR", None)
    with subprocess.Popen(
        [sys.executable, "-m", "envsync", *words],
        cwd=folder,
        stdin=follower,
        stdout=follower,
        stderr=subprocess.DEVNULL,
        env=env,
    ) as process:
        os.close(follower)
        shown = bytearray()
        try:
            while data := os.read(leader, 65536):
                shown += data
        except OSError:  # Linux says EIO when the last writer is gone
            pass
        process.wait()
    os.close(leader)
    return f"\x1b[1;32m$\x1b[0m \x1b[1menvsync {' '.join(words)}\x1b[0m\n" + shown.decode()


def _picture(name: str, ansi: str) -> None:
    console = Console(record=True, width=COLUMNS, file=open(os.devnull, "w"))  # noqa: SIM115, PTH123
    console.print(Text.from_ansi(ansi.replace("\r\n", "\n")))
    svg = console.export_svg(title="envsync", unique_id=f"envsync-{name}")
    # No web font: the picture must not ask another server for anything.
    svg = re.sub(r"@font-face \{.*?\}\n", "", svg, flags=re.DOTALL)
    (IMAGES / f"{name}.svg").write_text(re.sub(r"[ \t]+\n", "\n", svg))


if __name__ == "__main__":
    sys.exit(main())
