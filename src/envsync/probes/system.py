"""What node/system.py says, as data."""

from __future__ import annotations

from envsync.probes.answers import Answers
from envsync.wide import Port, System


def parse_system(said: Answers) -> System:
    """The machine; what could not be read there is not known."""
    cpu = said.table("cpu") or {}
    level = cpu.get("level")
    return System(
        os=said.text("os"),
        kernel=said.text("kernel"),
        machine=said.text("machine"),
        glibc=said.text("glibc"),
        libstdcxx=_newest(said),
        cpu=str(cpu["model"]) if "model" in cpu else None,
        cpu_level=level if isinstance(level, int) else None,
        cores=said.number("cores"),
        usable_cores=said.number("usable_cores"),
        memory_kib=said.number("memory_kib"),
        shm_bytes=said.number("shm_bytes"),
        memlock=said.number("memlock"),
        nofile=said.number("nofile"),
        infiniband=_ports(said),
        interfaces=_interfaces(said),
        hostname=said.text("hostname"),
        addresses=said.texts("addresses"),
        reached_at=said.text("reached_at"),
    )


def _newest(said: Answers) -> str | None:
    found = said.table("libstdcxx")
    return str(found.get("newest")) if found else said.text("libstdcxx")


def _ports(said: Answers) -> tuple[Port, ...] | None:
    """A state reads `4: ACTIVE` (Linux, Documentation/ABI/stable/sysfs-class-infiniband)."""
    ports = said.tables("infiniband")
    if ports is None:
        return None
    return tuple(
        Port(
            f"{each.get('device')}/{each.get('port')}",
            str(each.get("state", "")).rpartition(":")[2].strip(),
            str(each.get("rate", "")),
            str(each.get("firmware", "")),
        )
        for each in ports
    )


def _interfaces(said: Answers) -> tuple[tuple[str, int], ...] | None:
    found = said.table("interfaces")
    if found is None:
        return None
    return tuple((name, mtu) for name, mtu in found.items() if isinstance(mtu, int))
