"""The options that several commands share, each said once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


class Launcher(StrEnum):
    """How commands reach a host."""

    SSH = "ssh"
    LOCAL = "local"


class FailOn(StrEnum):
    """From which level on a finding makes verify fail."""

    ERROR = "error"
    WARNING = "warning"


class ImageFormat(StrEnum):
    """What reads the text that `envsync image` prints."""

    DOCKER = "docker"
    APPTAINER = "apptainer"


Hosts = Annotated[
    str,
    typer.Argument(
        metavar="HOSTS",
        help="A file (hosts, MPI slots, Ansible), - for stdin, or a node set: gpu[01-16],login1.",
    ),
]
MaybeHosts = Annotated[
    str | None,
    typer.Argument(
        metavar="[HOSTS]",
        help="A file, -, or a node set; without it, the hosts of the last push from here.",
        show_default=False,
    ),
]
MaybeHostsFile = Annotated[
    str | None,
    typer.Option("--hosts", metavar="HOSTS", help="Where A and B stand, instead of the last push."),
]
Timeout = Annotated[
    float, typer.Option(metavar="SECONDS", min=1, help="Longest time for one host's build.")
]
EnvironmentFile = Annotated[
    Path, typer.Option("-f", "--file", metavar="FILE", help="The environment file.")
]
Name = Annotated[
    str | None,
    typer.Option("-n", "--name", help="Name of the environment, instead of the file's."),
]
Relock = Annotated[
    bool, typer.Option("--relock", help="Solve anew, although there is a lock for FILE.")
]
NoLock = Annotated[bool, typer.Option("--no-lock", help="Let every host solve FILE for itself.")]
Rebuild = Annotated[
    bool,
    typer.Option("--rebuild", help="Build anew even where the environment looks whole."),
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
    bool, typer.Option("--failed", help="Only those that failed in the last run from here.")
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
        metavar="SECONDS", min=0.1, help="Longest wait for a host to answer: 10, or ssh_config's."
    ),
]
AskPass = Annotated[
    bool, typer.Option("--ask-pass", help="Ask for a password, once for all hosts.")
]
FanOut = Annotated[
    int | None,
    typer.Option(
        "-j", "--fan-out", min=1, max=1024, help="How many hosts at once, by default as fits here."
    ),
]
MaxFailures = Annotated[
    str | None,
    typer.Option(metavar="N|P%", help="Try no more hosts when more than these have failed."),
]
Deadline = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", min=1, help="Longest time for the whole run."),
]
Verbose = Annotated[
    bool, typer.Option("-v", "--verbose", help="Say what of ssh_config is not followed.")
]
LauncherOption = Annotated[
    Launcher,
    typer.Option("--launcher", help="How to reach the hosts: SSH, or this machine itself."),
]


@dataclass(frozen=True)
class Selecting:
    """Which of the hosts that are named a command is for."""

    limit: tuple[str, ...]
    exclude: tuple[str, ...]
    failed: bool

    @classmethod
    def of(
        cls,
        limit: Limit = None,
        exclude: Exclude = None,
        failed: Failed = False,  # noqa: FBT002 (an option, as typer wants it)
    ) -> Selecting:
        """From the options as typer hands them over."""
        return cls(tuple(limit or ()), tuple(exclude or ()), failed)


@dataclass(frozen=True)
class Connecting:
    """Everything that leads to the hosts. Times are in seconds."""

    identity: tuple[Path, ...]
    known_hosts: Path | None
    ssh_config: Path | None
    accept_new: bool
    connect_timeout: float | None
    ask_pass: bool
    fan_out: int | None
    max_failures: str | None
    deadline: float | None
    verbose: bool
    launcher: Launcher

    @classmethod
    def of(
        cls,
        identity: Identity = None,
        known_hosts: KnownHosts = None,
        ssh_config: SshConfig = None,
        accept_new: AcceptNew = False,  # noqa: FBT002 (an option, as typer wants it)
        connect_timeout: ConnectTimeout = None,
        ask_pass: AskPass = False,  # noqa: FBT002
        fan_out: FanOut = None,
        max_failures: MaxFailures = None,
        deadline: Deadline = None,
        verbose: Verbose = False,  # noqa: FBT002
        launcher: LauncherOption = Launcher.SSH,
    ) -> Connecting:
        """From the options as typer hands them over; their defaults are said here alone."""
        return cls(
            tuple(identity or ()),
            known_hosts,
            ssh_config,
            accept_new,
            connect_timeout,
            ask_pass,
            fan_out,
            max_failures,
            deadline,
            verbose,
            launcher,
        )

    def record(self) -> dict[str, Any]:
        """What to remember, so that the next command needs no more words."""
        return {
            "identity": [_absolute(file) for file in self.identity],
            "known_hosts": self.known_hosts and _absolute(self.known_hosts),
            "ssh_config": self.ssh_config and _absolute(self.ssh_config),
            "launcher": self.launcher.value,
        }

    def or_remembered(self, record: dict[str, Any]) -> Connecting:
        """The same, with what was not given on this command line taken from `record`."""
        known_hosts, ssh_config = record.get("known_hosts"), record.get("ssh_config")
        return replace(
            self,
            identity=self.identity or tuple(map(Path, record.get("identity", ()))),
            known_hosts=self.known_hosts or (Path(known_hosts) if known_hosts else None),
            ssh_config=self.ssh_config or (Path(ssh_config) if ssh_config else None),
            launcher=Launcher(record.get("launcher", self.launcher)),
        )


@dataclass(frozen=True)
class Where:
    """Which environment on which hosts, in the user's words."""

    hosts: str | None
    """None: those of the last push from the file's folder."""
    file: Path
    name: str | None
    connecting: Connecting
    selecting: Selecting = Selecting((), (), failed=False)


_BUNDLES: dict[str, Callable[..., Any]] = {"connecting": Connecting.of, "selecting": Selecting.of}
"""Arguments of commands that stand for several options each."""


def reaching_hosts(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command options in place of its arguments `connecting` and `selecting`."""
    own = inspect.signature(command, eval_str=True).parameters
    options = {
        name: inspect.signature(make, eval_str=True).parameters
        for name, make in _BUNDLES.items()
        if name in own
    }

    @functools.wraps(command)
    def with_options(**words: Any) -> None:
        made = {
            name: _BUNDLES[name](**{option: words.pop(option) for option in each})
            for name, each in options.items()
        }
        command(**words, **made)

    parameters = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for each in own.values()
        for parameter in (options[each.name].values() if each.name in options else (each,))
    ]
    # What typer reads a command's options from.
    with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {each.name: each.annotation for each in parameters}
    return with_options


def _absolute(file: Path) -> str:
    return str(file.expanduser().absolute())
