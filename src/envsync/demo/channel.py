"""A small conda channel and a wheelhouse, made from nothing: for the demo and the tests.

A package is a tar.bz2 with `info/index.json`, `info/paths.json` and `info/files` beside its
files (conda-build docs, "Conda package specification"); a channel is a folder a subdir with
`repodata.json`.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import json
import marshal
import platform
import sys
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import MAGIC_NUMBER, source_hash
from pathlib import Path

from envsync.demo.conda import PYTHON
from envsync.errors import EnvsyncError
from envsync.observation import SUBDIRS
from envsync.wheelfile import WHEEL, packed

SUBDIR = SUBDIRS.get((platform.system(), platform.machine()), "linux-64")
SITE = "site-packages"
PYTHON_VERSION = ".".join(map(str, sys.version_info[:3]))

Files = Mapping[str, "str | bytes | Link"]
"""Contents by path."""


@dataclass(frozen=True)
class Link:
    """A symbolic link as the content of a file."""

    target: str


@dataclass(frozen=True)
class Built:
    """A conda package to be. noarch: its files lie under `site-packages/`, conda moves them."""

    name: str
    version: str
    build: str = "0"
    depends: tuple[str, ...] = ()
    files: Files = field(default_factory=dict)
    noarch: bool = False

    @property
    def file_name(self) -> str:
        return f"{self.name}-{self.version}-{self.build}.tar.bz2"

    @property
    def subdir(self) -> str:
        return "noarch" if self.noarch else SUBDIR


class Channel:
    """A channel in a folder; `url` is how conda is told of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = folder.as_uri()
        for subdir in (SUBDIR, "noarch"):
            (folder / subdir).mkdir(parents=True, exist_ok=True)

    def add(self, *packages: Built) -> None:
        """Write the packages and the index anew."""
        for package in packages:
            file = self.folder / package.subdir / package.file_name
            file.write_bytes(_archive(package))
            file.with_suffix(".index").write_text(json.dumps(_index(package)))
        self._write_repodata()

    def _write_repodata(self) -> None:
        for subdir in (SUBDIR, "noarch"):
            packages = {}
            for file in sorted((self.folder / subdir).glob("*.tar.bz2")):
                content = file.read_bytes()
                packages[file.name] = json.loads(file.with_suffix(".index").read_text()) | {
                    "md5": hashlib.md5(content).hexdigest(),  # noqa: S324 (the format's own)
                    "sha256": hashlib.sha256(content).hexdigest(),
                    "size": len(content),
                }
            repodata = {"info": {"subdir": subdir}, "packages": packages, "packages.conda": {}}
            (self.folder / subdir / "repodata.json").write_text(json.dumps(repodata))


def python_package() -> Built:
    """This machine's Python as a package: links to the interpreter, and what makes a prefix."""
    base = Path(sys.base_prefix) / "bin" / PYTHON
    names = ("python", "python3", PYTHON)
    files: dict[str, str | bytes | Link] = {f"bin/{name}": Link(str(base)) for name in names}
    files["pyvenv.cfg"] = f"home = {base.parent}\n"
    files[f"lib/{PYTHON}/{SITE}/README.txt"] = "Packages of this environment.\n"
    return Built("python", PYTHON_VERSION, "demo_0", files=files)


def pip_package() -> Built:
    """The running interpreter's own pip, compiled, since conda would compile it a node.

    Raises EnvsyncError where there is none, as in environments that uv makes.
    """
    pip = next(iter(importlib.metadata.distributions(name="pip")), None)
    if pip is None or not pip.files:
        raise EnvsyncError(
            "there is no pip beside envsync to make the package `pip` from",
            hint="python -m ensurepip (or `uv pip install pip`) in envsync's environment",
        )
    files: dict[str, str | bytes | Link] = {}
    for path in pip.files or ():
        if path.parts[0].startswith("pip") and "__pycache__" not in path.parts:
            content = Path(str(path.locate())).read_bytes()
            files[f"{SITE}/{path.as_posix()}"] = content
            if path.suffix == ".py":
                name = f"__pycache__/{path.stem}.{sys.implementation.cache_tag}.pyc"
                files[f"{SITE}/{(path.parent / name).as_posix()}"] = _compiled(content)
    _claim(files)
    inside = {f"lib/{PYTHON}/{path}": content for path, content in files.items()}
    return Built("pip", pip.version, "demo_0", ("python",), inside)


def _compiled(source: bytes) -> bytes:
    """A .pyc that is valid whatever the time stamp of its source (PEP 552, unchecked hash)."""
    code = compile(source, "<pip>", "exec", dont_inherit=True, optimize=0)
    flags = (0b01).to_bytes(4, "little")
    return MAGIC_NUMBER + flags + source_hash(source) + marshal.dumps(code)


def python_library(
    name: str,
    version: str,
    modules: Files,
    *,
    build: str = "demo_0",
    depends: tuple[str, ...] = ("python",),
) -> Built:
    """A noarch package of Python modules (paths as seen from site-packages)."""
    files = {f"{SITE}/{path}": content for path, content in modules.items()}
    files |= {f"{SITE}/{path}": text for path, text in _dist_info(name, version, ()).items()}
    _claim(files)
    return Built(name, version, build, depends, files, noarch=True)


def wheel(
    folder: Path, name: str, version: str, modules: Files, requires: Sequence[str] = ()
) -> Path:
    """Write a pure Python wheel; its path."""
    info = _dist_info(name, version, requires)
    files = {path: _bytes(content) for path, content in {**modules, **info}.items()}
    stem = f"{name.replace('-', '_')}-{version}"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{stem}-py3-none-any.whl"
    file.write_bytes(packed(files, f"{stem}.dist-info"))
    return file


def _dist_info(name: str, version: str, requires: Sequence[str]) -> dict[str, str]:
    folder = f"{name.replace('-', '_')}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += "".join(f"Requires-Dist: {each}\n" for each in requires)
    return {f"{folder}/METADATA": metadata, f"{folder}/WHEEL": WHEEL}


def _claim(files: dict[str, str | bytes | Link]) -> None:
    """Mark a distribution as conda's, with the RECORD that pip needs to take it away again."""
    info = next(path.rpartition("/")[0] for path in files if path.endswith("/METADATA"))
    files[f"{info}/INSTALLER"] = "conda\n"
    inside = sorted({*files, f"{info}/RECORD"})
    files[f"{info}/RECORD"] = "".join(f"{path.removeprefix(SITE + '/')},,\n" for path in inside)


def _bytes(content: str | bytes | Link) -> bytes:
    if isinstance(content, Link):
        raise TypeError("a wheel holds no links")
    return content.encode() if isinstance(content, str) else content


def _index(package: Built) -> dict[str, object]:
    index: dict[str, object] = {
        "name": package.name,
        "version": package.version,
        "build": package.build,
        "build_number": 0,
        "depends": list(package.depends),
        "subdir": package.subdir,
        "license": "Apache-2.0",
        "timestamp": 1_700_000_000_000,
    }
    return index | ({"noarch": "python"} if package.noarch else {})


def _archive(package: Built) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:bz2", compresslevel=1) as archive:
        for path, content in {**_info(package), **package.files}.items():
            member = tarfile.TarInfo(path)
            member.mtime = 1_700_000_000
            if isinstance(content, Link):
                member.type, member.linkname = tarfile.SYMTYPE, content.target
                archive.addfile(member)
            else:
                data = _bytes(content)
                member.size, member.mode = len(data), 0o755 if path.startswith("bin/") else 0o644
                archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def _info(package: Built) -> dict[str, str]:
    paths = [_path_record(path, content) for path, content in package.files.items()]
    info = {
        "info/index.json": json.dumps(_index(package)),
        "info/paths.json": json.dumps({"paths": paths, "paths_version": 1}),
        "info/files": "".join(f"{path}\n" for path in package.files),
    }
    if package.noarch:
        link = {"noarch": {"type": "python"}, "package_metadata_version": 1}
        info["info/link.json"] = json.dumps(link)
    return info


def _path_record(path: str, content: str | bytes | Link) -> dict[str, object]:
    if isinstance(content, Link):
        return {"_path": path, "path_type": "softlink", "sha256": "", "size_in_bytes": 0}
    data = _bytes(content)
    return {
        "_path": path,
        "path_type": "hardlink",
        "sha256": hashlib.sha256(data).hexdigest(),
        "size_in_bytes": len(data),
    }
