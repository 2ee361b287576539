"""What needs no node of yours: the grammar of config, lint, init, image, bundle and demo.

What a command does is imported when it is called, so that `--help` pays for none of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from envsync.cli.bundles import configured
from envsync.cli.choices import ImageFormat
from envsync.cli.options import (
    BUILD_TIMEOUT,
    DEFAULT_FILE,
    AsJson,
    EnvironmentFile,
    Ignore,
    Name,
    Output,
    Overwrite,
    Select,
)
from envsync.cli.reaching import ChannelMap, Reaching


def config(file: EnvironmentFile = DEFAULT_FILE, as_json: AsJson = False) -> None:
    """Show what the folder's config says, and where.

    That is envsync.toml beside FILE, or [tool.envsync] in pyproject.toml. The command line goes
    before it.
    """
    from envsync.cli.commands.config import config

    defaults = {
        "hosts": "of the last push",
        "name": "the file's",
        "flavour": "miniforge",
        "fan-out": "as fits this machine",
        "connect-timeout": "10, or ssh_config's",
        "timeout": BUILD_TIMEOUT,
        "channel-map": "none",
        "proxy": "none",
        "no-proxy": "none",
        "ca-bundle": "none",
        "override-node-settings": "no",
        "deadline": "none",
        "report": "none",
    }
    raise typer.Exit(config(file, defaults, as_json=as_json))


@configured
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


@configured
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
    with_envsync: Annotated[
        bool,
        typer.Option(
            "--with-envsync", help="Put this envsync into it, to verify it where it runs."
        ),
    ] = False,
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
    wishes = Wishes(kind, base, platform, with_envsync)
    raise typer.Exit(image(file, name, wishes, target, as_json=as_json))


@configured
def bundle(
    file: EnvironmentFile = DEFAULT_FILE,
    name: Name = None,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="FILE", help="Where to write it."),
    ] = Path("bundle.tar"),
    channel_map: ChannelMap = None,
    force: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Write FILE, its lock and all packages to one file, for a network that is closed.

    `push --bundle` sends from it. Unpacked, it is a conda channel and a folder of wheels, for
    `conda env create` by hand.
    """
    from envsync.cli.access import access_of
    from envsync.cli.commands.bundle import bundle

    access = access_of(Reaching.of(channel_map))
    raise typer.Exit(bundle(file, name, output, access, force=force, as_json=as_json))


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
