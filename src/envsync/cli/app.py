"""The command line: its commands in the order of `--help`, and what is said around them."""

from __future__ import annotations

from typing import Annotated

import typer

from envsync import __version__
from envsync.cli import changing, looking, writing

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

for command in (
    changing.push,
    changing.lock,
    looking.verify,
    looking.diff,
    changing.rollback,
    changing.resume,
    looking.log,
    looking.status,
    changing.prune,
    changing.bootstrap,
    looking.ping,
    looking.export,
    writing.config,
    writing.lint,
    writing.init,
    writing.image,
    writing.bundle,
    writing.demo,
):
    app.command()(command)


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
