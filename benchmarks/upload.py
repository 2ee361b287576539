"""A file of 200 MB to one node, and to eight at once: envsync's transport beside scp.

scp runs with its default cipher and with aes128-gcm, eight of them at a time for eight nodes.
Exit code 1 when envsync reaches less than 0.8 of the speed of scp with its default cipher. The
start of a program, measured with an empty list of nodes, is told and counts for no speed:
envsync starts once for all its files. Every upload is compared with what was sent.
"""

from __future__ import annotations

import argparse
import os
import secrets
import statistics
import sys
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from peers.farm import Farm, farm
from peers.measure import measure

SIZE = 200_000_000
"""Bytes."""
SLOWEST = 0.8
GCM = "aes128-gcm@openssh.com"


def main() -> int:
    """The contenders take turns, so that a busy moment of the machine meets all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="runs of which to take medians")
    rounds = parser.parse_args().rounds
    good = True
    with farm(8) as whole:
        payload = b64encode(secrets.token_bytes(SIZE * 3 // 4))
        starts = _seconds(replace(whole.first(0), payload=payload), rounds)
        print(", ".join(f"{name} starts in {took:.2f} s" for name, took in starts.items()))
        for count in (1, 8):
            took = _seconds(replace(whole.first(count), payload=payload), rounds)
            good &= _tell(
                count,
                {name: count * SIZE / 1e6 / (took[name] - starts[name]) for name in took},
            )
    return 0 if good else 1


def _seconds(some: Farm, rounds: int) -> dict[str, float]:
    """The median of each contender's whole runs."""
    some.write()
    contenders = {
        "envsync": _envsync(some),
        "scp": _scp(some, ""),
        f"scp {GCM}": _scp(some, GCM),
    }
    runs: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, words in contenders.items():
            runs[name].append(_run(some, name, words))
    return {name: statistics.median(each) for name, each in runs.items()}


def _envsync(some: Farm) -> list[str]:
    program = Path(__file__).parent / "peers" / "programs" / "envsync_upload.py"
    return [sys.executable, str(program), str(some.job)]


def _scp(some: Farm, cipher: str) -> list[str]:
    options = ["-q", "-F", str(some.ssh_config()), *(["-c", cipher] if cipher else [])]
    # The addresses share the first node's home, which is not the one that sftp begins in.
    each = f'file=$1 host=$2; shift 2; exec scp "$@" "$file" "$host:{some.nodes[0].home}/up-$host"'
    line = ["xargs", "-r", f"-P{max(1, len(some.addresses))}", "-I{}", f"-a{some.hosts}"]
    return [*line, "sh", "-c", each, "sh", str(some.upload), "{}", *options]


def _run(some: Farm, name: str, words: list[str]) -> float:
    """Seconds, after a look at what has arrived."""
    kept: Mapping[str, str] = {k: v for k, v in os.environ.items() if k != "SSH_AUTH_SOCK"}
    done = measure(words, {**kept, "HOME": str(some.folder)}, some.folder)
    wrong = some.landed()
    if done.code or wrong:
        raise SystemExit(f"{name}: exit code {done.code}, {wrong}\n{done.output}")
    print(
        f"{len(some.addresses)} nodes, {name}: {done.wall:.2f} s, CPU {done.cpu:.2f} s", flush=True
    )
    return done.wall


def _tell(count: int, speeds: Mapping[str, float]) -> bool:
    ratio = speeds["envsync"] / speeds["scp"]
    figures = ", ".join(f"{name} {speed:.0f} MB/s" for name, speed in speeds.items())
    verdict = "ok" if ratio >= SLOWEST else "TOO SLOW"
    print(f"{count} nodes: {figures}; {ratio:.2f} of scp (at least {SLOWEST}) {verdict}")
    return ratio >= SLOWEST


if __name__ == "__main__":
    sys.exit(main())
