"""The options that several commands share, each said once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from envsync.cli.choices import Backend, FailOn, FlavourName, Group, Launcher
from envsync.limits import LONGEST, MOST_AT_ONCE

DEFAULT_FILE = Path("environment.yml")


def bounded(seconds: float | None) -> float | None:
    """A time that can be waited for; `inf` and `nan` are numbers for Python, and pass as such."""
    if seconds is not None and not seconds <= LONGEST:
        raise typer.BadParameter(f"{seconds:g} is not in the range up to {LONGEST:.0f} seconds")
    return seconds


BUILD_TIMEOUT = 3600.0
"""Seconds."""
NamedHosts = Annotated[
    str | None,
    typer.Argument(
        metavar="[HOSTS]",
        help="A file (hosts, MPI slots, Ansible), - for stdin, a node set (gpu[01-16],login1), or"
        " slurm:PARTITION; without it, those of envsync.toml.",
        show_default=False,
    ),
]
MaybeHosts = Annotated[
    str | None,
    typer.Argument(
        metavar="[HOSTS]",
        help="A file, -, a node set, slurm:PARTITION; without it, those of envsync.toml, or of the"
        " last push.",
        show_default=False,
    ),
]
MaybeHostsFile = Annotated[
    str | None,
    typer.Option("--hosts", metavar="HOSTS", help="Where A and B stand, instead of the last push."),
]
Timeout = Annotated[
    float,
    typer.Option(
        metavar="SECONDS", min=1, callback=bounded, help="Longest time for one host's build."
    ),
]
EnvironmentFile = Annotated[
    Path, typer.Option("-f", "--file", metavar="FILE", help="The environment file.")
]
Name = Annotated[
    str | None,
    typer.Option("-n", "--name", help="Name of the environment, instead of the file's."),
]
Prefix = Annotated[
    str | None,
    typer.Option(
        metavar="PATH",
        help="Look at the environment at this path, whoever made it; FILE may be a lock then.",
    ),
]
SeenBefore = Annotated[
    list[Path] | None,
    typer.Option(
        "--seen",
        metavar="FILE",
        help="Ask no host: judge together what runs with --report FILE.json have seen; a folder"
        " is all in it; repeatable.",
    ),
]
Relock = Annotated[
    bool, typer.Option("--relock", help="Solve anew, although there is a lock for FILE.")
]
NoLock = Annotated[bool, typer.Option("--no-lock", help="Let every host solve FILE for itself.")]
Rebuild = Annotated[
    bool,
    typer.Option("--rebuild", help="Build anew even where the environment looks whole."),
]
BundleFile = Annotated[
    Path | None,
    typer.Option(
        "--bundle",
        metavar="BUNDLE",
        help="As --offline, with the files of this bundle, and its environment file and lock.",
    ),
]
Canary = Annotated[
    int,
    typer.Option(
        "--canary", metavar="N", min=0, help="Prepare N hosts first, and see how that goes."
    ),
]
BestEffort = Annotated[
    bool, typer.Option("--best-effort", help="Switch the hosts that are ready, if not all are.")
]
Replace = Annotated[
    bool,
    typer.Option("--replace", help="Rename an environment aside that envsync did not make."),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Switch although processes run through the environment's link."),
]
BreakLock = Annotated[
    bool,
    typer.Option("--break-lock", help="Take over from another push that is no more."),
]
OnlyDrifted = Annotated[
    bool,
    typer.Option("--only-drifted", help="Bring back the hosts that drifted; install on no other."),
]
Offline = Annotated[
    bool,
    typer.Option(
        "--offline", help="The hosts have no internet: fetch packages here, and send them."
    ),
]
Relay = Annotated[
    bool,
    typer.Option("--relay", help="Let hosts hand on to others, by their own ssh, what was sent."),
]
OnlyGroups = Annotated[
    list[Group] | None, typer.Option("--only", help="Only this group of things; repeatable.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Look at every host and say what would be done.")
]
FlavourOption = Annotated[
    FlavourName | None,
    typer.Option("--flavour", help="What to install; miniforge, unless told otherwise."),
]
Limit = Annotated[
    list[str] | None,
    typer.Option(
        "-l",
        "--limit",
        metavar="HOSTS",
        help="Only these of the inventory: names, gpu[01-04], gpu*, a group, ^FILE; repeatable.",
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option("-x", "--exclude", metavar="HOSTS", help="All but these, in the same words."),
]
Failed = Annotated[
    bool, typer.Option("--failed", help="Only those that failed last, in a run from here.")
]
Select = Annotated[
    list[str] | None,
    typer.Option(
        "--select",
        metavar="CODES",
        help="These rules alone; commas between codes, or their beginnings (ENV4).",
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="CODES", help="All but these rules; written as for --select."),
]
FailOnOption = Annotated[
    FailOn, typer.Option("--fail-on", help="Exit with 1 for errors only, or for warnings as well.")
]
Deep = Annotated[
    bool,
    typer.Option("--deep", help="Read every file, and compare it with conda's and pip's records."),
]
Watch = Annotated[
    int | None,
    typer.Option(
        "--watch",
        metavar="SECONDS",
        min=1,
        max=86400,
        help="Look again and again, so far apart, and say what changed; ^C ends it.",
    ),
]
Numeric = Annotated[
    bool,
    typer.Option("--numeric", help="Compute the same on every node, and compare the bits."),
]
CollectiveOption = Annotated[
    Backend | None,
    typer.Option("--collective", help="Run an all-reduce over the nodes, and check its value."),
]
Interface = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="For --collective: the network interface, instead of torch's choice."
    ),
]
Port = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, max=65535, help="For --collective: the port of rank 0; 29500 without."
    ),
]
Wait = Annotated[
    int | None,
    typer.Option(
        metavar="SECONDS",
        min=1,
        max=3600,
        help="For --collective: longest wait for the ranks; 60 without.",
    ),
]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write to this file.")
]
Overwrite = Annotated[bool, typer.Option("--force", help="Replace a file that is there.")]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout; text goes to stderr.")
]
Identity = Annotated[
    list[Path] | None,
    typer.Option("-i", "--identity", metavar="KEY", help="Private key to log in with; repeatable."),
]
KnownHosts = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Use this known_hosts file instead of ~/.ssh/known_hosts."),
]
SshConfig = Annotated[
    Path | None,
    typer.Option(
        "-F", "--ssh-config", metavar="FILE", help="Use this ssh_config alone, as ssh -F."
    ),
]
AcceptNew = Annotated[
    bool,
    typer.Option("--accept-new", help="Trust and remember hosts seen for the first time."),
]
ConnectTimeout = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        min=0.1,
        callback=bounded,
        help="Longest wait for a host to answer: 10, or ssh_config's; for Slurm's allocation: 60.",
    ),
]
AskPass = Annotated[
    bool, typer.Option("--ask-pass", help="Ask for a password, once for all hosts.")
]
FanOut = Annotated[
    int | None,
    typer.Option(
        "-j",
        "--fan-out",
        min=1,
        max=MOST_AT_ONCE,
        help="How many hosts at once, by default as fits here.",
    ),
]
MaxFailures = Annotated[
    str | None,
    typer.Option(metavar="N|P%", help="Try no more hosts when more than these have failed."),
]
Deadline = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS", min=1, callback=bounded, help="Longest time for the whole run."
    ),
]
Verbose = Annotated[
    bool, typer.Option("-v", "--verbose", help="Say what of ssh_config is not followed.")
]
LauncherOption = Annotated[
    Launcher,
    typer.Option("--launcher", help="How to reach the hosts: SSH, Slurm's srun, or this machine."),
]
