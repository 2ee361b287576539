"""envsync ping."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from envsync.cli.bundles import Connecting, Where
from envsync.cli.choices import Launcher
from envsync.cli.session import Session
from envsync.cli.target import find_hosts
from envsync.inventory import job_of
from envsync.model import Host
from envsync.ping import in_slurm, in_ssh
from envsync.ping import ping as ping_all
from envsync.render import envelope, reading, screens


def ping(where: Where, *, as_json: bool) -> int:
    """Reach every host and say how; for those that are not reached, how to see it in ssh."""
    chosen, connecting, store = find_hosts(where)
    session = Session("ping", chosen.hosts, connecting, store, as_json=as_json)
    reading.notices(session.out, chosen.notices)
    with session:
        pongs = ping_all(session.fleet, chosen.hosts)
    commands = {
        report.host: shlex.join(_by_hand(report.host, connecting))
        for report in session.reports
        if report.failure
    }
    screens.pinged(session.out, pongs, commands, session.reports, session.fold)
    return session.finish(
        session.exit_code,
        {
            "hosts": [envelope.host_record(report) for report in session.reports],
            "pongs": envelope.plain(pongs),
            "in_ssh": {str(host): command for host, command in commands.items()},
        },
    )


def _by_hand(host: Host, connecting: Connecting) -> Sequence[str]:
    """The command that shows the same without us."""
    if connecting.launcher is Launcher.SLURM:
        return in_slurm(host, job=job_of(connecting.hosts))
    keys = [str(key) for key in connecting.identity]
    return in_ssh(host, config=str(connecting.ssh_config or ""), keys=keys)
