"""What the benchmarks share: nodes as in the tests, and figures in one form."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from cluster.lab import MAX_LISTEN, Cluster, Lab, Node, free_port


@contextmanager
def cluster(nodes: int, hosts_a_node: int = 1) -> Iterator[Cluster]:
    """Running nodes with a conda each; `hosts_a_node` names lead to every one of them."""
    with tempfile.TemporaryDirectory(prefix="envsync-bench-") as folder:
        base = Path(folder)
        (base / "lab").mkdir()
        lab = Lab(base / "lab")
        made = []
        for number in range(nodes):
            address = f"127.0.0.{number + 2}"
            node = Node(
                lab,
                base / f"home{number}",
                address,
                free_port(address),
                base / f"node{number}",
                aliases=min(hosts_a_node, MAX_LISTEN) - 1,
                extra="MaxStartups 500",  # what is dropped and tried again is no fair measure
            )
            node.install_conda()
            made.append(node.start())
        try:
            yield Cluster(made, base / "project", lab)
        finally:
            for node in made:
                node.stop()


def seconds(run: Callable[[], object]) -> float:
    """Wall-clock seconds of one call."""
    started = time.monotonic()
    run()
    return time.monotonic() - started


def compare(title: str, ours: list[float], peer: list[float], unit: str, limit: float) -> bool:
    """Print medians and their ratio; whether it is within the limit."""
    mine, theirs = statistics.median(ours), statistics.median(peer)
    ratio = mine / theirs
    good = ratio <= limit
    print(
        f"{title}: {mine:.2f} {unit}, peer {theirs:.2f} {unit}, ratio {ratio:.2f}"
        f" (at most {limit}) {'ok' if good else 'TOO SLOW'}"
    )
    return good
