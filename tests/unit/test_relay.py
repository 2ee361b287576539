"""Nodes in memory that hand on: what is sent by whom, and what is said when it goes wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from envsync import scripts
from envsync.errors import CommandTimeoutError, LinkLostError
from envsync.events import Event, Failed, Noted
from envsync.findings import Supplied
from envsync.flavours import Conda
from envsync.generations import Slot
from envsync.limits import Limits
from envsync.lock import Section
from envsync.model import Host, Platform
from envsync.parcels import Parcel
from envsync.plan import Action, Step
from envsync.ports import NO_WAY, Command, Completed, Connection, Handed, LineSink, Peer, Reached
from envsync.recipe import Recipe
from envsync.relay import hand_round, peer
from envsync.runner import Fleet

PLATFORM = Platform("linux-64")
SIZES = {"python.conda": 300, "torch.conda": 9000, "extra.whl": 50}
PARCELS = tuple(
    Parcel(
        name,
        f"https://c.example/{name}" if name.endswith(".conda") else "",
        Path("/cache") / name,
        f"{name}-md5",
        f"{name}-sha",
        size,
    )
    for name, size in SIZES.items()
)
A, B, C, D = HOSTS = tuple(Host(name) for name in "abcd")
Refuse = Callable[[str, str], Completed | None]
"""What comes of one that is to give and one that is to get, where it is no success."""


@dataclass
class FakeNode:
    """Takes files, and gives those that it has whole."""

    host: Host
    has: dict[str, int] = field(default_factory=dict)
    sent: int = 0
    """Bytes, from the machine that pushes."""
    asked: int = 0


@dataclass
class Cluster:
    """Stands for the transport, too."""

    refuse: Refuse = lambda _giver, _receiver: None
    nodes: dict[str, FakeNode] = field(
        default_factory=lambda: {host.name: FakeNode(host) for host in HOSTS}
    )
    keyless: str = ""
    lost: str = ""
    """Whose connection breaks when it is to get something from another."""

    def connect(self, host: Host) -> Connection:
        return FakeConnection(self, self.nodes[host.name])

    def close(self) -> None:
        """Nothing is shared."""

    @property
    def unread(self) -> tuple[str, ...]:
        return ()


@dataclass
class FakeConnection:
    cluster: Cluster
    node: FakeNode

    @property
    def reached(self) -> Reached:
        name = self.node.host.name
        key = "" if name in self.cluster.keyless else f"ssh-ed25519 {name}"
        return Reached(f"{name}:22", "me", public_key=key)

    def run(self, command: Command, on_line: LineSink | None = None) -> Completed:  # noqa: ARG002
        if scripts.load("stock.sh") in command.script:
            return self._stock()
        words = command.args[5:]
        files = [words[i : i + 6] for i in range(0, len(words), 6)]
        if isinstance(command.stdin, Handed):
            return self._get(command.stdin, files)
        self.node.sent += sum(int(size) - int(there) for *_, size, there in files)
        self.node.has.update((name, int(size)) for _, name, _, _, size, _ in files)
        return Completed(0)

    def _stock(self) -> Completed:
        self.node.asked += 1
        lines = ["layout\tflat", "place\t/pkgs"]
        for name, size in SIZES.items():
            there = self.node.has.get(name, 0)
            lines.append(f"holds\t{name}\t/pkgs" if there == size else f"lacks\t{name}\t{there}")
        return Completed(0, "\n".join(lines).encode())

    def _get(self, handed: Handed, files: list[tuple[str, ...]]) -> Completed:
        if self.node.host.name == self.cluster.lost:
            raise LinkLostError("link-lost", "gone")
        giver = self.cluster.nodes[handed.peer.host_key.split()[1]]
        names = [each[1] for each in files]
        given = handed.command.args[4::5]
        assert [
            name for name, *_, size, there in (each[1:] for each in files) if size != there
        ] == list(given)
        refused = self.cluster.refuse(giver.host.name, self.node.host.name)
        if refused is not None:
            return refused
        assert all(giver.has[name] == SIZES[name] for name in given)
        self.node.has.update((name, SIZES[name]) for name in names)
        return Completed(0)

    def close(self) -> None:
        """Nothing is open."""


def step(host: Host, action: Action = Action.BUILD) -> Step:
    recipe = Recipe("0a1b", {"explicit.txt": b"@EXPLICIT\n"}, Section(PLATFORM, "", (), (), ()))
    slot = Slot("/envs", "train", "0a1b")
    return Step(host, action, slot, Conda("/c/bin/conda", "/c"), "linux-64", "", recipe)


def run(
    cluster: Cluster, hosts: tuple[Host, ...] = HOSTS, others: tuple[Step, ...] = ()
) -> tuple[dict[Host, Step], list[Event]]:
    events: list[Event] = []
    with Fleet(cluster, events.append, Limits()) as fleet:
        steps = {host: step(host) for host in hosts}
        ready = hand_round(fleet, steps, others, {PLATFORM: PARCELS})
    return dict(ready), events


def notes(events: list[Event], host: Host) -> list[str]:
    return [each.message for each in events if isinstance(each, Noted) and each.host == host]


def came(events: list[Event]) -> dict[tuple[str, str], int]:
    """Bytes by giver and receiver; the giver is empty where it is the machine that pushes."""
    found: dict[tuple[str, str], int] = {}
    for each in events:
        if isinstance(each, Supplied):
            key = (each.giver.name if each.giver else "", each.host.name)
            found[key] = found.get(key, 0) + each.size
    return found


TOTAL = sum(SIZES.values())


def test_sent_once_and_handed_on() -> None:
    cluster = Cluster()
    ready, events = run(cluster)
    assert list(ready) == list(HOSTS)
    assert all(each.recipe.offline for each in ready.values())
    assert [each.sent for each in cluster.nodes.values()] == [TOTAL, 0, 0, 0]
    assert [each.asked for each in cluster.nodes.values()] == [1, 1, 1, 1]
    assert sum(came(events).values()) == 4 * TOTAL
    assert notes(events, D) == ["got 0.0 MB in 3 of 3 files, 0 were there"]


def test_one_that_has_it_gives_and_gets_nothing() -> None:
    cluster = Cluster()
    cluster.nodes["a"].has = {"python.conda": 300, "torch.conda": 9000}
    ready, events = run(cluster, (B, C), (step(A, Action.KEEP),))
    assert list(ready) == [B, C]
    assert cluster.nodes["a"].sent == 0
    # The wheel is gone from where it was needed.
    assert cluster.nodes["b"].sent + cluster.nodes["c"].sent == SIZES["extra.whl"]
    assert notes(events, A) == []


def test_one_without_a_known_key_gives_nothing() -> None:
    cluster = Cluster(keyless="a")
    _, events = run(cluster)
    assert not [giver for giver, _ in came(events) if giver == "a"]
    assert cluster.nodes["a"].sent == cluster.nodes["b"].sent == TOTAL


def test_nodes_that_do_not_reach_each_other() -> None:
    def refuse(*_: str) -> Completed:
        return Completed(NO_WAY, b"", b"envsync-0a1b\nme@a: Permission denied (publickey).\n")

    cluster = Cluster(refuse)
    ready, events = run(cluster)
    assert list(ready) == list(HOSTS)
    assert [each.sent for each in cluster.nodes.values()] == [TOTAL] * 4
    assert notes(events, B)[0] == (
        "a could not hand on to it: me@a: Permission denied (publickey)."
    )
    everything = "nodes cannot hand on to each other: it got everything from this machine"
    assert everything in notes(events, D)
    assert not [each for each in events if isinstance(each, Failed)]


def test_slow_giver_is_left_for_another() -> None:
    def refuse(giver: str, _: str) -> Completed | None:
        if giver == "a":
            raise CommandTimeoutError("timeout", "the command ran past its limit")
        return None

    cluster = Cluster(refuse)
    ready, events = run(cluster)
    assert list(ready) == list(HOSTS)
    assert "a could not hand on to it: it took longer than 60 s" in notes(events, B)
    assert sum(each.sent for each in cluster.nodes.values()) == 2 * TOTAL


def test_what_came_before_the_end_is_not_fetched_again() -> None:
    """The giver dies in the middle of torch."""
    cluster = Cluster()

    def refuse(giver: str, receiver: str) -> Completed | None:
        if giver != "a":
            return None
        cluster.nodes[receiver].has.update({"python.conda": 300, "torch.conda": 4000})
        return Completed(1, b"", b"only part of torch.conda arrived\n")

    cluster.refuse = refuse
    _, events = run(cluster, (A, B))
    assert came(events) == {("", "a"): TOTAL, ("a", "b"): 4300, ("", "b"): 5050}
    assert "a could not hand on to it: only part of torch.conda arrived" in notes(events, B)


def test_damaged_file_of_a_giver_is_fetched_elsewhere() -> None:
    cluster = Cluster(
        lambda giver, _: Completed(0, b"wrong\ttorch.conda\n") if giver == "a" else None
    )
    ready, events = run(cluster)
    assert list(ready) == list(HOSTS)
    assert "a could not hand on to it: torch.conda did not arrive as it should be" in notes(
        events, B
    )


def test_host_that_is_lost_is_the_only_one() -> None:
    cluster = Cluster(lost="b")
    ready, events = run(cluster)
    assert list(ready) == [A, C, D]
    assert [each.host for each in events if isinstance(each, Failed)] == [B]
    assert sum(each.sent for each in cluster.nodes.values()) == TOTAL


@pytest.mark.parametrize(
    ("host", "reached", "ways"),
    [
        (Host("gpu1"), Reached("10.1.1.1:2222", "me"),
         [("me", "gpu1", ""), ("me", "10.1.1.1", "2222")]),
        (Host("gpu1", port=22), Reached("gpu1:22", "me"), [("me", "gpu1", "22")]),
        (Host("gpu1", address="10.1.1.1"), Reached("10.1.1.1:22", "me", through=("gate",)),
         [("me", "10.1.1.1", "")]),
        (Host("gpu1"), Reached("fe80::1:22", "me"), [("me", "gpu1", ""), ("me", "fe80::1", "22")]),
    ],
)  # fmt: skip
def test_ways_to_a_node(host: Host, reached: Reached, ways: list[tuple[str, str, str]]) -> None:
    assert peer(host, reached) is None
    known = Reached(reached.address, reached.user, public_key="k", through=reached.through)
    assert peer(host, known) == Peer(tuple(ways), "k")
