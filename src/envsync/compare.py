"""What differs between nodes, and who is the odd one out. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from packaging.utils import canonicalize_name

from envsync.facts import Facts
from envsync.model import UNKNOWN, Package

RUNTIME = "torch and CUDA"

ABSENT = "-"
"""What a table shows where a node lacks something."""

BROKEN = "broken: "
"""How the value of what does not start begins; the reason follows."""

MAY_DIFFER = frozenset({"driver", "GPUs"})
"""Facts of the machine, not of the environment: shown when they differ, but no failure."""


@dataclass(frozen=True)
class Row:
    """One thing, and what each node says of it; values stand in the order of the nodes."""

    group: str
    """`torch and CUDA`, `conda` or `pip`; of nodes `system` and `variables` too."""
    name: str
    values: tuple[str, ...]
    doubtful: frozenset[int] = frozenset()
    """Positions of nodes that are known to be wrong; their word counts less."""
    machine: bool = False
    """A fact of the machine, not of the environment."""

    @property
    def differs(self) -> bool:
        return len(self._known) > 1

    @property
    def matters(self) -> bool:
        """True when a difference here means that the environments are not the same."""
        return self.differs and not self.machine and self.name not in MAY_DIFFER

    @property
    def majority(self) -> str:
        """The commonest value; of equally common ones that of the sound nodes, or the first."""
        counts = Counter(value for value in self.values if value != UNKNOWN)
        sound = Counter(v for i, v in enumerate(self.values) if i not in self.doubtful)
        return max(counts, key=lambda value: (counts[value], sound[value]), default=UNKNOWN)

    @property
    def odd(self) -> tuple[int, ...]:
        """Positions of the nodes that do not hold the majority's value."""
        normal = {self.majority, UNKNOWN}
        return tuple(i for i, value in enumerate(self.values) if value not in normal)

    @property
    def _known(self) -> set[str]:
        return set(self.values) - {UNKNOWN}


def compare(facts: Sequence[Facts], doubtful: Collection[int] = ()) -> tuple[Row, ...]:
    """A row for each thing that any node has: torch and CUDA first, then conda, then pip.

    `doubtful` are the positions of nodes that are known to be wrong for another reason.
    """
    rows = (*_runtime_rows(facts), *_package_rows(facts))
    return tuple(replace(row, doubtful=frozenset(doubtful)) for row in rows)


def differences(rows: Iterable[Row]) -> tuple[Row, ...]:
    """The rows that are not the same on all nodes."""
    return tuple(row for row in rows if row.differs)


def _runtime_rows(facts: Sequence[Facts]) -> Iterator[Row]:
    tables = [dict(each.runtime) for each in facts]
    for name in dict.fromkeys(name for table in tables for name in table):
        values = (
            table.get(name, UNKNOWN if each.blind or _mute(table) else ABSENT)
            for table, each in zip(tables, facts, strict=True)
        )
        yield Row(RUNTIME, name, tuple(values))


def _mute(runtime: Mapping[str, str]) -> bool:
    """A torch that cannot be imported says nothing of itself."""
    return runtime.get("torch", "").startswith(BROKEN)


def _package_rows(facts: Sequence[Facts]) -> list[Row]:
    """One row a package, whoever installed it: what conda installs pip may replace."""
    tables = [_installed(each) for each in facts]
    rows = []
    for key in {key for table in tables for key in table}:
        found = [table.get(key) for table in tables]
        present = [each for each in found if each]
        from_conda = [each.package for each in present if each.package.kind == "conda"]
        replaced = [each.replaces for each in present if each.replaces]
        conda_name = next((each.name for each in (*from_conda, *replaced)), "")
        texts = _texts(found)
        if not conda_name:
            texts = tuple(
                UNKNOWN if each.blind and text == ABSENT else text
                for text, each in zip(texts, facts, strict=True)
            )
        rows.append(Row("conda" if conda_name else "pip", conda_name or key, texts))
    return sorted(rows, key=lambda row: (row.group, row.name))


@dataclass(frozen=True)
class _Installed:
    package: Package
    replaces: Package | None = None
    """conda's package of the same name, whose files pip's now cover."""


def _installed(facts: Facts) -> Mapping[str, _Installed]:
    """What counts on one node under each name: pip's word, since its files are on top."""
    table: dict[str, _Installed] = {
        canonicalize_name(each.name): _Installed(each) for each in facts.conda
    }
    for each in facts.pip:
        below = table.get(canonicalize_name(each.name))
        table[canonicalize_name(each.name)] = _Installed(each, below.package if below else None)
    return table


def _texts(found: Sequence[_Installed | None]) -> tuple[str, ...]:
    """Version and build; hash or origin as well where nothing else tells two nodes apart."""
    packages = [each.package if each else None for each in found]
    texts = tuple(_text(package) for package in packages)
    digests = {package.digest for package in packages if package}
    comparable = len({len(digest) for digest in digests}) == 1
    if len(set(texts)) == 1 and len(digests) > 1 and comparable:
        return tuple(
            f"{text} #{each.digest[:8]}" for text, each in zip(texts, packages, strict=True) if each
        )
    origins = {package.origin for package in packages if package}
    alike = len(set(texts) - {UNKNOWN}) <= 1 and None not in packages
    if alike and len(origins - {UNKNOWN}) > 1:
        return tuple(_from(package) for package in packages if package)
    return texts


def _from(package: Package) -> str:
    """Whence it is, for packages that have the same version everywhere."""
    if package.origin == UNKNOWN:
        return UNKNOWN
    version = "" if package.version == UNKNOWN else f"{package} "
    return f"{version}from {package.origin or 'an index'}"


def _text(package: Package | None) -> str:
    if package is None:
        return ABSENT
    return UNKNOWN if package.version == UNKNOWN else str(package)
