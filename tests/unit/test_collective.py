"""Who takes part in an all-reduce and where it meets, over fake connections."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

import envsync.collective
from envsync.collective import Gathering, Request, gather
from envsync.errors import LinkLostError
from envsync.limits import Limits
from envsync.model import Host
from envsync.ports import Command, Completed, Connection, LineSink
from envsync.runner import Fleet
from envsync.wide import System, Torch, Wide

HOSTS = [Host(f"n{number}") for number in range(3)]
GOOD = Torch("2.13.0", backends=("gloo",), available=False)
Answer = Callable[[Host, Command], Completed]


@dataclass
class FakeConnection:
    host: Host
    answer: Answer
    closed: threading.Event = field(default_factory=threading.Event)

    def run(self, command: Command, on_line: LineSink | None = None) -> Completed:  # noqa: ARG002
        call = command.args[2].splitlines()[-1]
        if "muster_facts" in call:
            interfaces = {"lo": "127.0.0.1", f"eth{self.host.name[1]}": "10.0.0.9"}
            opens = "muster_facts(0)" not in call
            return lines({"interfaces": interfaces, "port": "in use" if USED and opens else ""})
        done = self.answer(self.host, command)
        if done.exit_code == HANGS:
            self.closed.wait(10)
            raise LinkLostError("link-lost", "the connection was closed")
        return done

    def close(self) -> None:
        self.closed.set()


@dataclass
class FakeTransport:
    answer: Answer

    def connect(self, host: Host) -> Connection:
        return FakeConnection(host, self.answer)  # type: ignore[return-value]

    def close(self) -> None:
        """Nothing is shared."""

    @property
    def unread(self) -> tuple[str, ...]:
        return ()


HANGS = 999
USED: list[bool] = []


def lines(*facts: object) -> Completed:
    return Completed(0, "".join(json.dumps(each) + "\n" for each in facts).encode())


def wide(address: str = "10.0.0.1", torch: Torch | None = GOOD) -> Wide:
    return Wide(torch, system=System(reached_at=address, hostname="node-a"))


GLOO = Request("gloo")


def met(
    answer: Answer,
    request: Request = GLOO,
    known: dict[Host, Wide | None] | None = None,
) -> Gathering:
    known = known or {host: wide(f"10.0.0.{i + 1}") for i, host in enumerate(HOSTS)}
    with Fleet(FakeTransport(answer), lambda _: None, Limits(fan_out=1, waiting=1)) as fleet:
        return gather(fleet, dict.fromkeys(known, "/p"), known, request)


def fine(_: Host, __: Command) -> Completed:
    return lines({"stage": "measured"}, {"ok": True})


def test_all_ranks_run_at_once_whatever_the_fan_out() -> None:
    together = threading.Barrier(len(HOSTS), timeout=10)
    seen: dict[str, tuple[str, ...]] = {}

    def answer(host: Host, command: Command) -> Completed:
        together.wait()
        seen[host.name] = command.args[3:]
        return fine(host, command)

    found = met(answer)
    assert all(each.ok for each in found.ranks.values())
    assert [each.rank for each in found.ranks.values()] == [0, 1, 2]
    assert seen["n2"] == ("2", "3", "gloo", "10.0.0.1", "29500", "", "60")


def test_who_cannot_take_part_is_left_out() -> None:
    known: dict[Host, Wide | None] = {
        HOSTS[0]: wide(torch=None),
        HOSTS[1]: wide("10.0.0.2"),
        HOSTS[2]: wide(torch=Torch("2.13.0", backends=("mpi",))),
    }
    found = met(fine, known=known)
    assert list(found.ranks) == [HOSTS[1]]
    assert found.absent == {
        HOSTS[0]: "it has no torch that works",
        HOSTS[2]: "its torch 2.13.0 was built without gloo (it has: mpi)",
    }
    blind = Torch("2.13.0", backends=("nccl",), available=False)
    none = met(fine, Request("nccl"), {HOSTS[0]: wide(torch=blind), HOSTS[1]: None})
    assert none.ranks == {}
    assert none.absent[HOSTS[0]] == "nccl needs a GPU, and torch sees none"


def test_interface_that_some_nodes_lack() -> None:
    found = met(fine, Request("gloo", interface="eth0"))
    assert found.meeting.address == "10.0.0.9"
    assert list(found.ranks) == [HOSTS[0]]
    assert found.absent[HOSTS[1]] == "it has no network interface eth0, but lo, eth1"


def test_port_that_is_in_use_ends_it_before_anybody_waits() -> None:
    USED.append(True)
    try:
        found = met(fine)
    finally:
        USED.clear()
    assert found.ranks == {}
    assert found.absent == {HOSTS[0]: "port 29500 cannot be opened on it: in use"}


def test_loopback_address_of_the_first_is_no_use_to_others() -> None:
    known: dict[Host, Wide | None] = {HOSTS[0]: wide("127.0.0.1"), HOSTS[1]: wide("10.0.0.2")}
    assert met(fine, known=known).meeting.address == "node-a"
    known = {HOSTS[0]: wide("127.0.0.2"), HOSTS[1]: wide("127.0.0.3")}
    assert met(fine, known=known).meeting.address == "127.0.0.2"


def test_rank_that_hangs_is_ended_when_others_have_missed_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(envsync.collective, "_STRAGGLING", 0.1)

    def answer(host: Host, _: Command) -> Completed:
        if host.name == "n1":
            return Completed(HANGS)
        return lines({"stage": "reached"}, {"missing": [1]})

    found = met(answer)
    assert found.unheard == (HOSTS[1],)
    assert found.ranks[HOSTS[0]].missing == (1,)
