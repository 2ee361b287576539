"""A thousand hosts in one command: none fails, and the memory stays within bounds."""

from __future__ import annotations

import subprocess
import sys

from cluster.conftest import Maker
from cluster.lab import ENVSYNC

HOSTS = 1000
MOST_MEMORY = 300 * 2**20
"""Bytes."""

MEASURE = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
unit = 1 if sys.platform == "darwin" else 1024
print(used.ru_maxrss * unit, used.ru_utime + used.ru_stime, file=sys.stderr)
sys.exit(code)
"""
"""A small parent: a process begins with the memory of the one that it is forked from."""


def test_a_thousand_hosts(make_cluster: Maker) -> None:
    cluster = make_cluster(4, conda=False, extra="MaxStartups 100:30:200")
    lines = [f"UserKnownHostsFile {cluster.folder}/known_hosts", f"IdentityFile {cluster.lab.key}"]
    for rack, node in enumerate(cluster.nodes):
        lines += [f"Host r{rack}n*", f" HostName {node.address}", f" Port {node.port}"]
    (cluster.folder / "ssh_config").write_text("\n".join(lines) + "\n")
    words = [*ENVSYNC, "ping", "r[0-3]n[001-250]", "-F", "ssh_config", "--json"]
    with (cluster.folder / "out").open("w") as out:
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, *words],
            cwd=cluster.folder,
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    *_, last = done.stderr.splitlines()
    assert done.returncode == 0, done.stderr[-3000:]
    assert (cluster.folder / "out").read_text().count('"outcome": "ok"') == HOSTS
    peak, seconds = float(last.split()[0]), float(last.split()[1])
    print(f"{HOSTS} hosts: {peak / 2**20:.0f} MiB, {seconds:.1f} s CPU")
    assert peak < MOST_MEMORY
