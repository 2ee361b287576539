"""A thousand hosts in one command: none fails, and the memory stays within bounds."""

from __future__ import annotations

import os
import subprocess
import sys

from cluster.conftest import Maker
from cluster.lab import ENVSYNC

HOSTS = 1000
MOST_MEMORY = 300 * 2**20
"""Bytes."""


def test_a_thousand_hosts(make_cluster: Maker) -> None:
    cluster = make_cluster(4, conda=False, extra="MaxStartups 100:30:200")
    lines = [f"UserKnownHostsFile {cluster.folder}/known_hosts", f"IdentityFile {cluster.lab.key}"]
    for rack, node in enumerate(cluster.nodes):
        lines += [f"Host r{rack}n*", f" HostName {node.address}", f" Port {node.port}"]
    (cluster.folder / "ssh_config").write_text("\n".join(lines) + "\n")
    words = [*ENVSYNC, "ping", "r[0-3]n[001-250]", "-F", "ssh_config", "--json"]
    with (cluster.folder / "out").open("w") as out, (cluster.folder / "err").open("w") as err:
        process = subprocess.Popen(words, cwd=cluster.folder, stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, (cluster.folder / "err").read_text()[-3000:]
    assert (cluster.folder / "out").read_text().count('"outcome": "ok"') == HOSTS
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    print(f"{HOSTS} hosts: {peak / 2**20:.0f} MiB, {usage.ru_utime + usage.ru_stime:.1f} s CPU")
    assert peak < MOST_MEMORY
