"""What every transport must do, shown over srun: the tests are those of the other transports."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cluster import test_contract as contract
from envsync.model import Host
from envsync.ports import Connection
from envsync.transport.slurm import SlurmOptions, SlurmTransport
from slurm.slurmlab import Slurm

globals().update({name: each for name, each in vars(contract).items() if name[:5] == "test_"})


@pytest.fixture(scope="module")
def transport(slurm: Slurm) -> Iterator[SlurmTransport]:
    assert slurm.names
    made = SlurmTransport([Host("n1")], SlurmOptions())
    yield made
    made.close()


@pytest.fixture
def connection(transport: SlurmTransport) -> Iterator[Connection]:
    made = transport.connect(Host("n1"))
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _all_well() -> None:
    """The allocation is that of all these tests together."""
