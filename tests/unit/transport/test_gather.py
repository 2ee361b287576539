"""When calls that can be made together are made: a decision, and the threads that carry it out."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from envsync.errors import LinkLostError
from envsync.ports import Command, Completed, Piece
from envsync.transport.gather import (
    LONGEST,
    MOST,
    QUIET,
    SHORTEST,
    Call,
    Gatherer,
    Others,
    due,
    input_size,
)
from envsync.transport.steps import closed

SAME = Command("hostname")


def call(node: str, command: Command = SAME, arrived: float = 0.0, job: str = "7") -> Call:
    return Call(node, job, command, arrived=arrived)


def nodes(groups: Sequence[Sequence[Call]]) -> list[list[str]]:
    return [[each.node for each in group] for group in groups]


def test_nobody_else_may_come() -> None:
    calls = [call("n1"), call("n2"), call("n3", Command("true"))]
    ready, again = due(calls, Others(), {}, 0.0)
    assert nodes(ready) == [["n1", "n2"], ["n3"]]
    assert again is None
    assert due([], Others(busy=True), {}, 0.0) == ((), None)


def test_idle_nodes_are_waited_for_until_it_is_quiet() -> None:
    calls = [call("n1", arrived=1.0), call("n2", arrived=1.02)]
    others = Others(idle_since=[0.0, 0.5])
    assert due(calls, others, {}, 1.02) == ([], pytest.approx(1.02 + QUIET))
    ready, _ = due(calls, others, {}, 1.03 + QUIET)
    assert nodes(ready) == [["n1", "n2"]]


def test_busy_nodes_are_waited_for_about_as_long_as_the_last_command_took() -> None:
    calls = [call("n1")]
    others = Others(busy=True)
    assert due(calls, others, {}, 0.0)[1] == pytest.approx(SHORTEST)
    assert due(calls, others, {"n1": 1.5}, 0.0)[1] == pytest.approx(1.5)
    assert due(calls, others, {"n1": 600.0}, 0.0)[1] == pytest.approx(LONGEST)
    assert nodes(due(calls, others, {"n1": 600.0}, LONGEST)[0]) == [["n1"]]


def test_more_time_for_what_takes_long_to_send(tmp_path: Path) -> None:
    file = tmp_path / "big"
    with file.open("wb") as out:
        out.truncate(300_000_000)
    large = Command("cat", stdin=(Piece(file, 100_000_000), Piece(file, 0, 50_000_000)))
    assert input_size(large) == 250_000_000
    assert due([call("n1", large)], Others(busy=True), {}, 0.0)[1] == pytest.approx(SHORTEST + 2.5)
    assert input_size(Command("cat", stdin=file)) == 300_000_000
    assert input_size(Command("cat", stdin=tmp_path / "gone")) == 0


@pytest.mark.parametrize(
    "other",
    [
        call("n2", Command("hostname", stdin=b"")),
        call("n2", Command("hostname", timeout=5)),
        call("n2", job="8"),
    ],
)
def test_what_differs_is_not_made_together(other: Call) -> None:
    assert nodes(due([call("n1"), other], Others(), {}, 0.0)[0]) == [["n1"], ["n2"]]


def test_arguments_may_differ_but_not_come_to_too_much() -> None:
    small = [call(f"n{number}", Command("echo", (str(number),))) for number in range(3)]
    assert nodes(due(small, Others(), {}, 0.0)[0]) == [["n0", "n1", "n2"]]
    large = [call(f"n{n}", Command("echo", ("x" * 15_000 + str(n),))) for n in range(3)]
    assert nodes(due(large, Others(), {}, 0.0)[0]) == [["n0", "n1"], ["n2"]]
    part = [call(f"n{n}", Command("echo", (str(n), "x" * 30_000))) for n in range(99)]
    assert [len(group) for group in due(part, Others(), {}, 0.0)[0]] == [99]
    equal = [call(f"n{n}", Command("echo", ("x" * 30_000,))) for n in range(MOST + 1)]
    assert [len(group) for group in due(equal, Others(), {}, 0.0)[0]] == [MOST, 1]


class Carrier:
    """Answers every call with the number of those that came with it."""

    def __init__(self) -> None:
        self.groups: list[int] = []
        self.hold = threading.Event()
        self.hold.set()

    def __call__(self, calls: Sequence[Call]) -> None:
        self.groups.append(len(calls))
        self.hold.wait(10)
        if any(each.command.script == "fail" for each in calls):
            raise RuntimeError("a fault")
        for each in calls:
            each.answer(Completed(len(calls)))


def test_threads_that_ask_the_same_are_answered_together() -> None:
    carrier = Carrier()
    names = [f"n{number}" for number in range(50)]
    gatherer = Gatherer(carrier, names)

    def work(name: str) -> None:
        for script in ("one", "two", "three"):
            asked = call(name, Command(script), time.monotonic())
            gatherer.submit(asked)
            assert asked.result.result(10).exit_code == 50
        gatherer.leave(name, closed())

    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert carrier.groups == [50, 50, 50]
    gatherer.close()


def test_node_that_leaves_is_told_and_not_waited_for() -> None:
    carrier = Carrier()
    carrier.hold.clear()
    gatherer = Gatherer(carrier, ["n1"])
    asked = call("n1")
    gatherer.submit(asked)
    while not carrier.groups:
        time.sleep(0.001)
    gatherer.leave("n1", closed())
    with pytest.raises(LinkLostError):
        asked.result.result(5)
    carrier.hold.set()
    later = call("n2", arrived=time.monotonic())
    gatherer.submit(later)
    assert later.result.result(5).exit_code == 1
    gatherer.close()


def test_fault_is_raised_where_it_was_asked_for() -> None:
    gatherer = Gatherer(Carrier(), ["n1"])
    asked = call("n1", Command("fail"))
    gatherer.submit(asked)
    with pytest.raises(RuntimeError, match="a fault"):
        asked.result.result(5)
    gatherer.close()
