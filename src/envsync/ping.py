"""ping, the verb: reach every host, and say how; nothing is changed there."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from envsync.events import Ended, Outcome, Phase
from envsync.flavours import Conda
from envsync.model import Host
from envsync.node import Node
from envsync.observation import observe, parse
from envsync.ports import Reached
from envsync.runner import Fleet

_NOBODYS = "envsync-ping"
"""The name of an environment to look for, since looking needs one."""


@dataclass(frozen=True)
class Pong:
    """One host's answer. Times are in seconds."""

    reached: Reached
    connecting: float
    answering: float
    """For a small command, once connected."""
    hostname: str
    """What the host calls itself."""
    subdir: str
    conda: Conda | None


def ping(fleet: Fleet, hosts: Sequence[Host]) -> Mapping[Host, Pong]:
    """The hosts that answered; failures are events."""

    def task(node: Node) -> Pong:
        started = time.monotonic()
        seen = parse(node.run(Phase.OBSERVE, observe(_NOBODYS)))
        pong = Pong(
            node.reached,
            node.connecting,
            time.monotonic() - started,
            seen.hostname,
            seen.subdir,
            seen.conda,
        )
        node.emit(Ended(node.host, Outcome.PROBED))
        return pong

    return fleet.each(hosts, task, last=True)


def in_slurm(host: Host, *, job: str = "") -> Sequence[str]:
    """The command that shows the same with srun itself."""
    inside = [f"--jobid={job}", "--overlap"] if job else []
    return ["srun", *inside, f"--nodelist={host.target}", "--nodes=1", "--ntasks=1", "true"]


def in_ssh(host: Host, *, config: str = "", keys: Sequence[str] = ()) -> Sequence[str]:
    """The command that shows the same with ssh itself."""
    words = ["ssh", "-v", *(["-F", config] if config else [])]
    words += [word for key in keys for word in ("-i", key)]
    words += ["-p", str(host.port)] if host.port else []
    words += ["-l", host.user] if host.user else []
    return [*words, host.target, "true"]
