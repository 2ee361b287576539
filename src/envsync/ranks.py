"""Judges an all-reduce over the nodes: who did not come, who failed, who is slow. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import median

from envsync.collective import Gathering
from envsync.judge import UNFIT, Finding
from envsync.model import Host
from envsync.probes.collective import STAGES, Rank
from envsync.rules import Level

COLLECTIVE = "collective"
"""What the findings are about."""

SLOW = 3
"""How many times slower than the middle one a link is that is told."""

_FEWEST = 3
"""Of two nodes nobody knows which one is slow."""

_REASON = "A run on these nodes would hang or fail just so."
_HANGS = "All other ranks wait for it."

_HINTS = {
    "": "see the node's load, and `envsync ping`",
    "started": 'python -c "import torch" on the node says more',
    "imported": "open the port between the nodes, choose another with --port, or name the network"
    " with --interface",
    "reached": "see the node's load; --wait gives it longer",
    "arrived": "name the network with --interface (GLOO_SOCKET_IFNAME or NCCL_SOCKET_IFNAME for"
    " jobs), and let the nodes reach all ports of each other",
    "formed": "see the network between the nodes; NCCL_DEBUG=INFO says more of nccl",
    "reduced": "see the network between the nodes",
    "measured": "run it again",
}
"""By the last stage that a rank reached."""


def collected(gathering: Gathering | None) -> list[Finding]:
    """What is wrong with the nodes; nothing if nobody asked."""
    if gathering is None:
        return []
    return [*_absent(gathering), *_late(gathering), *_failed(gathering), *_slow(gathering)]


def _absent(gathering: Gathering) -> Iterator[Finding]:
    for host, why in gathering.absent.items():
        message = f"it takes no part in the all-reduce: {why}"
        hint = "mend that, or leave the node out with --exclude"
        if why.startswith("port "):
            hint = "choose another with --port, or end what listens there"
        yield _finding(host, message, hint, _REASON)


def _late(gathering: Gathering) -> Iterator[Finding]:
    waiting = sum(bool(each.missing) for each in gathering.ranks.values())
    others = "1 rank" if waiting == 1 else f"{waiting} ranks"
    for host in gathering.unheard:
        rank = gathering.ranks[host].rank
        message = f"rank {rank} did not arrive within {gathering.meeting.wait} s"
        message += f"; {others} waited for it" if waiting else ""
        yield _finding(host, message, _HINTS[""], _HANGS)


def _failed(gathering: Gathering) -> Iterator[Finding]:
    """Those that failed first in order of the stages; of the others that is a consequence."""
    found = {host: each for host, each in gathering.ranks.items() if each.failed}
    first = min(map(_stage, found.values()), default=0) if not gathering.unheard else -1
    for host, each in found.items():
        message = f"rank {each.rank} failed after it had {_did(each.stage)}: {each.failed}"
        level = Level.ERROR if _stage(each) == first else Level.INFO
        yield _finding(host, message, _HINTS.get(each.stage, ""), _REASON, level)


def _stage(rank: Rank) -> int:
    return STAGES.index(rank.stage) if rank.stage in STAGES else 0


def _did(stage: str) -> str:
    return {
        "imported": "imported torch",
        "reached": "reached rank 0",
        "arrived": "met all others",
        "formed": "connected to the others",
        "reduced": "reduced",
        "measured": "measured",
    }.get(stage, "started")


def _slow(gathering: Gathering) -> Iterator[Finding]:
    links = {h: each.link_bandwidth for h, each in gathering.ranks.items() if each.link_bandwidth}
    if len(links) < _FEWEST:
        return
    usual = median(links.values())
    for host, bandwidth in links.items():
        if bandwidth * SLOW < usual:
            message = (
                f"its network carries {rate(bandwidth)}, that of the middle node {rate(usual)}"
            )
            hint = "ethtool and ibstat on the node: a link at a lower speed, or another interface"
            reason = "All ranks wait for the slowest one in each step."
            yield _finding(host, message, hint, reason, Level.WARNING)


def _finding(
    host: Host, message: str, hint: str, reason: str, level: Level = Level.ERROR
) -> Finding:
    return Finding(host, UNFIT, message, hint, COLLECTIVE, level, reason)


def reduced(gathering: Gathering | None) -> str:
    """What it came to, as one sentence; empty if nobody asked."""
    if gathering is None:
        return ""
    ranks, backend = gathering.ranks, gathering.meeting.backend
    count = "1 rank" if len(ranks) == 1 else f"{len(ranks)} ranks"
    well = sum(each.ok for each in ranks.values())
    if not ranks:
        return f"collective: no all-reduce took place over {backend}"
    if well < len(ranks):
        return (
            f"collective: the all-reduce over {backend} failed: {well} of {count} came to its end"
        )
    times = [each.latency for each in ranks.values() if each.latency]
    rates = [each.bandwidth for each in ranks.values() if each.bandwidth]
    figures = f", {duration(max(times))}" if times else ""
    figures += f", {rate(min(rates))}" if rates else ""
    return f"collective: the all-reduce over {backend} is right on {count}{figures}"


def measures(gathering: Gathering | None) -> Mapping[Host, tuple[str, str, str]]:
    """Rank, and latency and bandwidth of its link, for each node."""
    if gathering is None:
        return {}
    return {
        host: as_text(each.rank, each.link_latency, each.link_bandwidth)
        for host, each in gathering.ranks.items()
    }


def as_text(rank: int, latency: float | None, bandwidth: float | None) -> tuple[str, str, str]:
    """One line of the table; `-` where a rank did not get so far."""
    how_long = duration(latency) if latency else "-"
    return str(rank), how_long, rate(bandwidth) if bandwidth else "-"


def duration(seconds: float) -> str:
    """As a person reads it: 54 µs, 1.2 ms, 2.0 s."""
    if seconds < 1e-3:  # noqa: PLR2004 (units)
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"


def rate(bytes_a_second: float) -> str:
    """As a person reads it: 12.1 GB/s, 117 MB/s."""
    if bytes_a_second >= 1e9:  # noqa: PLR2004 (units)
        return f"{bytes_a_second / 1e9:.1f} GB/s"
    return f"{bytes_a_second / 1e6:.0f} MB/s"
