"""The grammar of the command line: every command, argument and option, and nothing else.

What a command does is imported when it is called, so that `--help` pays for none of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from envsync import __version__
from envsync.cli.options import (
    AsJson,
    BestEffort,
    BreakLock,
    Canary,
    Connecting,
    EnvironmentFile,
    FailOn,
    FailOnOption,
    Force,
    Hosts,
    Ignore,
    ImageFormat,
    MaybeHosts,
    MaybeHostsFile,
    Name,
    NoLock,
    Output,
    Overwrite,
    Rebuild,
    Relock,
    Replace,
    Select,
    Selecting,
    Timeout,
    Where,
    reaching_hosts,
)

DEFAULT_FILE = Path("environment.yml")

app = typer.Typer(
    name="envsync",
    help="Make one conda environment identical on every node of a cluster, and prove it.",
    add_completion=False,
    rich_markup_mode=None,  # plain help: rich's panels would double the start-up time
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 all good; 1 nodes differ, drifted or failed; 2 bad input, nothing"
    " touched; 3 a fault of envsync itself; 4 switched, with hosts in doubt; 130 interrupted.",
)


@app.command()
@reaching_hosts
def push(
    hosts: Hosts,
    file: EnvironmentFile = DEFAULT_FILE,
    name: Name = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Look at every host and say what would be done.")
    ] = False,
    relock: Relock = False,
    no_lock: NoLock = False,
    rebuild: Rebuild = False,
    canary: Canary = 0,
    best_effort: BestEffort = False,
    replace: Replace = False,
    force: Force = False,
    break_lock: BreakLock = False,
    timeout: Timeout = 3600.0,
    *,
    selecting: Selecting,
    connecting: Connecting,
    as_json: AsJson = False,
) -> None:
    """Make the environment of FILE on every host; all switch, or none.

    FILE is solved once, on one host of each platform; the lock beside it says what every host
    installs. A host that holds that already is left alone. A host that fails is named with its
    cause and the next step; the others get ready, and a second push needs to do just the rest.
    """
    from envsync.cli.commands.push import Request, push
    from envsync.cli.session import ticket
    from envsync.push import PushOptions

    options = PushOptions(
        ticket(break_lock=break_lock),
        timeout=timeout,
        dry_run=dry_run,
        rebuild=rebuild,
        best_effort=best_effort,
        canary=canary,
        force=force,
        replace=replace,
    )
    where = Where(hosts, file, name, connecting, selecting)
    request = Request(where, options, relock, no_lock, as_json)
    raise typer.Exit(push(request))


@app.command()
@reaching_hosts
def lock(
    hosts: Hosts,
    file: EnvironmentFile = DEFAULT_FILE,
    name: Name = None,
    relock: Relock = False,
    break_lock: BreakLock = False,
    timeout: Timeout = 3600.0,
    *,
    selecting: Selecting,
    connecting: Connecting,
    as_json: AsJson = False,
) -> None:
    """Solve FILE once a platform, and write the lock beside it.

    Nothing is installed. `push` does the same by itself when there is no lock for FILE.
    """
    from envsync.cli.commands.push import Request, lock
    from envsync.cli.session import ticket
    from envsync.push import PushOptions

    options = PushOptions(ticket(break_lock=break_lock), timeout=timeout)
    where = Where(hosts, file, name, connecting, selecting)
    request = Request(where, options, relock, as_json=as_json)
    raise typer.Exit(lock(request))


@app.command()
@reaching_hosts
def verify(
    hosts: MaybeHosts = None,
    file: EnvironmentFile = DEFAULT_FILE,
    name: Name = None,
    fail_on: FailOnOption = FailOn.ERROR,
    *,
    selecting: Selecting,
    connecting: Connecting,
    as_json: AsJson = False,
) -> None:
    """Check that every node still holds the same environment.

    Asks each node what it holds and what torch sees there; compares the nodes with each other,
    with the pins in FILE, and with the last push. Says as well what in a machine hurts training
    on many nodes: drivers, clocks, libraries and packages that come from elsewhere.
    """
    from envsync.cli.commands.verify import verify

    where = Where(hosts, file, name, connecting, selecting)
    raise typer.Exit(verify(where, fail_on, as_json=as_json))


@app.command()
@reaching_hosts
def diff(
    a: Annotated[str, typer.Argument(metavar="A", help="A host of the last push from here.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another one; short names will do.")],
    everything: Annotated[bool, typer.Option("--all", help="Show what is equal, too.")] = False,
    hosts: MaybeHostsFile = None,
    file: EnvironmentFile = DEFAULT_FILE,
    name: Name = None,
    *,
    connecting: Connecting,
    as_json: AsJson = False,
) -> None:
    """Show what differs between the environments of two nodes.

    Exits with 1 if anything does.
    """
    from envsync.cli.commands.verify import diff

    where = Where(hosts, file, name, connecting)
    raise typer.Exit(diff((a, b), where, everything=everything, as_json=as_json))


@app.command()
@reaching_hosts
def rollback(
    hosts: MaybeHosts = None,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="GENERATION", help="Which one, instead of the one before."),
    ] = None,
    file: EnvironmentFile = DEFAULT_FILE,
    name: Name = None,
    force: Force = False,
    break_lock: BreakLock = False,
    *,
    selecting: Selecting,
    connecting: Connecting,
    as_json: AsJson = False,
) -> None:
    """Make the generation before this one current again on every host.

    All hosts or none: a host that cannot go back leaves all where they are. Nothing is built
    or downloaded.
    """
    from envsync.cli.commands.rollback import rollback
    from envsync.cli.session import ticket

    where = Where(hosts, file, name, connecting, selecting)
    whose = ticket(break_lock=break_lock)
    raise typer.Exit(rollback(where, to, whose, force=force, as_json=as_json))


@app.command()
@reaching_hosts
def resume(
    file: EnvironmentFile = DEFAULT_FILE,
    break_lock: BreakLock = False,
    *,
    connecting: Connecting,
    as_json: AsJson = False,
) -> None:
    """Complete a switch that not all hosts were seen to do."""
    from envsync.cli.commands.resume import resume
    from envsync.cli.session import ticket

    whose = ticket(break_lock=break_lock)
    raise typer.Exit(resume(file, connecting, whose, as_json=as_json))


@app.command()
@reaching_hosts
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

    where = Where(hosts, file, name, connecting, selecting)
    raise typer.Exit(log(where, as_json=as_json))


@app.command()
@reaching_hosts
def status(
    hosts: MaybeHosts = None,
    file: EnvironmentFile = DEFAULT_FILE,
    name: Name = None,
    *,
    selecting: Selecting,
    connecting: Connecting,
    as_json: AsJson = False,
) -> None:
    """Show which generations each host keeps, and who uses them."""
    from envsync.cli.commands.prune import status

    where = Where(hosts, file, name, connecting, selecting)
    raise typer.Exit(status(where, as_json=as_json))


@app.command()
@reaching_hosts
def prune(
    hosts: MaybeHosts = None,
    keep: Annotated[
        int, typer.Option("--keep", min=1, help="How many to keep, the current one included.")
    ] = 3,
    clean: Annotated[
        bool, typer.Option("--clean", help="Let conda clean its package cache, too.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be removed, and remove nothing.")
    ] = False,
    file: EnvironmentFile = DEFAULT_FILE,
    name: Name = None,
    break_lock: BreakLock = False,
    *,
    selecting: Selecting,
    connecting: Connecting,
    as_json: AsJson = False,
) -> None:
    """Remove old generations from every host.

    Never the current one, and never one in which a process runs.
    """
    from envsync.cli.commands.prune import Wishes, prune
    from envsync.cli.session import ticket

    wishes = Wishes(keep, ticket(break_lock=break_lock), dry_run, clean)
    where = Where(hosts, file, name, connecting, selecting)
    raise typer.Exit(prune(where, wishes, as_json=as_json))


@app.command()
@reaching_hosts
def ping(
    hosts: MaybeHosts = None,
    file: EnvironmentFile = DEFAULT_FILE,
    *,
    selecting: Selecting,
    connecting: Connecting,
    as_json: AsJson = False,
) -> None:
    """Reach every host, and say how: address, user, key, host key, time, conda.

    Changes nothing. A host that is not reached is shown with its cause, and with the command
    that shows the same in ssh.
    """
    from envsync.cli.commands.ping import ping

    raise typer.Exit(ping(Where(hosts, file, None, connecting, selecting), as_json=as_json))


@app.command()
@reaching_hosts
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
    *,
    connecting: Connecting,
    as_json: AsJson = False,
) -> None:
    """Print the environment of one node as a portable environment.yml.

    Changes nothing there. Credentials are never in the output.
    """
    from envsync.cli.commands.export import Form, export

    form = Form(builds, from_history, explicit, output, force)
    where = Where(hosts, file, name, connecting)
    raise typer.Exit(export(host, where, form, as_json=as_json))


@app.command()
def lint(
    file: Annotated[Path, typer.Argument(metavar="[FILE]")] = DEFAULT_FILE,
    name: Name = None,
    select: Select = None,
    ignore: Ignore = None,
    as_json: AsJson = False,
) -> None:
    """Say what in FILE will hurt, before any node is touched.

    Exits with 1 on errors; warnings and infos alone are no failure.
    """
    from envsync.cli.commands.lint import lint

    raise typer.Exit(lint(file, name, select or (), ignore or (), as_json=as_json))


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]")] = Path(),
    output: Output = None,
    name: Annotated[
        str | None, typer.Option("-n", "--name", help="Name of the environment: nlp-pretrain-a100.")
    ] = None,
    cuda: Annotated[
        str | None,
        typer.Option(metavar="GPU", help="A GPU (a100), a version of CUDA (12.6), or cpu."),
    ] = None,
    torch: Annotated[str | None, typer.Option(metavar="X.Y", help="Version of torch.")] = None,
    python: Annotated[str | None, typer.Option(metavar="X.Y", help="Version of Python.")] = None,
    channel: Annotated[
        str | None,
        typer.Option(metavar="WHENCE", help="torch from conda-forge, pip, or the old pytorch."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing: take the defaults.")] = False,
    force: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Write a good environment.yml to start from.

    Asks what it is for, on which GPU, with which torch and from where; each has a default and
    an option. The file says why its lines are there, and lint has nothing against it.
    """
    from envsync.cli.commands.init import Target, init

    said = {"name": name, "cuda": cuda, "torch": torch, "python": python, "channel": channel}
    target = Target(output or folder / DEFAULT_FILE, force)
    raise typer.Exit(init(target, said, yes=yes, as_json=as_json))


@app.command()
def image(
    file: EnvironmentFile = DEFAULT_FILE,
    name: Name = None,
    kind: Annotated[ImageFormat, typer.Option("--format", help="Who reads it.")] = (
        ImageFormat.DOCKER
    ),
    output: Output = None,
    base: Annotated[
        str | None, typer.Option("--base", metavar="IMAGE", help="What the environment runs on.")
    ] = None,
    platform: Annotated[
        str, typer.Option("--platform", metavar="PLATFORM", help="Which section of the lock.")
    ] = "linux-64",
    force: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Print a Dockerfile or an Apptainer definition for FILE.

    With a lock beside FILE, the image gets exactly what the nodes get: every package by its
    hash. Without one, the builder solves.
    """
    from envsync.cli.commands.image import Wishes, image
    from envsync.cli.commands.init import Target

    target = Target(output, force) if output else None
    wishes = Wishes(kind, base, platform)
    raise typer.Exit(image(file, name, wishes, target, as_json=as_json))


@app.command()
def demo(
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the nodes' folders there to look at.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Do the whole job on this machine, on three SSH nodes.

    Push, a change by hand on one node, verify, diff, and a push that mends it. Needs no root
    and no internet, and leaves nothing behind.
    """
    from envsync.cli.commands.demo import demo

    raise typer.Exit(demo(keep=keep, as_json=as_json))


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"envsync {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    pass
