"""What every transport must do, shown over srun: the tests are those of the other transports.

On one node, and on one of four that are all asked the same at the same time.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from cluster import test_contract as contract
from envsync.model import Host
from envsync.ports import Command, Completed, Connection, LineSink, Reached
from envsync.transport.slurm import SlurmOptions, SlurmTransport
from slurm.slurmlab import NAMES, Slurm

globals().update({name: each for name, each in vars(contract).items() if name[:5] == "test_"})


class Chorus:
    """Four connections as one: they run the same, and must come to the same."""

    def __init__(self, made: list[Connection]) -> None:
        self._made = made

    @property
    def reached(self) -> Reached:
        return self._made[0].reached

    def run(self, command: Command, on_line: LineSink | None = None) -> Completed:
        sinks = [on_line, *([None] * (len(self._made) - 1))]
        with ThreadPoolExecutor(len(self._made)) as pool:
            ends = [
                pool.submit(each.run, command, sink)
                for each, sink in zip(self._made, sinks, strict=True)
            ]
            failures = {type(end.exception()) for end in ends}
        assert len(failures) == 1, failures
        answers = [end.result() for end in ends]
        assert answers == [answers[0]] * len(answers)
        return answers[0]

    def close(self) -> None:
        for each in self._made:
            each.close()


@pytest.fixture(scope="module", params=[NAMES[:1], NAMES], ids=["one node", "four nodes"])
def transport(slurm: Slurm, request: pytest.FixtureRequest) -> Iterator[SlurmTransport]:
    assert slurm.names
    made = SlurmTransport([Host(name) for name in request.param], SlurmOptions())
    made.connect(Host("n1"))
    yield made
    made.close()


@pytest.fixture
def connection(transport: SlurmTransport, request: pytest.FixtureRequest) -> Iterator[Connection]:
    names = request.node.callspec.params["transport"]
    made = Chorus([transport.connect(Host(name)) for name in names])
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _all_well() -> None:
    """The allocation is that of all these tests together."""
