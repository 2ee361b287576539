"""Fetches the wheels of a lock with this machine's own pip: its settings, proxies and logins."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from envsync.access import Way
from envsync.downloads import sums_of
from envsync.errors import InputError
from envsync.lock import Section, lock_file
from envsync.parcels import Parcel, Tell, hashes, wheel_lines
from envsync.recipe import requirements
from envsync.redact import redact
from envsync.spec import EnvironmentSpec

_MACHINES = {"64": "x86_64", "32": "i686", "arm64": "arm64"}
"""conda's word for a processor, and the one in a wheel's name, where they differ."""
_OLDEST_GLIBC = 5
_NEWEST_GLIBC = 50
"""2.x: of all that the tags may name, the lock's hash leaves one file."""
_MACOS = 30
"""No system is newer than that yet; its tag stands for all before."""
_LEGACY = ("manylinux2014", "manylinux2010", "manylinux1", "linux")


def tags(subdir: str) -> tuple[str, ...]:
    """The platforms, in pip's words, whose wheels a node of this conda platform may have."""
    system, _, processor = subdir.partition("-")
    machine = _MACHINES.get(processor, processor)
    if system == "osx":
        return (f"macosx_{_MACOS}_0_{machine}",)
    new = (f"manylinux_2_{minor}" for minor in range(_NEWEST_GLIBC, _OLDEST_GLIBC - 1, -1))
    return tuple(f"{each}_{machine}" for each in (*new, *_LEGACY))


def python_of(section: Section) -> str:
    """The version of Python in a lock, such as 3.11; empty where there is none."""
    found = (each.package for each in section.conda)
    version = next((each.version for each in found if each.name == "python"), "")
    return ".".join(version.split(".")[:2])


def fetch_wheels(way: Way, section: Section, cache: Path, tell: Tell) -> tuple[Parcel, ...]:
    """The wheel of each locked line, from the cache where it is there. Raises InputError."""
    lines = wheel_lines(section)
    found = {line: _cached(line, cache) for line in lines}
    missing = [line for line in lines if found[line] is None]
    if missing:
        tell(f"pip fetches {len(missing)} wheels")
        found |= _download(way, section, missing, cache)
    return tuple(each for each in found.values() if each)


def _cached(line: str, cache: Path) -> Parcel | None:
    for sha256 in sorted(hashes(line)):
        for file in sorted((cache / sha256).glob("*.whl")):
            found = sums_of(file)
            if found.sha256 == sha256:
                return Parcel(file.name, "", file, found.md5, sha256, found.size, line)
    return None


def _download(
    way: Way, section: Section, lines: Sequence[str], cache: Path
) -> Mapping[str, Parcel]:
    if importlib.util.find_spec("pip") is None:
        raise InputError(
            f"the lock names {len(lines)} wheels, and there is no pip beside envsync to fetch them",
            hint=f"{sys.executable} -m ensurepip, or install pip as envsync was installed",
        )
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix=".wheels-") as folder:
            _run_pip(way, section, lines, Path(folder))
            return {line: _kept(way.spec, line, Path(folder), cache) for line in lines}
    except OSError as error:
        raise InputError(
            f"{cache} cannot be written: {error.strerror}",
            hint="make room, or set XDG_CACHE_HOME to a folder elsewhere",
        ) from error


def _run_pip(way: Way, section: Section, lines: Sequence[str], folder: Path) -> None:
    spec = way.spec
    wanted = folder / "requirements.txt"
    wanted.touch(mode=0o600)
    wanted.write_text(way.here(requirements(spec, lines)), encoding="utf-8")
    platforms = [word for tag in tags(section.platform.subdir) for word in ("--platform", tag)]
    version = python_of(section)
    done = subprocess.run(
        [
            sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes",
            "--only-binary", ":all:", "--no-input", "--disable-pip-version-check",
            "--progress-bar", "off", "--dest", str(folder), "--requirement", str(wanted),
            "--implementation", "cp", *(("--python-version", version) if version else ()),
            *platforms,
        ],
        cwd=Path(spec.source).parent,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONSAFEPATH": "1"},
    )  # fmt: skip
    if done.returncode:
        raise _refused(spec, section, done.stderr)


def _refused(spec: EnvironmentSpec, section: Section, output: str) -> InputError:
    """What pip said; a version that it does not find as a wheel is there as a source alone."""
    errors = [line.removeprefix("ERROR: ") for line in output.splitlines() if "ERROR: " in line]
    last = errors[-1] if errors else (output.strip().splitlines() or ["it said nothing"])[-1]
    file = str(lock_file(Path(spec.source)))
    if found := re.match(r"No matching distribution found for (\S+)", last):
        return InputError(
            f"pip finds no wheel of {found[1]} for {section.platform.subdir} with the lock's hash",
            file=file,
            hint="where there is a source alone, which would be built on the nodes: build a wheel"
            " of it once (`pip wheel`), name its folder with --find-links in the pip section, and"
            " lock anew",
        )
    return InputError(
        redact(f"pip cannot fetch the wheels that the lock names: {last}"),
        file=file,
        hint="see to this machine's way to the index, and to pip's settings (`pip config list`)",
    )


def _kept(spec: EnvironmentSpec, line: str, folder: Path, cache: Path) -> Parcel:
    """The wheel for a line, in the cache."""
    for file in sorted(folder.glob("*.whl")):
        found = sums_of(file)
        if found.sha256 in hashes(line):
            there = cache / found.sha256 / file.name
            there.parent.mkdir(exist_ok=True)
            # Another envsync may bring the same wheel at the same time.
            shutil.copyfile(file, folder / ".kept")
            (folder / ".kept").replace(there)
            return Parcel(there.name, "", there, found.md5, found.sha256, found.size, line)
    raise InputError(
        f"pip brought no wheel for {line.partition(' --hash=')[0]}",
        file=str(lock_file(Path(spec.source))),
        hint="`envsync lock --relock HOSTS` solves anew",
    )
