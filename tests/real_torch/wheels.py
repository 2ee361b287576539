"""A real torch for the nodes: wheels from pip's own registry, turned into conda packages.

pip's settings on this machine say where the wheels come from; nodes do not have them. They and
the packages made of them are kept in `.wheels/`, which Git ignores, with their hashes; what has
changed there is had anew. This folder is not called `torch`: beside the other tests it would be
what `import torch` finds.
"""

from __future__ import annotations

import compileall
import hashlib
import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from py_compile import PycInvalidationMode

import zstandard
from conda_package_streaming.create import conda_builder
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from envsync.demo.channel import SUBDIR, Channel
from envsync.demo.conda import PYTHON

TORCH = "torch==2.13.0+cpu"
BESIDE = ("numpy",)
ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".wheels" / sys.implementation.cache_tag
SUMS = "SHA256SUMS"
SITE = f"lib/{PYTHON}/site-packages"


class NoTorchError(Exception):
    """The wheels cannot be had; the text says why, and what to do."""


def fetch() -> list[Path]:
    """The wheels of torch and of all that it needs. Raises NoTorchError."""
    if not _whole():
        shutil.rmtree(CACHE, ignore_errors=True)
        CACHE.mkdir(parents=True)
        # First torch alone: with a build for CUDA gigabytes would come along.
        _download("--no-deps", TORCH)
        _download("--find-links", str(CACHE), TORCH, *BESIDE)
        sums = [f"{_sha256(wheel)}  {wheel.name}\n" for wheel in sorted(CACHE.glob("*.whl"))]
        (CACHE / SUMS).write_text("".join(sums))
    return sorted(CACHE.glob("*.whl"))


def _whole() -> bool:
    """Whether the cache holds what was put there, to the last byte."""
    if not (CACHE / SUMS).exists():
        return False
    said = dict(line.split("  ", 1)[::-1] for line in (CACHE / SUMS).read_text().splitlines())
    there = {wheel.name: _sha256(wheel) for wheel in CACHE.glob("*.whl")}
    return there == said


def _download(*words: str) -> None:
    command = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--quiet"]
    command += ["--only-binary", ":all:", "--dest", str(CACHE), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise NoTorchError(
            f"{' '.join(words)} cannot be had: {(errors or [done.stderr.strip()])[-1]}\n"
            "This test needs a CPU build of torch from pip's registry. Where the usual one has"
            " none, name one that does, such as"
            " PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu"
        )


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def add_to(channel: Channel, wheels: list[Path], scratch: Path) -> None:
    """Make a package of each wheel, and put it into the channel's index beside the others."""
    entries = dict(_kept(channel, wheel, scratch / wheel.stem) for wheel in wheels)
    index = channel.folder / SUBDIR / "repodata.json"
    repodata = json.loads(index.read_text())
    repodata["packages.conda"] |= entries
    index.write_text(json.dumps(repodata))


def _kept(channel: Channel, wheel: Path, scratch: Path) -> tuple[str, dict[str, object]]:
    """The package of this very wheel, from an earlier run if it is as it was made then."""
    packages = CACHE / "packages"
    packages.mkdir(exist_ok=True)
    note = packages / f"{wheel.name}.json"
    made = json.loads(note.read_text()) if note.exists() else {}
    name = str(made.get("name"))
    whole = made.get("wheel") == _sha256(wheel) and (packages / name).exists()
    if not whole or _sha256(packages / name) != made["entry"]["sha256"]:
        name, entry = _package(packages, wheel, scratch)
        made = {"wheel": _sha256(wheel), "name": name, "entry": entry}
        note.write_text(json.dumps(made))
    shutil.copyfile(packages / name, channel.folder / SUBDIR / name)
    return name, made["entry"]


def _package(folder: Path, wheel: Path, scratch: Path) -> tuple[str, dict[str, object]]:
    """File name and index entry. Not noarch, or conda would compile torch on every node."""
    name, version, _, _ = parse_wheel_filename(wheel.name)
    site = scratch / SITE
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    (info,) = site.glob("*.dist-info")
    (info / "INSTALLER").write_text("conda\n")
    mode = PycInvalidationMode.UNCHECKED_HASH
    compileall.compile_dir(site, quiet=2, workers=2, invalidation_mode=mode, stripdir=str(scratch))
    index: dict[str, object] = {
        "name": str(name),
        "version": str(version).replace("+", "_"),
        "build": "pip_0",
        "build_number": 0,
        "depends": sorted({"python", *_needs(info / "METADATA")}),
        "subdir": SUBDIR,
        "timestamp": 1_700_000_000_000,
    }
    stem = f"{name}-{index['version']}-pip_0"
    _describe(scratch, index)
    _compress(scratch, stem, folder)
    shutil.rmtree(scratch)
    file = folder / f"{stem}.conda"
    md5 = hashlib.md5(file.read_bytes()).hexdigest()  # noqa: S324 (the format's own)
    sums = {"md5": md5, "sha256": _sha256(file), "size": file.stat().st_size}
    return file.name, index | sums


def _needs(metadata: Path) -> Iterator[str]:
    for line in re.findall(r"^Requires-Dist: (.*)$", metadata.read_text("utf-8"), re.MULTILINE):
        each = Requirement(line)
        if each.marker is None or each.marker.evaluate({"extra": ""}):
            yield canonicalize_name(each.name)


def _describe(folder: Path, index: dict[str, object]) -> None:
    files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    paths = [
        {
            "_path": file.relative_to(folder).as_posix(),
            "path_type": "hardlink",
            "sha256": _sha256(file),
            "size_in_bytes": file.stat().st_size,
        }
        for file in files
    ]
    info = folder / "info"
    info.mkdir()
    (info / "index.json").write_text(json.dumps(index))
    (info / "paths.json").write_text(json.dumps({"paths": paths, "paths_version": 1}))
    (info / "files").write_text("".join(f"{each['_path']}\n" for each in paths))


def _compress(folder: Path, stem: str, to: Path) -> None:
    """A `.conda` of little compression: bzip2 would take a minute for torch, twice."""
    fast = zstandard.ZstdCompressor(level=1, threads=2)
    with conda_builder(stem, to, compressor=lambda: fast) as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                archive.add(str(file), arcname=file.relative_to(folder).as_posix())


def main() -> int:
    try:
        wheels = fetch()
    except NoTorchError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{len(wheels)} wheels in {CACHE}, {sum(f.stat().st_size for f in wheels) >> 20} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
