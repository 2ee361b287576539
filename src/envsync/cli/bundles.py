"""What several options come to together, each as one argument of a command."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer

from envsync.cli.choices import Launcher
from envsync.cli.installing import Installing
from envsync.cli.options import (
    DEFAULT_FILE,
    AcceptNew,
    AskPass,
    ConnectTimeout,
    Deadline,
    EnvironmentFile,
    Exclude,
    Failed,
    FanOut,
    Identity,
    KnownHosts,
    LauncherOption,
    Limit,
    MaxFailures,
    MaybeHosts,
    Name,
    NamedHosts,
    SshConfig,
    Verbose,
)
from envsync.cli.reaching import Reaching
from envsync.errors import InputError


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
    hosts: str = ""
    """HOSTS as written, which may name a job or a partition to run in; no option of its own."""

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
    """None: those of the config, or of the last push, in the file's folder."""
    file: Path
    name: str | None
    connecting: Connecting
    selecting: Selecting = Selecting((), (), failed=False)
    prefix: str = ""
    """The path of an environment on the nodes, whoever made it; empty: it goes by its name."""

    def at(self, prefix: str | None) -> Where:
        """The same for the environment at that path, if one is given. Raises InputError."""
        return self if prefix is None else replace(self, prefix=_checked(prefix))

    @classmethod
    def of(
        cls,
        hosts: MaybeHosts = None,
        file: EnvironmentFile = DEFAULT_FILE,
        name: Name = None,
        *,
        selecting: Selecting = Selecting((), (), failed=False),
        connecting: Connecting,
    ) -> Where:
        """Of a command that has the hosts of the last push to fall back on."""
        return cls(hosts, file, name, replace(connecting, hosts=hosts or ""), selecting)

    @classmethod
    def named(
        cls,
        hosts: NamedHosts = None,
        file: EnvironmentFile = DEFAULT_FILE,
        name: Name = None,
        *,
        selecting: Selecting,
        connecting: Connecting,
    ) -> Where:
        """Of a command that wants to be told the hosts, here or by the config."""
        from envsync.config import read_config  # noqa: PLC0415 (not for --help)

        hosts = read_config(file.parent).hosts() if hosts is None else hosts
        return cls(hosts, file, name, replace(connecting, hosts=hosts or ""), selecting)


def _checked(prefix: str) -> str:
    """A path as nodes take it, without a slash at its end."""
    if not prefix.startswith("/") or not prefix.isprintable() or not prefix.strip("/"):
        raise InputError(
            f"--prefix: {prefix!r} is not the path of an environment",
            hint="write it from the root on, as it is on the hosts: /opt/envs/train",
        )
    return prefix.rstrip("/")


_BUNDLES: dict[str, Callable[..., Any]] = {
    "where": Where.of,
    "named": Where.named,
    "connecting": Connecting.of,
    "selecting": Selecting.of,
    "installing": Installing.of,
    "reaching": Reaching.of,
}
"""Arguments of commands that stand for several options each; a bundle may hold others."""


def configured(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command options in place of those of its arguments that are bundles.

    Options that are not on the command line have what the folder's config says.
    """

    @functools.wraps(command)
    def with_options(context: typer.Context, **words: Any) -> None:
        command(**_bundled(command, _with_config(context, words)))

    parameters = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in _options_of(command)
    ]
    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    # What typer reads a command's options from.
    with_options.__signature__ = inspect.Signature([context, *parameters])  # type: ignore[attr-defined]
    with_options.__annotations__ = {each.name: each.annotation for each in (context, *parameters)}
    return with_options


def _with_config(context: typer.Context, words: dict[str, Any]) -> dict[str, Any]:
    """The words, with the config's in place of mere defaults; hosts are target.py's to find."""
    from envsync.config import read_config  # noqa: PLC0415 (not for --help)

    config = read_config(words.get("file", DEFAULT_FILE).parent)
    said = {key.replace("-", "_"): each.value for key, each in config.settings.items()}
    said |= {"report": config.reports()} if "report" in said else {}
    said |= {"ca_bundle": config.certificates()} if "ca_bundle" in said else {}
    if setting := config.settings.get("channel-map"):
        said["channel_map"] = list(setting.texts)
    if setting := config.settings.get("no-proxy"):
        said["no_proxy"] = ",".join(setting.texts)
    said.pop("hosts", None)

    def is_default(word: str) -> bool:
        source = context.get_parameter_source(word)
        return source is not None and source.name == "DEFAULT"

    return words | {
        word: value for word, value in said.items() if word in words and is_default(word)
    }


def _options_of(taker: Callable[..., Any]) -> Iterator[inspect.Parameter]:
    """The arguments of `taker`, with those that a bundle stands for in its place."""
    for each in inspect.signature(taker, eval_str=True).parameters.values():
        if make := _BUNDLES.get(each.name):
            yield from _options_of(make)
        else:
            yield each


def _bundled(taker: Callable[..., Any], words: dict[str, Any]) -> dict[str, Any]:
    """The words that `taker` wants, its bundles made of others."""
    return {
        name: make(**_bundled(make, words)) if (make := _BUNDLES.get(name)) else words[name]
        for name in inspect.signature(taker).parameters
    }


def _absolute(file: Path) -> str:
    return str(file.expanduser().absolute())
