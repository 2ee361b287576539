"""What the reports of verify take for a thousand nodes: seconds, and megabytes of the page."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from bench import seconds

from envsync.cli.reporting import FORMS, Reports

NODES = 1000
PACKAGES = 200
DIFFERENCES = 30
LIMIT_SECONDS = 2.0
LIMIT_MB = 3.0
"""Of the page; the JSON has every package of every node, and is as big as that is."""


def host_record(number: int) -> dict[str, Any]:
    """A node that answered, or one of every hundred that did not."""
    dead = number % 100 == 99  # noqa: PLR2004 (the last of a hundred)
    packages = [
        {
            "kind": "conda",
            "name": f"package{each}",
            "version": f"1.{each}.0",
            "build": "py311h0_0",
            "channel": "conda-forge",
            "digest": "a" * 64,
        }
        for each in range(PACKAGES)
    ]
    runtime = [["python", "3.11.9"], ["torch", "2.5.1"], ["built for", "CUDA 12.4"]]
    failure = {"phase": "connect", "cause": "refused", "message": "nothing listens on port 22"}
    return {
        "host": f"gpu{number:04}",
        "outcome": "failed" if dead else "probed",
        "failure": failure | {"hint": "start sshd there", "output": ""} if dead else None,
        "facts": None if dead else {"conda": packages, "pip": [], "runtime": runtime},
    }


def finding(number: int, which: int) -> dict[str, Any]:
    """One node that is not as most are in one thing."""
    return {
        "host": f"gpu{number:04}",
        "cause": "differs",
        "level": "error",
        "what": f"package{which}",
        "message": f"package{which} is 2.0.0 py311h1_0, on most nodes 1.{which}.0 py311h0_0",
        "hint": "`envsync push` builds the node anew (`--rebuild` if it says in sync)",
        "reason": "Ranks of different versions disagree on messages, kernels and checkpoints.",
    }


def record() -> dict[str, Any]:
    """A cluster in which every tenth node drifted, and every hundredth is away."""
    drifted = range(0, NODES, 10)
    rows = [
        {
            "group": "conda",
            "name": f"package{which}",
            "matters": True,
            "values": {
                f"gpu{number:04}": f"{2 if number in drifted else 1}.{which}.0 py311h0_0"
                for number in range(NODES)
                if number % 100 != 99  # noqa: PLR2004 (as above)
            },
        }
        for which in range(DIFFERENCES)
    ]
    return {
        "envsync": "0",
        "exit_code": 1,
        "result": {
            "name": "pretrain",
            "at": "2026-01-02T03:04:05+00:00",
            "fail_on": "error",
            "generations": ["0123456789ab"],
            "hosts": [host_record(number) for number in range(NODES)],
            "findings": [finding(n, which) for n in drifted for which in range(DIFFERENCES)],
            "remarks": [],
            "not_in_lock": [],
            "differences": rows,
        },
    }


def main() -> int:
    """Each form by itself, written to a file; 1 when the page is too big or any takes too long."""
    whole = record()
    good = True
    with tempfile.TemporaryDirectory(prefix="envsync-bench-") as folder:
        for ending in FORMS:
            file = Path(folder) / f"report{ending}"
            took = seconds(lambda file=file: Reports.named([file]).write(whole))
            size = file.stat().st_size / 1e6
            fits = took < LIMIT_SECONDS and (ending != ".html" or size < LIMIT_MB)
            good = good and fits
            print(f"{ending:6} {took:6.2f} s {size:6.2f} MB{'' if fits else '  TOO MUCH'}")
    print(f"{NODES} nodes; at most {LIMIT_SECONDS} s each, and {LIMIT_MB} MB for the page")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
