"""One run of a command: its hosts, connections, event log, live view and reports."""

from __future__ import annotations

import getpass
import socket
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Self

from envsync.cli.options import Connecting, Launcher
from envsync.commit import doubtful
from envsync.errors import ExitCode, InputError
from envsync.events import Event
from envsync.hold import Ticket
from envsync.hostnames import display_names, fold_names
from envsync.model import Host
from envsync.ports import Transport
from envsync.render.console import console
from envsync.render.envelope import envelope
from envsync.render.live import LiveView
from envsync.report import HostReport, apply
from envsync.runner import Fleet
from envsync.store import Store


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
        self._log = (
            self._stack.enter_context(self._store.log(self._command)) if self._logged else None
        )
        self.fleet = self._stack.enter_context(
            Fleet(make_transport(self._connecting, self.hosts), self.emit, self._connecting.fan_out)
        )
        self._live = self._stack.enter_context(
            LiveView(self.hosts, self._labels, console(stderr=True))
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        self._store.note_failures(each.host for each in self.reports if each.failure)

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

    def finish(self, exit_code: int, result: object) -> int:
        """Print the envelope if JSON was asked for; the exit code."""
        if self._as_json:
            print(envelope(self._command, exit_code, result))
        return exit_code


def operator() -> str:
    """Who runs this command, as user@machine."""
    return f"{getpass.getuser()}@{socket.gethostname()}"


def ticket(*, break_lock: bool) -> Ticket:
    """Who takes the environments for this command."""
    return Ticket(operator(), break_lock)


def make_transport(connecting: Connecting, hosts: Sequence[Host]) -> Transport:
    """The transport that the user chose; imported only now, since paramiko takes its time."""
    if connecting.launcher is Launcher.LOCAL:
        from envsync.transport.local import LocalTransport  # noqa: PLC0415 (see above)

        if len(hosts) != 1:
            raise InputError(
                f"--launcher local reaches one host, this machine; {len(hosts)} were named",
                hint="put just `localhost` into the inventory",
            )
        return LocalTransport()
    from envsync.transport.connect import SshOptions, SshTransport  # noqa: PLC0415 (see above)

    known_hosts = connecting.known_hosts
    return SshTransport(
        SshOptions(
            identity_files=connecting.identity,
            known_hosts=(known_hosts,) if known_hosts else (),
            config=connecting.ssh_config,
            accept_new=connecting.accept_new,
            connect_timeout=connecting.connect_timeout,
        )
    )
