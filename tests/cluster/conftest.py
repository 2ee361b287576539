"""Fixtures for tests on real nodes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cluster.lab import Cluster, Lab, Node, free_port

MakeCluster = Callable[..., Cluster]


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return Lab(tmp_path_factory.mktemp("lab"))


@pytest.fixture(scope="session")
def warm_packages(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package cache in which everything is unpacked, to be hard-linked into each node."""
    folder = tmp_path_factory.mktemp("warm")
    node = Node(lab, folder / "home", "127.0.0.1", free_port(), folder / "node")
    node.install_conda()
    subprocess.run(
        [
            str(node.root / "bin" / "conda"), "create", "--yes", "--quiet", "--download-only",
            "--prefix", str(folder / "prefix"), "python", "pip", "numlike=1.26", "tiny",
        ],
        env={"HOME": str(node.home), "PATH": "/usr/bin:/bin"},
        check=True,
        capture_output=True,
    )  # fmt: skip
    return node.root / "pkgs"


@pytest.fixture
def make_cluster(lab: Lab, warm_packages: Path, tmp_path: Path) -> Iterator[MakeCluster]:
    """Makes clusters of running nodes, each with a conda of its own."""
    started: list[Node] = []

    def make(count: int = 1, *, conda: bool = True, home: str = "", **options: object) -> Cluster:
        nodes = []
        for _ in range(count):
            number = len(started) + 1
            address = f"127.0.0.{number + 1}"
            node = Node(
                lab,
                tmp_path / f"home{number}" / home if home else tmp_path / f"home{number}",
                address,
                free_port(address),
                tmp_path / f"node{number}",
                **options,  # type: ignore[arg-type]
            )
            if conda:
                node.install_conda()
                node.root.joinpath("pkgs").rmdir()
                subprocess.run(
                    ["cp", "-al", str(warm_packages), str(node.root / "pkgs")], check=True
                )
            started.append(node.start())
            nodes.append(node)
        return Cluster(nodes, tmp_path / f"project{len(started)}", lab)

    yield make
    for node in started:
        node.stop()
