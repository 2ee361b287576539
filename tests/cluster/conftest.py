"""Fixtures for tests on real nodes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cluster.lab import Cluster, Lab, Node, free_port


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return Lab(tmp_path_factory.mktemp("lab"))


@pytest.fixture(scope="session")
def warm_packages(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A package cache in which everything is unpacked, to be hard-linked into each node.

    Its node goes on to solve for the tests that want a lock.
    """
    with warmed(lab, tmp_path_factory.mktemp("warm"), "numlike=1.26", "tiny") as packages:
        yield packages


@contextmanager
def warmed(lab: Lab, folder: Path, *packages: str) -> Iterator[Path]:
    """The package cache of a node that has downloaded these; it solves as long as this lasts."""
    node = Node(lab, folder / "home", "127.0.0.1", free_port(), folder / "node")
    node.install_conda()
    subprocess.run(
        [
            str(node.root / "bin" / "conda"), "create", "--yes", "--quiet", "--download-only",
            "--prefix", str(folder / "prefix"), "python", "pip", *packages,
        ],
        env={"HOME": str(node.home), "PATH": "/usr/bin:/bin"},
        check=True,
        capture_output=True,
    )  # fmt: skip
    lab.solver = Cluster([node.start()], folder / "solver", lab)
    yield node.root / "pkgs"
    node.stop()


class Maker:
    """Makes clusters of running nodes, each with a conda of its own; stops them all."""

    def __init__(self, lab: Lab, packages: Path, folder: Path) -> None:
        self._lab = lab
        self._packages = packages
        self._folder = folder
        self._nodes: list[Node] = []

    def __call__(
        self, count: int = 1, *, conda: bool = True, home: str = "", **options: object
    ) -> Cluster:
        made = [self._node(home, conda=conda, **options) for _ in range(count)]
        return Cluster(made, self._folder / f"project{len(self._nodes)}", self._lab)

    def _node(self, home: str, *, conda: bool, **options: object) -> Node:
        number = len(self._nodes) + 1
        address = f"127.0.0.{number + 1}"
        node = Node(
            self._lab,
            self._folder / f"home{number}" / home,
            address,
            free_port(address),
            self._folder / f"node{number}",
            **options,  # type: ignore[arg-type]
        )
        self._nodes.append(node)
        if conda:
            node.install_conda()
            (node.root / "pkgs").rmdir()
            subprocess.run(["cp", "-al", str(self._packages), str(node.root / "pkgs")], check=True)
        return node.start()

    def stop(self) -> None:
        for node in self._nodes:
            node.stop()


@pytest.fixture
def make_cluster(lab: Lab, warm_packages: Path, tmp_path: Path) -> Iterator[Maker]:
    maker = Maker(lab, warm_packages, tmp_path)
    yield maker
    maker.stop()


@pytest.fixture
def cluster(make_cluster: Maker) -> Cluster:
    """Two nodes that hold one environment, for tests that spoil it."""
    made = make_cluster(2)
    made.write_environment("numlike=1.26", "tiny")
    assert made.run("push", "hosts.txt").code == 0
    return made


@pytest.fixture(scope="session")
def pushed(
    lab: Lab, warm_packages: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """Two nodes that hold one environment; tests that use it change nothing on them."""
    maker = Maker(lab, warm_packages, tmp_path_factory.mktemp("pushed"))
    cluster = maker(2)
    cluster.write_environment("numlike=1.26", "tiny", pip=["einlike==0.8.0"])
    done = cluster.run("push", "hosts.txt")
    assert done.code == 0, done.out + done.err
    yield cluster
    maker.stop()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only root can do, and say so."""
    if os.geteuid() == 0:
        return
    without = [item for item in items if item.get_closest_marker("root")]
    if without:
        config.hook.pytest_deselected(items=without)
        items[:] = [item for item in items if item not in without]
