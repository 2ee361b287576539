"""Makes sure that what the tests talk to is there: a real sshd, and shells to be unlike sh."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NEEDED = {
    "/usr/sbin/sshd": "openssh-server",
    "ssh": "openssh-client",
    "tcsh": "tcsh",
    "fish": "fish",
    "git": "git",
}
LONG = {"chromium": "chromium"}
"""For `--long`: the tests that take minutes, and look at the page of a report in a browser."""
LIBRARIES = {"lib*/**/faketime/libfaketime.so.1": "libfaketime"}
"""For `--long` too, by where distributions put them below /usr."""
BY_ROOT = {"ip": "iproute2", "iptables": "iptables"}
"""For the tests that break a network of their own, which are left out elsewhere."""
SLURM = {
    "/usr/sbin/slurmctld": "slurmctld",
    "/usr/sbin/slurmd": "slurmd",
    "srun": "slurm-client",
    "/usr/sbin/munged": "munge",
}
"""For `make test-slurm`, asked for with `--slurm`."""


def main() -> int:
    wanted = NEEDED | (BY_ROOT if os.geteuid() == 0 else {})
    wanted |= LONG if "--long" in sys.argv[1:] else {}
    wanted |= SLURM if "--slurm" in sys.argv[1:] else {}
    missing = [package for program, package in wanted.items() if not shutil.which(program)]
    if "--long" in sys.argv[1:]:
        usr = Path("/usr")
        missing += [package for file, package in LIBRARIES.items() if not any(usr.glob(file))]
    if not missing:
        return 0
    apt = shutil.which("apt-get")
    if os.geteuid() != 0 or apt is None:
        print(f"the tests need {' '.join(missing)}: install them, then run again", file=sys.stderr)
        return 1
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", *missing]):
        done = subprocess.run([apt, *words], env=env, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"apt-get {' '.join(words)} failed:\n{done.stderr}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
