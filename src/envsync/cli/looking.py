"""What only looks at nodes: the grammar of verify, diff, log, status, ping and export.

What a command does is imported when it is called, so that `--help` pays for none of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from envsync.cli.bundles import Connecting, Selecting, Where, configured
from envsync.cli.choices import FailOn
from envsync.cli.options import (
    DEFAULT_FILE,
    AsJson,
    CollectiveOption,
    Deep,
    EnvironmentFile,
    FailOnOption,
    Interface,
    MaybeHosts,
    MaybeHostsFile,
    Name,
    Numeric,
    OnlyGroups,
    Port,
    Prefix,
    SeenBefore,
    Wait,
    Watch,
)


@configured
def verify(
    fail_on: FailOnOption = FailOn.ERROR,
    deep: Deep = False,
    watch: Watch = None,
    numeric: Numeric = False,
    collective: CollectiveOption = None,
    interface: Interface = None,
    port: Port = None,
    wait: Wait = None,
    prefix: Prefix = None,
    seen: SeenBefore = None,
    report: Annotated[
        list[Path] | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Write a report as well: .json, .md, .xml (JUnit), .html or .svg; repeatable.",
        ),
    ] = None,
    *,
    where: Where,
    as_json: AsJson = False,
) -> None:
    """Check that every node still holds the same environment.

    Asks each node what it holds and what torch sees there; compares the nodes with each other,
    with the pins in FILE, and with the last push. Says as well what in a machine hurts training
    on many nodes: drivers, clocks, libraries and packages that come from elsewhere.
    """
    from envsync.cli.commands.verify import Looking, request_for, verify, verify_seen
    from envsync.sight import Looks

    where = where.at(prefix)
    looks = Looks(wide=True, deep=deep, numeric=numeric, prefix=where.prefix)
    request = request_for(collective, interface, port, wait)
    looking = Looking(fail_on, looks, watch, tuple(report or ()), request)
    if seen:
        raise typer.Exit(verify_seen(where, looking, seen, as_json=as_json))
    raise typer.Exit(verify(where, looking, as_json=as_json))


@configured
def diff(
    a: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="A host of the last push from here, or a file: .lock, .yml, or a report's"
            " FILE.json#HOST.",
        ),
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="Another one; short names will do.")],
    everything: Annotated[bool, typer.Option("--all", help="Show what is equal, too.")] = False,
    only: OnlyGroups = None,
    hosts: MaybeHostsFile = None,
    file: EnvironmentFile = DEFAULT_FILE,
    name: Name = None,
    prefix: Prefix = None,
    *,
    connecting: Connecting,
    as_json: AsJson = False,
) -> None:
    """Show what differs between two nodes, or files that say what is in one.

    A lock is compared by its section for the other side (or FILE.lock#PLATFORM), an environment
    file by what it asks for. Nodes and saved reports also have a system: OS, kernel, GPUs, limits.
    Exits with 1 if anything differs that should not.
    """
    from envsync.cli.commands.diff import Showing, diff

    groups = tuple("torch and CUDA" if each.value == "torch" else each.value for each in only or ())
    where = Where.of(hosts, file, name, connecting=connecting).at(prefix)
    raise typer.Exit(diff((a, b), where, Showing(everything, groups), as_json=as_json))


@configured
def log(
    hosts: Annotated[
        str | None,
        typer.Argument(
            metavar="[HOSTS]",
            help="Ask these hosts what they remember, instead of this folder.",
            show_default=False,
        ),
    ] = None,
    file: EnvironmentFile = DEFAULT_FILE,
    name: Name = None,
    *,
    selecting: Selecting,
    connecting: Connecting,
    as_json: AsJson = False,
) -> None:
    """Show what was pushed and rolled back, by whom, and its end."""
    from envsync.cli.commands.resume import log

    where = Where.of(hosts, file, name, selecting=selecting, connecting=connecting)
    raise typer.Exit(log(where, as_json=as_json))


@configured
def status(
    *,
    where: Where,
    as_json: AsJson = False,
) -> None:
    """Show which generations each host keeps, and who uses them."""
    from envsync.cli.commands.prune import status

    raise typer.Exit(status(where, as_json=as_json))


@configured
def ping(
    hosts: MaybeHosts = None,
    file: EnvironmentFile = DEFAULT_FILE,
    *,
    selecting: Selecting,
    connecting: Connecting,
    as_json: AsJson = False,
) -> None:
    """Reach every host, and say how.

    With which address, user, key and host key, how fast, and which conda is there. Changes
    nothing. A host that is not reached is shown with its cause, and with the command
    that shows the same in ssh or srun.
    """
    from envsync.cli.commands.ping import ping

    raise typer.Exit(
        ping(
            Where.of(hosts, file, None, selecting=selecting, connecting=connecting), as_json=as_json
        )
    )


@configured
def export(
    host: Annotated[str, typer.Argument(metavar="HOST", help="A host of the last push from here.")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="OUT", help="Write to this file, not to stdout."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file.")] = False,
    builds: Annotated[bool, typer.Option("--builds", help="Keep conda's build strings.")] = False,
    from_history: Annotated[
        bool, typer.Option("--from-history", help="Only what was asked for, not what that needs.")
    ] = False,
    explicit: Annotated[
        bool, typer.Option("--explicit", help="Print conda's explicit list, with hashes.")
    ] = False,
    hosts: Annotated[
        str | None,
        typer.Option("--hosts", metavar="HOSTS", help="Where HOST stands, if not the last push."),
    ] = None,
    file: EnvironmentFile = DEFAULT_FILE,
    name: Name = None,
    prefix: Prefix = None,
    *,
    connecting: Connecting,
    as_json: AsJson = False,
) -> None:
    """Print one node's environment as a portable environment.yml.

    Changes nothing there. Credentials are never in the output.
    """
    from envsync.cli.commands.export import Form, export

    form = Form(builds, from_history, explicit, output, force)
    where = Where.of(hosts, file, name, connecting=connecting).at(prefix)
    raise typer.Exit(export(host, where, form, as_json=as_json))
