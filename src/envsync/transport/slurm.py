"""Nodes of Slurm: the same wire, carried by srun instead of SSH, inside one allocation."""

from __future__ import annotations

import getpass
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from envsync.errors import ConnectError, InputError
from envsync.hostnames import unfold_names
from envsync.model import Host
from envsync.ports import Command, Completed, Connection, LineSink, Reached
from envsync.slurmnodes import SlurmNode, job_nodes, partition_of, slurm_nodes
from envsync.transport.allocation import Allocation
from envsync.transport.gather import Call, Gatherer
from envsync.transport.slurmtools import ask
from envsync.transport.steps import Steps, closed

PATIENCE = 60.0
"""Seconds to wait for an allocation."""


@dataclass(frozen=True)
class SlurmOptions:
    """What the user may set, and what the inventory knows."""

    job: str = ""
    """Run inside this one; empty: inside the one around us if it has the hosts, or our own."""
    partition: str = ""
    """For an allocation of our own; empty: one that has all of the nodes."""
    patience: float = PATIENCE
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))


class SrunConnection:
    """A node in an allocation; each command is part of a step of the job."""

    def __init__(self, node: str, job: str, gatherer: Gatherer) -> None:
        self.reached = Reached(node, getpass.getuser(), key=f"Slurm job {job}")
        self._job = job
        self._gatherer = gatherer
        self._closed = False

    def run(self, command: Command, on_line: LineSink | None = None) -> Completed:
        if self._closed:
            raise closed()
        call = Call(self.reached.address, self._job, command, on_line)
        self._gatherer.submit(call)
        return call.result.result()

    def close(self) -> None:
        self._closed = True
        self._gatherer.leave(self.reached.address, closed())


class SlurmTransport:
    """Reaches the nodes of a job: one that is there already, or one made for this run."""

    def __init__(self, hosts: Sequence[Host], options: SlurmOptions) -> None:
        self._hosts = hosts
        self._options = options
        self._lock = threading.Lock()
        self._own: Allocation | None = None
        self._job = ""
        self._settled = False
        self._refusals: dict[Host, ConnectError] = {}
        self._closed = False
        self._steps = Steps(options.environ)
        self._gatherer = Gatherer(self._steps.carry, [host.target for host in hosts])

    def connect(self, host: Host) -> Connection:
        with self._lock:
            if not self._settled or (self._own is not None and self._own.ended):
                self._find_job()
        if host in self._refusals:
            self._gatherer.leave(host.target, closed())
            raise self._refusals[host]
        return SrunConnection(host.target, self._job, self._gatherer)

    def close(self) -> None:
        """Give back what was allocated for this run."""
        self._closed = True
        self._gatherer.close()
        self._steps.close()
        if self._own is not None:
            self._own.close()

    @property
    def unread(self) -> Sequence[str]:
        return ()

    def _find_job(self) -> None:
        """A job that has the hosts; those that it has not are refused."""
        self._settled = True
        if self._own is not None:
            self._own.close()
            self._own = None
        self._refusals.clear()
        try:
            if self._options.job:
                self._join(self._options.job)
            elif self._around_us():
                self._job = self._options.environ["SLURM_JOB_ID"]
            else:
                self._allocate()
        except (InputError, ConnectError) as error:
            self._refuse_rest(_as_connect_error(error))

    def _join(self, job: str) -> None:
        nodes = {name for each in job_nodes(ask, job) for name in unfold_names(each)}
        self._job = job
        for host in self._hosts:
            if host.target not in nodes:
                self._refusals[host] = ConnectError(
                    "not-in-job",
                    f"job {job} does not have this node",
                    hint="name the nodes of the job alone: slurm:job=ID",
                )

    def _around_us(self) -> bool:
        environ = self._options.environ
        nodes = set(unfold_names(environ.get("SLURM_JOB_NODELIST", "")))
        return bool(environ.get("SLURM_JOB_ID")) and all(h.target in nodes for h in self._hosts)

    def _allocate(self) -> None:
        known = slurm_nodes(ask)
        up: list[SlurmNode] = []
        for host in self._hosts:
            node = known.get(host.target)
            if node is None or node.out:
                self._refusals[host] = _unusable(node)
            else:
                up.append(node)
        if not up or self._closed:
            return
        given = "SALLOC_PARTITION" in self._options.environ
        partition = self._options.partition or ("" if given else partition_of(up))
        self._own = Allocation([node.name for node in up], partition, self._options.environ)
        try:
            self._job = self._own.job(self._options.patience)
        except ConnectError:
            self._own = None  # not asked for again with the next host
            raise

    def _refuse_rest(self, error: ConnectError) -> None:
        for host in self._hosts:
            self._refusals.setdefault(host, error)


def _unusable(node: SlurmNode | None) -> ConnectError:
    if node is None:
        return ConnectError(
            "unknown-node",
            "Slurm knows no node of this name",
            hint="use the names that `sinfo -N` shows",
        )
    return ConnectError(
        "node-out",
        f"Slurm starts nothing there: the node is {node.out}",
        hint=f"leave it out (--exclude {node.name}), or bring it back"
        f" (`scontrol update nodename={node.name} state=resume`)",
    )


def _as_connect_error(error: InputError | ConnectError) -> ConnectError:
    if isinstance(error, ConnectError):
        return error
    return ConnectError("slurm", error.message, hint=error.hint)
