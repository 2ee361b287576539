"""What several options come to together, each as one argument of a command."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from envsync.cli.options import (
    AcceptNew,
    AskPass,
    ConnectTimeout,
    Deadline,
    Exclude,
    Failed,
    FanOut,
    Identity,
    KnownHosts,
    Launcher,
    LauncherOption,
    Limit,
    MaxFailures,
    SshConfig,
    Verbose,
)


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
