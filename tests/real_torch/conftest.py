"""Three nodes that hold a real torch, pushed there by envsync; one package cache for all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from cluster.conftest import Maker, warmed
from cluster.lab import Cluster, Lab
from real_torch.wheels import add_to, fetch


@pytest.fixture(scope="session")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Every test leaves them as they were."""
    folder = tmp_path_factory.mktemp("torch")
    lab = Lab(folder / "lab")
    add_to(lab.channel, fetch(), folder / "scratch")
    with warmed(lab, folder / "warm", "torch", "numpy") as packages:
        # Nobody solves for others here: a canary does it, in the push.
        lab.solver = None
        maker = Maker(lab, packages, folder / "nodes")
        cluster = maker(3)
        cluster.write_environment("torch", "numpy")
        done = cluster.run("push", "hosts.txt")
        assert done.code == 0, done.out + done.err
        yield cluster
        maker.stop()
    shutil.rmtree(folder)  # gigabytes, of which pytest would keep three runs
