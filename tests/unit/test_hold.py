"""hold.sh and release.sh, run for real; and who is believed to be gone."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from envsync.errors import HostError
from envsync.events import Event, Failed
from envsync.findings import Shared
from envsync.hold import Owner, Ticket, holding, take, tidy
from envsync.limits import Limits
from envsync.model import Host
from envsync.node import Node
from envsync.runner import Fleet
from envsync.transport.local import LocalTransport

TRANSPORT = LocalTransport()
HERE, THERE = Host("gpu01"), Host("gpu02")
MINE = Ticket("me@here")


def node(host: Host) -> Node:
    return Node(host, TRANSPORT.connect(host), lambda _: None)


GONE = f"aaaa\tgpu01\t{os.uname().nodename}\t999999:1\t1700000000\tops@login9 (pid 7)\n"
"""The connection that took it has ended: there is no such process."""
THEIRS = "bbbb\tgpu02\tfar-away\t12:34\t1700000000\tops@login9 (pid 7)\n"


def owner_file(envs: Path) -> Path:
    return envs / ".envsync" / "train" / ".push" / "owner"


def test_two_hosts_of_one_push_share_and_another_push_is_told(tmp_path: Path) -> None:
    envs = str(tmp_path)
    assert take(node(HERE), envs, "train", MINE) == ""
    assert take(node(HERE), envs, "train", MINE) == ""
    assert take(node(THERE), envs, "train", MINE) == "gpu01"
    with pytest.raises(HostError, match=rf"me@here \(pid {os.getpid()}\), since 20") as caught:
        take(node(HERE), envs, "train", Ticket("you@there"))
    assert caught.value.cause == "held"
    assert "--break-lock" in caught.value.hint


def test_break_lock_takes_it_over(tmp_path: Path) -> None:
    take(node(HERE), str(tmp_path), "train", MINE)
    theirs = Ticket("you@there", break_lock=True)
    assert take(node(HERE), str(tmp_path), "train", theirs) == ""
    assert theirs.token in owner_file(tmp_path).read_text()


def test_what_is_held_is_given_back_and_shared_hosts_are_events(tmp_path: Path) -> None:
    events: list[Event] = []
    with Fleet(TRANSPORT, events.append, Limits(1)) as fleet:
        places = {HERE: str(tmp_path), THERE: str(tmp_path)}
        with holding(fleet, places, "train", MINE) as held:
            assert (held.hosts, held.owners) == ((HERE, THERE), (HERE,))
            assert held.shares == {THERE: HERE}
            assert owner_file(tmp_path).exists()
    assert [event for event in events if isinstance(event, Shared)] == [Shared(THERE, HERE)]
    assert list((tmp_path / ".envsync").iterdir()) == []


def test_what_is_held_is_given_back_though_the_time_of_the_run_is_over(tmp_path: Path) -> None:
    events: list[Event] = []
    limits = Limits(1, deadline=time.monotonic() + 20)
    with Fleet(TRANSPORT, events.append, limits) as fleet:
        with holding(fleet, {HERE: str(tmp_path)}, "train", MINE) as held:
            assert held.hosts == (HERE,)
            clock = time.monotonic() + 60
            time_over = pytest.MonkeyPatch()
            time_over.setattr("envsync.runner.time.monotonic", lambda: clock)
        time_over.undo()
    assert list((tmp_path / ".envsync").iterdir()) == []
    assert not [event for event in events if isinstance(event, Failed)]


def test_what_a_push_that_is_no_more_left_is_tidied_and_what_is_somebodys_stays(
    tmp_path: Path,
) -> None:
    gone, theirs = tmp_path / "gone", tmp_path / "theirs"
    for envs, owner in ((gone, GONE), (theirs, THEIRS)):
        owner_file(envs).parent.mkdir(parents=True)
        owner_file(envs).write_text(owner)
    events: list[Event] = []
    mine = replace(MINE, break_lock=True)
    with Fleet(TRANSPORT, events.append, Limits(2)) as fleet:
        tidy(fleet, {HERE: str(gone), THERE: str(theirs)}, "train", mine)
    assert list((gone / ".envsync").iterdir()) == []
    assert owner_file(theirs).read_text() == THEIRS
    assert not [event for event in events if isinstance(event, Failed)]


def test_host_that_somebody_else_has_is_a_failure_and_keeps_its_owner(tmp_path: Path) -> None:
    take(node(HERE), str(tmp_path), "train", Ticket("you@there"))
    before = owner_file(tmp_path).read_text()
    events: list[Event] = []
    with (
        Fleet(TRANSPORT, events.append, Limits(1)) as fleet,
        holding(fleet, {HERE: str(tmp_path)}, "train", MINE) as held,
    ):
        assert held.hosts == ()
    assert [event.cause for event in events if isinstance(event, Failed)] == ["held"]
    assert owner_file(tmp_path).read_text() == before


def test_connection_that_has_ended_is_succeeded(tmp_path: Path) -> None:
    """The owner is the process at the other end of the connection: here, this interpreter."""
    code = (
        "import sys; sys.path.insert(0, 'tests/unit')\n"
        "from envsync.hold import Ticket, take\n"
        "from envsync.model import Host\n"
        "from envsync.node import Node\n"
        "from envsync.transport.local import LocalTransport\n"
        "node = Node(Host('gpu01'), LocalTransport().connect(Host('gpu01')), lambda _: None)\n"
        f"take(node, {str(tmp_path)!r}, 'train', Ticket('gone@far'))\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert "gone@far" in owner_file(tmp_path).read_text()
    assert take(node(HERE), str(tmp_path), "train", MINE) == ""
    assert MINE.token in owner_file(tmp_path).read_text()


def test_owner_that_never_wrote_its_name_is_succeeded(tmp_path: Path) -> None:
    owner_file(tmp_path).parent.mkdir(parents=True)
    assert take(node(HERE), str(tmp_path), "train", MINE) == ""


def test_process_of_this_machine_that_is_no_more_is_gone_and_others_are_believed() -> None:
    here = socket.gethostname()
    with subprocess.Popen(["true"]) as process:
        process.wait()
    owner = Owner("t", "n", 0, f"me@{here} (pid {process.pid})")
    assert owner.gone
    assert not replace(owner, who=f"me@elsewhere (pid {process.pid})").gone
    assert not replace(owner, who="nobody knows who").gone
    # The number may be another program's by now.
    assert replace(owner, who=f"me@{here} (pid 1)").gone is (os.getpid() != 1)
