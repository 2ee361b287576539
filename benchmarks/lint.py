"""`envsync lint` of a whole export, against a Python that only parses the file as YAML."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from bench import compare, seconds

PACKAGES = 300
ROUNDS = 7
LIMIT = 0.5
"""Seconds for the whole command."""
RATIO = 6.0
"""Times the peer, whose start-up is the interpreter and PyYAML alone."""


def export() -> str:
    """What `conda env export` writes of a big environment, with a fifth of it from pip."""
    from_pip = PACKAGES // 5
    lines = ["name: nlp-pretrain-a100", "channels:", "  - conda-forge", "  - nodefaults"]
    lines += ["dependencies:", "  - python=3.11.9=hb806964_0_cpython", "  - pip=24.2=pyh8b19718_1"]
    lines += ["  - openssl=1.1.1w=hd590300_0", "  - tzdata=2024a=h0c530f3_0"]
    lines += [f"  - package{each}=1.{each}.0=py311h{each:06x}_0" for each in range(PACKAGES - 64)]
    lines += ["  - pip:", *(f"      - wheel{each}==2.{each}.1" for each in range(from_pip))]
    return "\n".join([*lines, "prefix: /home/me/miniforge3/envs/nlp", ""])


def main() -> int:
    """Both as processes, in turn, so that what else the machine does hits both."""
    with tempfile.TemporaryDirectory(prefix="envsync-bench-") as folder:
        file = Path(folder) / "environment.yml"
        file.write_text(export())
        program = f"import yaml; yaml.safe_load(open({str(file)!r}))"
        commands = (
            [sys.executable, "-m", "envsync", "lint", str(file)],
            [sys.executable, "-c", program],
        )
        took: tuple[list[float], list[float]] = ([], [])
        for _ in range(ROUNDS):
            for command, times in zip(commands, took, strict=True):
                times.append(
                    seconds(lambda c=command: subprocess.run(c, check=True, capture_output=True))
                )
    good = compare(f"lint of {PACKAGES} dependencies", *took, "s", RATIO)
    median = sorted(took[0])[ROUNDS // 2]
    print(f"as a process: {median:.2f} s (at most {LIMIT})")
    return 0 if good and median <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
