"""What a node without the internet lacks of a lock, and how it gets there. Decisions are pure.

A conda package goes into the node's own package cache, as conda itself would have put it there,
so that the environment is that of a node which fetched it. pip's wheels have a folder of their
own for the time of the push.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote

from envsync import scripts
from envsync.errors import HostError, InputError
from envsync.flavours import Conda
from envsync.generations import HIDDEN, QUICK, SLOW, Slot
from envsync.lock import LockedPackage, Section, as_path, lock_file
from envsync.plan import Step
from envsync.ports import Command, Completed, Piece
from envsync.recipe import ORIGINS, Recipe
from envsync.spec import EnvironmentSpec

LIMIT = 600.0
"""Seconds for the question what is there; conda starts once, and archives are read."""
_MEGABYTE = 1e6


@dataclass(frozen=True)
class Parcel:
    """A file that a lock names, on this machine and checked against it."""

    name: str
    url: str
    """Of a conda package, without credentials; empty for a wheel."""
    file: Path
    """Where its bytes are, from `start` on."""
    md5: str
    sha256: str
    size: int
    """Bytes."""
    line: str = ""
    """The locked requirement that a wheel is for."""
    start: int = 0

    def rest(self, there: int) -> Piece:
        """What follows its first `there` bytes."""
        return Piece(self.file, self.start + there, self.size - there)


Tell = Callable[[str], None]
"""Is told what is being waited for."""
Source = Callable[[EnvironmentSpec, Section, Tell], tuple[Parcel, ...]]
"""Where the files of a section come from, each checked against its hash. Raises InputError."""


@dataclass(frozen=True)
class Place:
    """Where files go on one node."""

    slot: Slot
    host: str

    @classmethod
    def of(cls, step: Step) -> Place:
        return cls(step.slot, str(step.host))

    @property
    def wheels(self) -> str:
        """A folder beside the generations that nothing takes for an environment."""
        return f"{self.slot.envs_dir}/{HIDDEN}/.{self.slot.name}.wheels"

    @property
    def mark(self) -> str:
        """In the name of each part: two pushes, or nodes, on one cache have parts of their own."""
        return hashlib.sha256(f"{self.host} {self.slot.link}".encode()).hexdigest()[:8]

    def discard(self) -> Command:
        """Remove the wheels, which an environment that is sealed does not need."""
        return Command('rm -rf -- "$1"', (self.wheels,), timeout=QUICK)


@dataclass(frozen=True)
class Stock:
    """What one node has of the files."""

    layout: str
    cache: str
    """The package cache that new archives go into; empty: none can be written to."""
    free: tuple[int, ...]
    """Bytes in the cache, and where wheels go; empty: not known."""
    lacks: Mapping[str, int]
    """By the name of each file that is not ready: how many bytes of it are there."""
    holds: Mapping[str, str] = field(default_factory=dict)
    """The cache in which each file lies, packed, by its name; only if that was asked."""

    def with_all(self, names: Collection[str]) -> Stock:
        """The same, after these have arrived."""
        lacks = {each: there for each, there in self.lacks.items() if each not in names}
        return replace(self, lacks=lacks, holds={**self.holds, **dict.fromkeys(names, self.cache)})


def needs_building(section: Section) -> tuple[str, ...]:
    """The locked lines of which there is a source alone, whose build would ask the internet."""
    archives = (line for line in section.pip if _is_archive(line))
    return (*archives, *section.direct)


def must_be_files(spec: EnvironmentSpec, section: Section) -> None:
    """Raises InputError for what a node would have to build, since a build asks the internet."""
    lines = needs_building(section)
    if lines:
        more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
        raise InputError(
            f"{lines[0].partition(' --hash=')[0]} is a source, whose build on a node would need the"
            f" internet{more}",
            file=str(lock_file(Path(spec.source))),
            hint="build a wheel of it (`pip wheel`), name that in the pip section (./wheels/x.whl,"
            " or --find-links), and lock anew",
        )


def wheel_lines(section: Section) -> tuple[str, ...]:
    """The locked lines whose wheels have to be fetched; others travel with the file."""
    return tuple(line for line in section.pip if as_path(line) == line)


def _is_archive(line: str) -> bool:
    address = as_path(line).partition(" --hash=")[0].partition(" @ ")
    path = address[2] or address[0]
    return "==" not in line.partition(" ")[0] and not path.partition("#")[0].endswith(".whl")


def hashes(line: str) -> frozenset[str]:
    """The sha256 sums of the files that a locked line allows."""
    return frozenset(re.findall(r"--hash=sha256:([0-9a-f]{64})", line))


def fits(package: LockedPackage, md5: str, sha256: str) -> bool:
    """Whether a file is what the lock says."""
    return package.sha256 == sha256 if package.sha256 else package.md5 == md5


def ask(conda: Conda, place: Place, parcels: Sequence[Parcel], *, holds: bool = False) -> Command:
    """Which of the files the node lacks, and with `holds` which it has; see `parse_stock`."""
    lines = ("\t".join(_words(each)) for each in parcels)
    return Command(
        "".join(map(scripts.load, ("parcel.sh", "room.sh", "stock.sh"))),
        (place.mark, place.wheels, "holds" if holds else "", *conda.information()),
        stdin="".join(f"{line}\n" for line in lines).encode(),
        timeout=LIMIT,
    )


def _words(parcel: Parcel) -> tuple[str, ...]:
    return (parcel.url or "-", parcel.name, parcel.md5, parcel.sha256, str(parcel.size))


def parse_stock(done: Completed) -> Stock:
    """Read the answer. Raises HostError where conda did not say which caches it has."""
    if done.exit_code:
        raise HostError(
            "no-cache",
            "its conda does not say which package caches it has",
            hint="see what `conda info --json` says there",
            output=done.log,
        )
    words: dict[str, str] = {}
    lacks: dict[str, int] = {}
    holds: dict[str, str] = {}
    free: list[int] = []
    for line in done.text.splitlines():
        key, *rest = line.split("\t")
        if key == "lacks" and len(rest) > 1:
            lacks[rest[0]] = int(rest[1] or 0)
        elif key == "free_kib" and rest and rest[0].isdigit():
            free.append(int(rest[0]) * 1024)
        elif key == "holds" and len(rest) > 1:
            holds[rest[0]] = rest[1]
        elif rest:
            words[key] = rest[0]
    return Stock(
        words.get("layout", ""),
        words.get("place", ""),
        tuple(free) if len(free) == len(("cache", "wheels")) else (),
        lacks,
        holds,
    )


@dataclass(frozen=True)
class Shipment:
    """What is sent to one node: each file, and how many bytes of it are there already."""

    parcels: tuple[tuple[Parcel, int], ...]

    @property
    def size(self) -> int:
        """Bytes to send."""
        return sum(parcel.size - there for parcel, there in self.parcels)

    def only(self, names: Sequence[str]) -> Shipment:
        """Those, from their first byte."""
        return Shipment(tuple((each, 0) for each, _ in self.parcels if each.name in names))

    def part(self, names: Collection[str]) -> Shipment:
        """Those, from where they end."""
        return Shipment(tuple(pair for pair in self.parcels if pair[0].name in names))

    def send(self, place: Place, stock: Stock, *, last: bool = True) -> Command:
        """Answers which files did not arrive as they are (`parse_wrong`).

        Until the `last` one, parts of other files stay.
        """
        words = (word for parcel, there in self.parcels for word in (*_words(parcel), str(there)))
        return Command(
            scripts.load("parcel.sh") + scripts.load("stow.sh"),
            (place.mark, stock.layout, stock.cache, place.wheels, "last" if last else "", *words),
            stdin=tuple(
                parcel.rest(there) for parcel, there in self.parcels if there < parcel.size
            ),
            timeout=LIMIT + self.size / SLOW,
        )


def shipment(parcels: Sequence[Parcel], stock: Stock) -> Shipment:
    """What to send to a node with that stock. Raises HostError where it cannot be taken."""
    lacking = [(each, stock.lacks[each.name]) for each in parcels if each.name in stock.lacks]
    made = Shipment(tuple((each, there if there <= each.size else 0) for each, there in lacking))
    if not stock.cache and any(each.url for each, _ in lacking):
        raise HostError(
            "read-only-cache",
            "none of its package caches can be written to, and it lacks packages",
            hint="name one of that user's own with `pkgs_dirs` in the node's .condarc",
        )
    conda = made.part([each.name for each in parcels if each.url])
    sizes = (conda.size, made.size - conda.size)
    if len(set(stock.free)) == 1:  # one file system, or two that are alike
        sizes = (made.size, 0)
    places = (f"in {stock.cache}", "where the wheels go")
    for size, free, place in zip(sizes, stock.free, places, strict=False):
        if free < size:
            raise HostError(
                "disk-full",
                f"{megabytes(size)} have to be sent, and {megabytes(free)} are free {place}",
                hint="make room there (`conda clean --all` often helps), then push again",
            )
    return made


def parse_wrong(done: Completed) -> tuple[str, ...]:
    """The names of the files that did not arrive as they are."""
    return tuple(
        line.partition("\t")[2] for line in done.text.splitlines() if line.startswith("wrong\t")
    )


def damaged(names: Sequence[str]) -> HostError:
    """For files that were sent twice and arrived as something else each time."""
    return HostError(
        "damaged",
        f"{', '.join(names)} did not arrive as sent, twice",
        hint="look at the host's disk; nothing was kept of it",
    )


def sent(whole: Sequence[Parcel], made: Shipment) -> str:
    """What was, or would be, sent, for people."""
    count = sum(1 for parcel, there in made.parcels if there < parcel.size)
    had = len(whole) - count
    return f"{megabytes(made.size)} in {count} of {len(whole)} files, {had} were there"


def megabytes(size: int) -> str:
    return f"{size / _MEGABYTE:.1f} MB"


def offline(recipe: Recipe, place: Place, parcels: Sequence[Parcel]) -> Recipe:
    """The same generation, built from files of the node alone."""
    files = dict(recipe.files)
    # md5, which conda computes of an archive that it finds: it would not find it by sha256.
    explicit = (f"{each.url}#{each.md5}\n" for each in parcels if each.url)
    files["explicit.txt"] = f"@EXPLICIT\n{''.join(explicit)}".encode()
    lines = recipe.locked.pip if recipe.locked else ()
    if lines:
        by_line = {each.line: each for each in parcels if each.line}
        head = f"--no-index\n--find-links {shlex.quote(place.wheels)}\n"
        text = "".join(f"{_from_file(line, place, by_line)}\n" for line in lines)
        files["pip.txt"] = (head + text).encode()
        if origins := "".join(f"{each[0]} {each[2]}\n" for each in map(_address, lines) if each[2]):
            files[ORIGINS] = origins.encode()
    # What stays beside the generation is what a node keeps that fetched everything itself.
    clean: dict[str, bytes]
    clean = {each: recipe.kept[each] for each in ("explicit.txt", "pip.txt") if each in files}
    return replace(recipe, files=files, clean={**recipe.clean, **clean}, offline=True)


def _address(line: str) -> tuple[str, str, str]:
    """Name, separator and address of a wheel that is asked for by its address; else blanks."""
    found = re.match(r"(\S+)( @ )([a-z]+://\S+)", as_path(line))
    return (found[1], found[2], found[3]) if found else ("", "", "")


def _from_file(line: str, place: Place, parcels: Mapping[str, Parcel]) -> str:
    """A locked line for pip, which is to take a wheel with an address from its file."""
    address = _address(line)[2]
    if not address:
        return as_path(line)
    return line.replace(address, "file://" + quote(f"{place.wheels}/{parcels[line].name}"), 1)
