"""This machine as a host: the same wire, carried by a pipe instead of SSH."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from envsync.model import Host
from envsync.ports import Command, Completed, Connection, LineSink, Reached
from envsync.transport.piped import Pipe, Program
from envsync.transport.shell import Exchange
from envsync.whoami import user_name


class LocalConnection:
    """Runs commands in a child of this process, in a process group of its own."""

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self._env = dict(os.environ if env is None else env)
        self._pipe = Pipe()

    @property
    def reached(self) -> Reached:
        return Reached("this machine", user_name())

    def run(self, command: Command, on_line: LineSink | None = None) -> Completed:
        exchange = Exchange(command, on_line)
        program = Program(["/bin/sh", "-c", exchange.wire], self._env, self._home())
        return self._pipe.carry(exchange, program)

    def _home(self) -> str:
        """Where sshd would start a command: / for a user whose home is not there."""
        home = Path(self._env.get("HOME", "/"))
        return str(home) if home.is_dir() and os.access(home, os.X_OK) else "/"

    def close(self) -> None:
        self._pipe.close()


@dataclass(frozen=True)
class LocalTransport:
    """Reaches just one host: this one. `env` replaces the environment, HOME included."""

    env: Mapping[str, str] | None = None

    def connect(self, host: Host) -> Connection:  # noqa: ARG002 (there is just this one)
        return LocalConnection(self.env)

    def close(self) -> None:
        """Nothing is shared between connections."""

    @property
    def unread(self) -> tuple[str, ...]:
        return ()
