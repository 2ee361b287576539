"""environment.lock: what was solved, byte for byte, as text that reads well in a Git diff.

    envsync-lock: 1
    sources: {environment.yml: sha256:...}
    sections:
    - subdir: linux-64
      conda: [URL#MD5 sha256:HEX size:BYTES, ...]      in the order in which conda links them
      pip: [NAME==VERSION --hash=sha256:HEX, ...]
      direct: [NAME @ git+URL@COMMIT, ...]

Credentials are never in it: they stay in the environment file and on the nodes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from urllib.parse import quote, unquote

import yaml

from envsync.errors import InputError
from envsync.model import UNKNOWN, Package, Platform
from envsync.origin import locked
from envsync.yamlfile import compose, decode, line_of

MARK = "envsync-lock"
VERSION = 1

_HEADER = """\
# Made by envsync. Every node of a platform installs exactly what its section says.
# Keep it beside the environment file, and in Git.
"""
_FILE = re.compile(r"(?P<name>.+)-(?P<version>[^-]+)-(?P<build>[^-]+)\.(?:conda|tar\.bz2)")
_PLAIN = re.compile(r"[^/\\\x00-\x1f\x7f-\x9f]+")
_CONDA = re.compile(
    r"(?P<url>[a-z][a-z0-9+.-]*://[^\s#]+\.(?:conda|tar\.bz2))"
    r"(?:#(?P<md5>[0-9a-f]{32}))?(?: sha256:(?P<sha256>[0-9a-f]{64}))?"
    r"(?: size:(?P<size>[0-9]{1,18}))?"
)
_HASHED = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]*(==[^\s;]+| @ [a-z][a-z+]*://\S+| @ file:\.{1,2}/\S+)"
    r"( --hash=sha\d+:[0-9a-f]+)+"
)
_TREE = r"file:\.{1,2}/\S*#sha256=[0-9a-f]{64}(?:&editable)?"
_DIRECT = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]* @ (?:[a-z][a-z+]*://\S+|{_TREE})")


@dataclass(frozen=True)
class LockedPackage:
    """One conda package file. At least one of the hashes is there."""

    url: str
    """Without credentials."""
    md5: str = ""
    sha256: str = ""
    size: int = 0
    """Bytes of the archive; 0: not known, as in locks that were made without."""

    @property
    def package(self) -> Package:
        """What a node has when this is installed; raises ValueError for another file's name."""
        before, _, name = self.url.rpartition("/")
        found = _FILE.fullmatch(name)
        # The name becomes that of a file in a cache: it must not lead elsewhere.
        plain = _PLAIN.fullmatch(unquote(name)) and unquote(before.rpartition("/")[2]) not in {
            ".",
            "..",
        }
        if found is None or not plain:
            raise ValueError(f"{self.url} is not the address of a conda package")
        digest = self.md5 or self.sha256  # as probes have it: not every conda records both
        return Package("conda", found["name"], found["version"], found["build"], digest=digest)

    def __str__(self) -> str:
        md5 = f"#{self.md5}" if self.md5 else ""
        sha256 = f" sha256:{self.sha256}" if self.sha256 else ""
        return self.url + md5 + sha256 + (f" size:{self.size}" if self.size else "")


@dataclass(frozen=True)
class Section:
    """What the nodes of one platform install."""

    platform: Platform
    solver: str
    """Flavour and version of what solved it; empty when that is not known."""
    conda: tuple[LockedPackage, ...]
    """In the order in which they are linked."""
    pip: tuple[str, ...] = ()
    """Lines of a requirements file, each with a version or address and its hashes."""
    direct: tuple[str, ...] = ()
    """Lines for what cannot carry a hash: a VCS address at its commit, or a folder of sources
    (`NAME @ file:./PATH#sha256=HEX&editable`), whose digest is made by envsync."""

    @property
    def packages(self) -> tuple[Package, ...]:
        """What a node holds after an install; `?` for a version that only the source knows."""
        return (*(each.package for each in self.conda), *map(_pip_package, self.pip + self.direct))


@dataclass(frozen=True)
class Lock:
    """All sections, and the digests of the files that they were solved from."""

    sections: tuple[Section, ...]
    sources: tuple[tuple[str, str], ...] = ()
    """File name and digest; empty for a lock that another tool made."""

    def section(self, node: Platform) -> Section | None:
        """What a node of this platform installs, if that was solved."""
        return next((each for each in self.sections if each.platform.covers(node)), None)

    def extended(self, sections: Iterable[Section]) -> Lock:
        """The same with more sections, in an order of their own."""
        both = {each.platform: each for each in (*self.sections, *sections)}
        return Lock(tuple(both[key] for key in sorted(both, key=_sort_key)), self.sources)

    def stale(self, sources: Mapping[str, bytes]) -> str:
        """Why it is not for these files; empty when it is."""
        if not self.sources:
            return ""
        known = dict(self.sources)
        for name in sorted(known.keys() | sources.keys()):
            if name not in sources:
                return f"it was made with {name}, which is not asked for any more"
            if known.get(name) != digest(sources[name]):
                return f"{name} has changed since it was made"
        return ""


def linking_order(depends: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """Package names, each after those that it depends on; equal ones by the alphabet.

    Dependencies that are not among the names (virtual packages) do not count.
    """
    graph = {name: sorted(set(depends[name]) & depends.keys()) for name in sorted(depends)}
    try:
        return tuple(TopologicalSorter(graph).static_order())
    except CycleError:  # conda allows them: python and pip, once
        return tuple(sorted(depends, key=lambda name: (name != "python", name)))


def local_line(name: str, path: str, sha256: str, *, tree: bool, editable: bool) -> str:
    """A locked requirement for what is sent along; `path` is seen from the environment file."""
    place = "file:" + quote(path if path.startswith("../") else f"./{path}")
    if tree:
        return f"{name} @ {place}#sha256={sha256}" + ("&editable" if editable else "")
    return f"{name} @ {place} --hash=sha256:{sha256}"


def as_path(line: str) -> str:
    """A line of `local_line` as pip's requirements files have it; others as they are."""
    found = re.fullmatch(r"\S+ @ file:(\.{1,2}/[^\s#]*)(?:#sha256=\w+(&editable)?)?(.*)", line)
    if found is None:
        return line
    return f"{'-e ' if found[2] else ''}{unquote(found[1])}{found[3]}"


def digest(raw: bytes) -> str:
    return f"sha256:{hashlib.sha256(raw).hexdigest()}"


def lock_file(environment: Path) -> Path:
    """Where the lock of an environment file lies: beside it, under the same name."""
    return environment.with_suffix(".lock")


def format_lock(lock: Lock) -> str:
    """The text of the file: the same for the same lock, one package a line."""
    sections = [
        {
            **{
                key: value
                for key, value in (
                    ("subdir", each.platform.subdir),
                    ("cuda", each.platform.cuda),
                    ("glibc", each.platform.glibc),
                    ("flavour", each.platform.flavour),
                    ("solver", each.solver),
                )
                if value is not None
            },
            "conda": [str(package) for package in each.conda],
            "pip": list(each.pip),
            "direct": list(each.direct),
        }
        for each in lock.sections
    ]
    content = {MARK: VERSION, "sources": dict(lock.sources), "sections": sections}
    return _HEADER + yaml.safe_dump(content, sort_keys=False, width=10**6, allow_unicode=True)


def parse_lock(raw: bytes, source: str) -> Lock:
    """Read the file; `source` names it in messages. Raises InputError."""
    return _Reader(source).read(raw)


class _Reader:
    """Carries the file's name to every message."""

    def __init__(self, source: str) -> None:
        self._source = source

    def read(self, raw: bytes) -> Lock:
        root = compose(decode(raw, self._source), self._source)
        top = self._mapping(root)
        version = self._text(top.get(MARK))
        if version != str(VERSION):
            raise self._wrong(f"it is a lock of version {version or '?'}", top.get(MARK))
        sources = self._mapping(top.get("sources"))
        sections = self._items(top.get("sections"))
        return Lock(
            tuple(self._section(each) for each in sections),
            tuple((name, self._text(node)) for name, node in sources.items()),
        )

    def _section(self, node: yaml.Node) -> Section:
        keys = self._mapping(node)
        words = {
            key: self._text(keys[key]) if key in keys else None
            for key in ("subdir", "cuda", "glibc", "flavour", "solver")
        }
        if not words["subdir"]:
            raise self._wrong("a section has no `subdir:`", node)
        return Section(
            Platform(words["subdir"], words["cuda"], words["glibc"], words["flavour"]),
            words["solver"] or "",
            tuple(self._package(each) for each in self._items(keys.get("conda"))),
            tuple(self._line(each, _HASHED) for each in self._items(keys.get("pip"))),
            tuple(self._line(each, _DIRECT) for each in self._items(keys.get("direct"))),
        )

    def _package(self, node: yaml.Node) -> LockedPackage:
        text = self._text(node)
        found = _CONDA.fullmatch(text)
        if found is None or not (found["md5"] or found["sha256"]):
            raise self._wrong(f"{text!r} is not the address of a conda package and its hash", node)
        package = LockedPackage(
            found["url"], found["md5"] or "", found["sha256"] or "", int(found["size"] or 0)
        )
        try:
            _ = package.package
        except ValueError as error:
            raise self._wrong(str(error), node) from error
        return package

    def _line(self, node: yaml.Node, form: re.Pattern[str]) -> str:
        text = self._text(node)
        if not form.fullmatch(text):
            raise self._wrong(f"{text!r} is not a locked requirement", node)
        return text

    def _mapping(self, node: yaml.Node | None) -> dict[str, yaml.Node]:
        if not isinstance(node, yaml.MappingNode):
            raise self._wrong("it is not a lock of envsync's", node)
        return {self._text(key): value for key, value in node.value}

    def _items(self, node: yaml.Node | None) -> list[yaml.Node]:
        if not isinstance(node, yaml.SequenceNode):
            raise self._wrong("a list is missing", node)
        return list(node.value)

    def _text(self, node: yaml.Node | None) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise self._wrong("a word is missing", node)
        return str(node.value)

    def _wrong(self, message: str, node: yaml.Node | None) -> InputError:
        return InputError(
            message,
            file=self._source,
            line=line_of(node) if node else 0,
            hint="remove the file, and `envsync lock` makes it anew",
        )


def _sort_key(platform: Platform) -> tuple[str, ...]:
    return (
        platform.subdir,
        platform.cuda or "",
        platform.glibc or "",
        platform.flavour or "",
    )


def _pip_package(line: str) -> Package:
    name, _, rest = line.partition(" ")[0].partition("==")
    return Package("pip", name, rest or UNKNOWN, channel="pypi", origin=locked(line))
