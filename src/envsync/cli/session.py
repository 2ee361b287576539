"""One run of a command: its hosts, connections, event log, live view and reports."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import Self

from envsync.cli.bundles import Connecting
from envsync.cli.choices import Launcher
from envsync.cli.questions import Questions, password
from envsync.commit import doubtful
from envsync.errors import ExitCode, InputError
from envsync.events import Event
from envsync.hold import Ticket
from envsync.hostnames import display_names, fold_names
from envsync.inventory import job_of, partition_named
from envsync.limits import MOST_AT_ONCE, Limits
from envsync.model import Host, Notice
from envsync.ports import Transport
from envsync.render import reading
from envsync.render.console import console
from envsync.render.envelope import envelope
from envsync.render.live import LiveView
from envsync.report import HostReport, apply
from envsync.runner import Fleet
from envsync.store import Store
from envsync.whoami import user_name

Ask = Callable[[str], str | None]


class Session:
    """Holds a run together; every event is written down, folded and shown, in this order."""

    def __init__(
        self,
        command: str,
        hosts: Sequence[Host],
        connecting: Connecting,
        store: Store,
        *,
        as_json: bool,
        logged: bool = False,
    ) -> None:
        """`logged` keeps the run's events in the folder; who failed is kept anyway."""
        self.hosts = hosts
        self.out = console(stderr=as_json)
        self._command = command
        self._connecting = connecting
        self._store = store
        self._logged = logged
        self._as_json = as_json
        self._labels = display_names(hosts)
        self._reports = {host: HostReport(host) for host in hosts}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        # All that may be wrong with the options comes before anything is opened.
        bounds = limits(self._connecting, len(self.hosts))
        self.deadline = bounds.deadline
        self._live = LiveView(self.hosts, self._labels, console(stderr=True))
        questions = Questions(self._live.paused)
        self._transport = make_transport(self._connecting, self.hosts, questions.ask)
        self._log = (
            self._stack.enter_context(self._store.log(self._command)) if self._logged else None
        )
        self._stack.callback(questions.close)
        self.fleet = self._stack.enter_context(Fleet(self._transport, self.emit, bounds))
        self._stack.enter_context(self._live)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        if self._connecting.verbose:
            unread = self._transport.unread
            reading.notices(
                self.out, [Notice(f"ssh_config: {each} is not followed") for each in unread]
            )
        failed = [each.host for each in self.reports if each.failure]
        if failed or self._logged:  # a look at hosts that are well is no reason to forget others
            self._store.note_failures(failed)

    @contextlib.contextmanager
    def between_looks(self) -> Iterator[None]:
        """The live view stands aside; afterwards nothing is known of any host."""
        with self._live.paused():
            yield
            self._reports = {host: HostReport(host) for host in self.hosts}
            self._live.anew()

    def emit(self, event: Event) -> None:
        if self._log is not None:
            self._log.write(event)
        self._reports[event.host] = apply(self._reports[event.host], event)
        self._live(event)

    @property
    def reports(self) -> tuple[HostReport, ...]:
        return tuple(self._reports.values())

    @property
    def failed(self) -> bool:
        return any(report.failure for report in self.reports)

    @property
    def exit_code(self) -> ExitCode:
        """What the hosts' ends alone come to."""
        if doubtful(report.failure for report in self.reports):
            return ExitCode.IN_DOUBT
        return ExitCode.DIFFERENT if self.failed else ExitCode.OK

    def fold(self, hosts: Iterable[Host]) -> str:
        """Hosts as one short text for a table."""
        return fold_names([self._labels[host] for host in hosts])

    def finish(self, exit_code: int, result: object, *, on_one_line: bool = False) -> int:
        """Print the envelope if JSON was asked for; the exit code."""
        if self._as_json:
            text = envelope(self._command, exit_code, result, indent=None if on_one_line else 2)
            print(text, flush=True)
        return exit_code


def operator() -> str:
    """Who runs this command, as user@machine."""
    return f"{user_name()}@{socket.gethostname()}"


def ticket(*, break_lock: bool) -> Ticket:
    """Who takes the environments for this command."""
    return Ticket(operator(), break_lock)


def limits(connecting: Connecting, hosts: int) -> Limits:
    """How many hosts at once, how many may fail, and until when.

    Raises InputError for a number of failures that is none.
    """
    cores = os.cpu_count() or 1
    deadline = connecting.deadline
    # A connection is work for a core, and more threads than that takes get into each
    # other's way; but half of the time of each is waiting for its host.
    fan_out, waiting = min(64, max(32, 8 * cores)), 256
    if connecting.launcher is Launcher.SLURM:
        fan_out = waiting = MOST_AT_ONCE  # they wait for one srun, and Slurm fans out
    return Limits(
        fan_out=connecting.fan_out or fan_out,
        waiting=connecting.fan_out or waiting,
        max_failures=_most_failures(connecting.max_failures, hosts),
        deadline=None if deadline is None else time.monotonic() + deadline,
    )


def _most_failures(text: str | None, hosts: int) -> int | None:
    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,6})(%?)", text)
    if found is None or (found[2] and int(found[1]) > 100):  # noqa: PLR2004 (percent)
        raise InputError(
            f"--max-failures: {text!r} is no number of hosts", hint="such as 3, or 10%"
        )
    return hosts * int(found[1]) // 100 if found[2] else int(found[1])


def make_transport(connecting: Connecting, hosts: Sequence[Host], ask: Ask) -> Transport:
    """The transport that the user chose; imported only now, since paramiko takes its time."""
    if connecting.launcher is Launcher.LOCAL:
        from envsync.transport.local import LocalTransport  # noqa: PLC0415 (see above)

        if len(hosts) != 1:
            raise InputError(
                f"--launcher local reaches one host, this machine; {len(hosts)} were named",
                hint="put just `localhost` into the inventory",
            )
        return LocalTransport()
    if connecting.launcher is Launcher.SLURM:
        return _slurm(connecting, hosts)
    from envsync.transport.connect import SshOptions, SshTransport  # noqa: PLC0415 (see above)

    _allow_open_files(len(hosts))
    known_hosts = connecting.known_hosts
    return SshTransport(
        SshOptions(
            identity_files=connecting.identity,
            known_hosts=(known_hosts,) if known_hosts else (),
            config=connecting.ssh_config,
            accept_new=connecting.accept_new,
            connect_timeout=connecting.connect_timeout,
            password=password() if connecting.ask_pass else None,
            ask=ask,
        )
    )


def _slurm(connecting: Connecting, hosts: Sequence[Host]) -> Transport:
    """The nodes of the job or partition that HOSTS names, or of an allocation of our own."""
    from envsync.transport.slurm import PATIENCE, SlurmOptions, SlurmTransport  # noqa: PLC0415

    for host in hosts:
        if host.user or host.port:
            raise InputError(
                f"{host} has a user or a port, which --launcher slurm does not take",
                hint="write the node's name alone: srun runs as you",
            )
    _allow_open_files(len(hosts))
    return SlurmTransport(
        hosts,
        SlurmOptions(
            job=job_of(connecting.hosts),
            partition=partition_named(connecting.hosts),
            patience=connecting.connect_timeout or PATIENCE,
        ),
    )


def _allow_open_files(hosts: int) -> None:
    """As many as the system lets us have, where the usual 1,024 are too few for the hosts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = 4 * hosts + 200  # a socket, its wake-up pipe, an agent's socket while logging in
    if soft < needed:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(needed, hard), hard))
