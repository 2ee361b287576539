"""`envsync lint` of a whole export, against a Python that only parses the file as YAML."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench import compare, seconds

PACKAGES = 300
ROUNDS = 7
LIMIT = 0.5
"""Seconds for the whole command, judged by its CPU time: a busy machine does not change that."""
RATIO = 9.0
"""Times the peer, which starts nothing but the interpreter and PyYAML."""


def export() -> str:
    """What `conda env export` writes of a big environment, with a fifth of it from pip."""
    from_pip = PACKAGES // 5
    lines = ["name: nlp-pretrain-a100", "channels:", "  - conda-forge", "  - nodefaults"]
    lines += ["dependencies:", "  - python=3.11.9=hb806964_0_cpython", "  - pip=24.2=pyh8b19718_1"]
    lines += ["  - openssl=1.1.1w=hd590300_0", "  - tzdata=2024a=h0c530f3_0"]
    lines += [f"  - package{each}=1.{each}.0=py311h{each:06x}_0" for each in range(PACKAGES - 64)]
    lines += ["  - pip:", *(f"      - wheel{each}==2.{each}.1" for each in range(from_pip))]
    return "\n".join([*lines, "prefix: /home/me/miniforge3/envs/nlp", ""])


def cpu_seconds(command: list[str]) -> float:
    """What one child process takes of the processors, in user and system mode."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> int:
    """Both as processes, in turn, so that what else the machine does hits both."""
    with tempfile.TemporaryDirectory(prefix="envsync-bench-") as folder:
        file = Path(folder) / "environment.yml"
        file.write_text(export())
        ours = [sys.executable, "-m", "envsync", "lint", str(file)]
        peer = [sys.executable, "-c", f"import yaml; yaml.safe_load(open({str(file)!r}))"]
        walls, mine, theirs = [], [], []
        for _ in range(ROUNDS):
            walls.append(seconds(lambda: mine.append(cpu_seconds(ours))))
            theirs.append(cpu_seconds(peer))
    good = compare(f"lint of {PACKAGES} dependencies", mine, theirs, "s of CPU", RATIO)
    fast = statistics.median(mine) <= LIMIT
    print(
        f"as a process: {statistics.median(walls):.2f} s by the clock,"
        f" {statistics.median(mine):.2f} s of CPU (at most {LIMIT})"
    )
    return 0 if good and fast else 1


if __name__ == "__main__":
    sys.exit(main())
