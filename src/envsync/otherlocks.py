"""Locks that other tools made, read as our own: a team that has one pushes it as it is.

conda's `@EXPLICIT` lists (conda docs, "Building identical conda environments"), conda-lock.yml
version 1, and pixi.lock, which py-rattler reads.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import yaml
from packaging.utils import canonicalize_name

from envsync.errors import InputError
from envsync.lock import Lock, LockedPackage, Section, linking_order
from envsync.model import Platform
from envsync.redact import bare, redact
from envsync.requirement import is_remote
from envsync.yamlfile import compose, decode, line_of

_EXPLICIT = re.compile(r"^\s*@EXPLICIT\s*$", re.MULTILINE)
_PLATFORM = re.compile(r"^#\s*platform:\s*(\S+)\s*$", re.MULTILINE)
_SUBDIR = re.compile(r"[a-z]+-[a-z0-9]+")
_CONDA_LOCK = re.compile(rb"^(?:package|metadata):", re.MULTILINE)
_PIXI = re.compile(rb"^environments:", re.MULTILINE)
_VERSION = re.compile(rb"^version:", re.MULTILINE)


def read_other_lock(raw: bytes, source: str) -> Lock | None:
    """The lock in a file of another tool; None when it is none of those.

    Raises InputError, with the line where there is one, for a file that is one and is broken.
    """
    if _EXPLICIT.search(raw.decode("utf-8", "replace")):
        return Lock((_explicit(decode(raw, source), source),))
    if _VERSION.search(raw) and len(_CONDA_LOCK.findall(raw)) > 1:
        return Lock(tuple(_CondaLock(source).sections(raw)))
    if _VERSION.search(raw) and _PIXI.search(raw):
        return Lock(tuple(_pixi(raw, source)))
    return None


def _explicit(text: str, source: str) -> Section:
    """The list's own order is kept: conda links in the order of the file."""
    packages = []
    for number, line in enumerate(text.splitlines(), 1):
        entry = line.strip()
        if entry and not entry.startswith(("#", "@EXPLICIT")):
            packages.append(_listed(entry, source, number))
    named = _PLATFORM.search(text)
    subdirs = {each.url.split("/")[-2] for each in packages} - {"noarch"}
    if named is None and len(subdirs) != 1:
        raise InputError(
            "it does not say for which platform it is",
            file=source,
            hint="add a line such as `# platform: linux-64`, as conda itself writes it",
        )
    subdir = named[1] if named else subdirs.pop()
    return Section(Platform(subdir), "", tuple(packages))


def _listed(entry: str, source: str, line: int) -> LockedPackage:
    url, _, mark = entry.partition("#")
    hashed = mark.removeprefix("sha256:")
    md5, sha256 = (hashed, "") if len(hashed) == 32 else ("", hashed)  # noqa: PLR2004 (md5's)
    return _package(url, md5, sha256, source, line)


def _package(url: str, md5: str, sha256: str, source: str, line: int) -> LockedPackage:
    """One conda package; whatever is no address of one, or has no hash, is refused."""
    package = LockedPackage(bare(url), md5, sha256)
    try:
        _ = package.package
    except ValueError as error:
        raise InputError(redact(str(error)), file=source, line=line) from error
    if not re.fullmatch(r"[a-z][a-z0-9+.-]*://[^\s#'\"]+", package.url):
        raise InputError(f"{redact(url)!r} is no address", file=source, line=line)
    if not (re.fullmatch(r"[0-9a-f]{32}|", md5) and re.fullmatch(r"[0-9a-f]{64}|", sha256)) or not (
        md5 or sha256
    ):
        raise InputError(
            f"{package.package.name} has no hash, so nobody could tell whether all nodes get the"
            " same file",
            file=source,
            line=line,
            hint="make the list with `conda list --explicit --md5`",
        )
    return package


def _pip_line(name: str, url: str, sha256: str, source: str, line: int) -> str:
    """A requirement by address: with its hash, or from version control at its commit."""
    address = bare(url)
    named = canonicalize_name(name)
    if not is_remote(address.removeprefix("git+")) or re.search(r"[\s'\"]", address):
        raise InputError(
            f"{name} comes from {redact(url)}, which other machines do not have",
            file=source,
            line=line,
            hint="ask for it from an index, and lock anew",
        )
    if address.startswith("git+"):
        return f"{named} @ {address}"
    if not re.fullmatch(r"[0-9a-f]{64}", sha256):
        raise InputError(
            f"{name} has no sha256", file=source, line=line, hint="lock anew with its tool"
        )
    return f"{named} @ {address} --hash=sha256:{sha256}"


class _CondaLock:
    """conda-lock.yml: one list for all platforms; what is not of the category main is left out."""

    def __init__(self, source: str) -> None:
        self._source = source

    def sections(self, raw: bytes) -> Iterator[Section]:
        root = compose(decode(raw, self._source), self._source)
        top = self._mapping(root, root)
        version = self._text(top.get("version"), root)
        if version != "1":
            raise self._wrong(f"it is a conda-lock.yml of version {version}", top["version"])
        packages = top.get("package")
        if not isinstance(packages, yaml.SequenceNode):
            raise self._wrong("it has no list `package:`", root)
        platforms: dict[str, list[yaml.Node]] = {}
        for node in packages.value:
            entry = self._mapping(node, node)
            if "category" not in entry or self._text(entry["category"], node) == "main":
                subdir = self._text(entry.get("platform"), node)
                if not _SUBDIR.fullmatch(subdir):
                    raise self._wrong(f"{subdir!r} is no platform of conda's", entry["platform"])
                platforms.setdefault(subdir, []).append(node)
        for subdir, nodes in sorted(platforms.items()):
            yield self._section(subdir, nodes)

    def _section(self, subdir: str, nodes: Iterable[yaml.Node]) -> Section:
        conda: dict[str, LockedPackage] = {}
        depends: dict[str, set[str]] = {}
        pip: list[str] = []
        for node in nodes:
            entry = self._mapping(node, node)
            name, url, manager = (
                self._text(entry.get(key), node) for key in ("name", "url", "manager")
            )
            hashes = self._mapping(entry.get("hash"), node)
            md5, sha256 = (
                self._text(hashes[key], node) if key in hashes else "" for key in ("md5", "sha256")
            )
            line = line_of(entry["url"])
            if manager == "pip":
                pip.append(_pip_line(name, url, sha256, self._source, line))
            else:
                conda[name] = _package(url, md5, sha256, self._source, line)
                wanted = entry.get("dependencies")
                depends[name] = set(self._mapping(wanted, node)) if wanted else set()
        return _section(subdir, "conda-lock", conda, depends, pip)

    def _mapping(self, node: yaml.Node | None, around: yaml.Node | None) -> dict[str, yaml.Node]:
        if not isinstance(node, yaml.MappingNode):
            raise self._wrong("it is not a conda-lock.yml: a mapping is missing", node or around)
        return {self._text(key, node): value for key, value in node.value}

    def _text(self, node: yaml.Node | None, around: yaml.Node | None) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise self._wrong("it is not a conda-lock.yml: a word is missing", node or around)
        return str(node.value)

    def _wrong(self, message: str, node: yaml.Node | None) -> InputError:
        line = line_of(node) if node else 0
        return InputError(message, file=self._source, line=line, hint="`conda-lock` makes it anew")


def _pixi(raw: bytes, source: str) -> Iterator[Section]:
    """pixi.lock: its environment `default`, or the only one."""
    from rattler import LockFile  # noqa: PLC0415 (0.15 s to import)
    from rattler.exceptions import ParseCondaLockError  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pixi.lock"
        file.write_bytes(raw)
        try:
            lock = LockFile.from_path(file)
        except (ParseCondaLockError, OSError, ValueError) as error:
            raise InputError(
                f"it is not a pixi.lock that can be read: {str(error).splitlines()[0]}",
                file=source,
                hint="`pixi lock` makes it anew",
            ) from error
    names = [name for name, _ in lock.environments()]
    chosen = lock.environment("default" if len(names) != 1 else names[0])
    if chosen is None:
        raise InputError(
            f"it has no environment `default`, and several others: {', '.join(sorted(names))}",
            file=source,
            hint="make a lock with the one that is wanted",
        )
    for platform in sorted(chosen.platforms(), key=str):
        conda: dict[str, LockedPackage] = {}
        depends: dict[str, set[str]] = {}
        pip: list[str] = []
        for package in chosen.packages(platform) or ():
            hashes = package.hashes
            sha256 = hashes.sha256.hex() if hashes and hashes.sha256 else ""
            md5 = hashes.md5.hex() if hashes and hashes.md5 else ""
            record = getattr(package, "package_record", None)
            if record is None:
                pip.append(_pip_line(package.name, package.location, sha256, source, 0))
            else:
                name = record.name.normalized
                locked = _package(package.location, md5, sha256, source, 0)
                conda[name] = replace(locked, size=record.size or 0)
                depends[name] = {each.split()[0] for each in record.depends}
        yield _section(str(platform), "pixi", conda, depends, pip)


def _section(
    subdir: str,
    solver: str,
    conda: Mapping[str, LockedPackage],
    depends: Mapping[str, set[str]],
    pip: Sequence[str],
) -> Section:
    return Section(
        Platform(subdir),
        solver,
        tuple(conda[name] for name in linking_order(depends)),
        tuple(sorted(line for line in pip if " --hash=" in line)),
        tuple(sorted(line for line in pip if " --hash=" not in line)),
    )
