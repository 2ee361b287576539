"""Gets the peers: a virtual environment of their own, and pdsh from Debian."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

PACKAGES = {
    "clush": "clustershell",
    "parallel-ssh": "parallel-ssh",
    "asyncssh": "asyncssh",
    "fabric": "fabric",
    "pyinfra": "pyinfra",
    "ansible": "ansible-core",
}
"""Distributions on PyPI, by the name that stands in the table."""


@dataclass(frozen=True)
class Tools:
    """Where the peers are, and why some are not."""

    folder: Path
    absent: dict[str, str]
    """Name to reason."""
    versions: dict[str, str]

    @property
    def python(self) -> str:
        return self.program("python")

    def program(self, name: str) -> str:
        return str(self.folder / "bin" / name)


def install() -> Tools:
    """Install what is not there yet; what cannot be had is named in `absent`, never an error."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    folder = cache / "envsync-benchmarks" / f"peers-{sys.version_info[0]}.{sys.version_info[1]}"
    python = folder / "bin" / "python"
    absent: dict[str, str] = {}
    versions: dict[str, str] = {}
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    for name, package in PACKAGES.items():
        if not _version(python, package):
            words = [str(python), "-m", "pip", "install", "--quiet", package]
            subprocess.run(words, check=False, capture_output=True)
        if found := _version(python, package):
            versions[name] = found
        else:
            absent[name] = f"{package} could not be installed from PyPI"
    if why := _pdsh():
        absent["pdsh"] = why
    versions["paramiko"] = version("paramiko")
    versions["OpenSSH"] = _openssh()
    return Tools(folder, absent, versions)


def _version(python: Path, package: str) -> str:
    words = [str(python), "-c", f"from importlib.metadata import *; print(version({package!r}))"]
    return subprocess.run(words, check=False, capture_output=True, text=True).stdout.strip()


def _openssh() -> str:
    done = subprocess.run(["ssh", "-V"], check=False, capture_output=True, text=True)
    return done.stderr.split(",")[0].removeprefix("OpenSSH_")


def _pdsh() -> str:
    """Why there is no pdsh, or "" where there is; Debian's package, if root may install it."""
    apt = shutil.which("apt-get")
    if not shutil.which("pdsh") and os.geteuid() == 0 and apt:
        env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for words in (["update", "-qq"], ["install", "-y", "-qq", "pdsh"]):
            subprocess.run([apt, *words], env=env, check=False, capture_output=True)
    return "" if shutil.which("pdsh") else "not here, and apt could not install it"
