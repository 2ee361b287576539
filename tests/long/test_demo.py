"""The demo, whole: it ends well, says what it did, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

from cluster.lab import ENVSYNC


def test_demo_does_the_whole_job(tmp_path: Path) -> None:
    started = time.monotonic()
    folder = tmp_path / "a folder's name"
    folder.mkdir()
    done = subprocess.run(
        [*ENVSYNC, "demo", "--json"],
        env={**os.environ, "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(done.stdout)["result"]
    assert [step["exit_code"] for step in result["steps"]] == [0, 0, 1, 1, 0, 0]
    assert "of 3 nodes 1 drifted" in done.stderr
    assert "numpy" in done.stderr
    assert "Traceback" not in done.stderr
    assert time.monotonic() - started < 90
    assert list(folder.iterdir()) == []
