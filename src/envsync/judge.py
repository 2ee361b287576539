"""Judges the wider facts of all nodes by the table of rules. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from envsync.compare import ABSENT, RUNTIME, Row
from envsync.facts import Facts
from envsync.model import UNKNOWN, Host
from envsync.rules import RULES, Comparison, Level, Rule, rule_of
from envsync.wide import Gpu, Gpus, System, Torch, Wide

MACHINE = "system"
"""The group of what belongs to the machine below the environment."""
VARIABLES = "variables"

DERIVED = frozenset({"torch git", "debug build", "C++ ABI", "GPU architectures", "backends"})
"""Facts in which another torch differs as a matter of course."""

BUILT_IN = DERIVED | {"cuDNN", "NCCL", "cuda available"}
"""Facts in which a torch that was built for another CUDA, or for none, differs besides."""

UNLIKE = "unlike"
"""Cause of a finding: a fact of the machine is not as on most nodes."""
UNFIT = "unfit"
"""Cause of a finding: something is wrong with this node, whatever the others have."""


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it should be on one node."""

    host: Host
    cause: str
    message: str
    hint: str
    what: str = ""
    """The package or fact that it is about, if it is about one."""
    level: Level = Level.ERROR
    reason: str = ""
    """Why it matters for distributed training, where a rule says so."""

    @property
    def drift(self) -> bool:
        """Whether the environment is not what it should be, and not the machine around it."""
        return self.cause not in {UNLIKE, UNFIT}


def wide_rows(facts: Sequence[Facts], *, everything: bool = False) -> tuple[Row, ...]:
    """A row for each wider fact that nodes are compared in; none if nobody asked for them.

    With `everything` there is one as well for what may differ.
    """
    tables = [dict(_named(each.wide)) if each.wide else None for each in facts]
    keys = dict.fromkeys(key for table in tables for key in table or ())
    rows = []
    for group, name in keys:
        absent = ABSENT if group == VARIABLES else UNKNOWN
        values = tuple(UNKNOWN if t is None else t.get((group, name), absent) for t in tables)
        rows.append(Row(group, name, values, machine=group != RUNTIME))
    return tuple(row for row in rows if everything or not may_differ(row))


def why(row: Row) -> str:
    """Why a difference in this row matters, where a rule says so."""
    rule = _rule(row)
    return rule.reason if rule and row.group == RUNTIME else ""


def _rule(row: Row) -> Rule | None:
    return rule_of(row.name) or (rule_of(VARIABLES) if row.group == VARIABLES else None)


def may_differ(row: Row) -> bool:
    """Whether the table of rules lets nodes differ in this, such as in their names."""
    rule = _rule(row)
    return row.group in _OF_RULES and rule is not None and rule.comparison is Comparison.MAY


def level_of(row: Row) -> Level:
    """How much a difference in this row matters; of a package always as an error does."""
    rule = _rule(row) if row.group in _OF_RULES else None
    return rule.level if rule else Level.ERROR


_OF_RULES = frozenset({RUNTIME, MACHINE, VARIABLES})
"""Groups that the table of rules is about; a package may have the name of a fact."""


def unfit(facts: Mapping[Host, Facts]) -> list[Finding]:
    """What is wrong with single nodes, whatever the others have."""
    every = tuple(facts.values())
    return [
        Finding(host, UNFIT, message, rule.hint, rule.fact, rule.level, rule.reason)
        for host, own in facts.items()
        if own.wide
        for rule in RULES
        if rule.check
        for message in rule.check(own, every)
    ]


def unlike(hosts: Sequence[Host], rows: Iterable[Row]) -> Iterator[Finding]:
    """Where machines are not as most are; differences of environments are not told here."""
    for row in rows:
        rule = _rule(row)
        if rule is None or row.matters or rule.comparison is not Comparison.SHOULD:
            continue
        for position in row.odd if row.differs else ():
            yield Finding(
                hosts[position],
                UNLIKE,
                say_odd(row, position),
                rule.hint,
                row.name,
                rule.level,
                rule.reason,
            )


def say_odd(row: Row, position: int) -> str:
    """How a node differs from most, in words."""
    absent = "not set" if row.group == VARIABLES else "missing"
    value, normal = (absent if v == ABSENT else v for v in (row.values[position], row.majority))
    return f"{row.name} is {value}, on most nodes {normal}"


def _named(wide: Wide) -> Iterator[tuple[tuple[str, str], str]]:
    """Group and name of each fact, with its value as text; what is not known is left out."""
    torch = ((RUNTIME, name, value) for name, value in _torch(wide.torch or Torch()))
    machine = (*_gpus(wide.gpus), *_system(wide.system), *_threads(wide.torch or Torch()))
    variables = ((VARIABLES, name, value) for name, value in wide.leaks.variables or ())
    for group, name, value in (*torch, *((MACHINE, *each) for each in machine), *variables):
        if value is not None:
            yield (group, name), value if value or group == VARIABLES else "none"


def _torch(torch: Torch) -> Iterator[tuple[str, str | None]]:
    yield "torch git", torch.git
    yield "debug build", _yes(torch.debug)
    yield "C++ ABI", None if torch.cxx11_abi is None else "new" if torch.cxx11_abi else "old"
    yield "GPU architectures", None if torch.archs is None else " ".join(torch.archs)
    yield "backends", None if torch.backends is None else ", ".join(torch.backends)


def _threads(torch: Torch) -> Iterator[tuple[str, str | None]]:
    yield "bf16", _yes(torch.bf16)
    yield "torch threads", _number(torch.threads)


def _gpus(found: Gpus) -> Iterator[tuple[str, str | None]]:
    gpus = found.gpus
    if gpus is None:
        return
    yield "GPU models", _counted(gpus)
    if gpus:
        yield "GPU memory", _kinds(f"{each.memory_mib} MiB" for each in gpus if each.memory_mib)
        yield "compute capability", _kinds(each.capability for each in gpus)
        yield "MIG", _kinds(each.mig for each in gpus)
        yield "ECC", _kinds(each.ecc for each in gpus)
        yield "persistence mode", _kinds(each.persistence for each in gpus)
        yield "GPU uuid", _kinds(each.uuid for each in gpus)


def _system(system: System) -> Iterator[tuple[str, str | None]]:
    yield "OS", system.os
    yield "kernel", system.kernel
    yield "machine", system.machine
    yield "glibc", system.glibc
    yield "C++ library", system.libstdcxx
    yield "CPU", system.cpu
    yield "CPU level", f"x86-64-v{system.cpu_level}" if system.cpu_level else None
    yield "cores", _number(system.usable_cores)
    yield "memory", _gib(system.memory_kib and system.memory_kib * 1024)
    yield "shared memory", _gib(system.shm_bytes)
    yield "locked memory", "unlimited" if system.memlock == -1 else _number(system.memlock)
    yield "open files", "unlimited" if system.nofile == -1 else _number(system.nofile)
    if system.infiniband is not None:
        yield "InfiniBand", ", ".join(f"{e.name} {e.state} {e.rate}" for e in system.infiniband)
    if system.interfaces is not None:
        yield "MTU", _kinds(str(mtu) for _, mtu in system.interfaces)
    yield "hostname", system.hostname


def _counted(gpus: Sequence[Gpu]) -> str:
    names = [each.name for each in gpus]
    return ", ".join(f"{names.count(name)} x {name}" for name in sorted(set(names)))


def _kinds(values: Iterable[str]) -> str:
    return ", ".join(sorted(set(values) - {""}))


def _yes(value: bool | None) -> str | None:  # noqa: FBT001 (a value, and no switch)
    return None if value is None else "yes" if value else "no"


def _number(value: int | None) -> str | None:
    return None if value is None else str(value)


def _gib(size: int | None) -> str | None:
    """Rounded: equal machines differ in a few pages."""
    return None if size is None else f"{size / 2**30:.0f} GiB"
