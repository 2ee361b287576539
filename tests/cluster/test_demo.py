"""The demo, whole: it ends well, says what it did, and leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from cluster.lab import ENVSYNC


def test_demo_does_the_whole_job(tmp_path: Path) -> None:
    started = time.monotonic()
    done = subprocess.run(
        [*ENVSYNC, "demo"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert "of 3 nodes 1 drifted" in done.stdout
    assert "numpy" in done.stdout
    assert done.stdout.rstrip().endswith("s.")
    assert time.monotonic() - started < 90
    assert list(tmp_path.iterdir()) == []
