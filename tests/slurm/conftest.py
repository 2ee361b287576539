"""A real Slurm for the tests: four nodes, each with a home and a conda of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.conftest import lab, warm_packages  # noqa: F401 (fixtures)
from cluster.lab import Lab
from slurm.slurmlab import Slurm


@pytest.fixture(scope="session")
def slurm(
    lab: Lab,  # noqa: F811
    warm_packages: Path,  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Slurm]:
    made = Slurm(tmp_path_factory.mktemp("slurm"), lab)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", str(made.config))
        try:
            made.start()
            for node in made.names:
                made.install_conda(node, warm_packages)
            yield made
        finally:
            made.stop()


@pytest.fixture(autouse=True)
def _all_well(slurm: Slurm) -> Iterator[None]:
    """Every test finds all nodes idle, and leaves no job behind: that is what envsync promises."""
    yield
    slurm.restart_nodes()  # one that is gone keeps its jobs in the queue
    left = slurm.wait_for_empty_queue()
    slurm.mend()
    assert not left, f"jobs were left in the queue: {left}"
