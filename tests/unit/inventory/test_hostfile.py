"""Host files of Open MPI and DeepSpeed: slots are kept as data."""

from __future__ import annotations

import pytest

from envsync.errors import InputError
from envsync.inventory import parse_inventory
from envsync.model import Host

OPEN_MPI = """\
# This is an example hostfile.  Comments begin with #
//  and so do these
foo.example.com
bar.example.com slots=2
yow.example.com slots=4 max-slots=4
odd.example.com slots = 8 max_slots=16   # as some write it
"""
DEEPSPEED = """\
worker-1 slots=4
worker-2 slots=4
"""


def test_open_mpi() -> None:
    found = parse_inventory(OPEN_MPI, source="hostfile")
    assert [host.name.partition(".")[0] for host in found.hosts] == ["foo", "bar", "yow", "odd"]
    assert {host.name[:3]: slots for host, slots in found.slots.items()} == {
        "bar": 2,
        "yow": 4,
        "odd": 8,
    }


def test_deepspeed() -> None:
    found = parse_inventory(DEEPSPEED, source="hostfile")
    assert found.slots == {Host("worker-1"): 4, Host("worker-2"): 4}


def test_slots_of_a_range_and_of_a_host_named_twice() -> None:
    found = parse_inventory("gpu[1-2] slots=8\ngpu1 slots=2\n", source="hostfile")
    assert found.slots == {Host("gpu1"): 10, Host("gpu2"): 8}
    assert len(found.warnings) == 1


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("node1 slots=many", "number of processes"),
        ("node1 slots=", "number of processes"),
        ("node1 slots=8 slots=8", "twice"),
        ("node1 slots=8 max_slots=4", "at most"),
        ("node1 gres=gpu", "'gres=' after the host"),
        ("node1 node2", "'node2' after the host"),
        ("node1:8", "MPICH"),
        ("node1:8:hca0", "not a host"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(line: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        parse_inventory(f"node0 slots=8\n{line}\n", source="hostfile")
    assert caught.value.line == 2
    assert caught.value.hint
