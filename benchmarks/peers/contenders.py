"""Who takes part, and how each is called."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from peers.farm import AT_ONCE, CURVE, SCRIPT, Farm
from peers.install import Tools

_PROGRAMS = Path(__file__).parent / "programs"

OURS = "envsync"
YARDSTICK = "bare paramiko"


@dataclass(frozen=True)
class Contender:
    """One tool, used one way."""

    name: str
    how: str
    """In a few words, for the table."""
    words: Callable[[Farm], list[str]]
    env: Callable[[Farm], Mapping[str, str]] = field(default=lambda _: {})
    needs: str = ""
    """What has to be installed, by its name in `Tools`."""


def environment(contender: Contender, farm: Farm) -> dict[str, str]:
    """A home without settings, no agent; what the contender wants besides."""
    kept = {name: value for name, value in os.environ.items() if name != "SSH_AUTH_SOCK"}
    return {**kept, "HOME": str(farm.folder), **contender.env(farm)}


def contenders(tools: Tools) -> list[Contender]:
    """All of them, ours first; the same work for each."""
    ssh_based = [
        each
        for kex, suffix, note in (("", "", "default key exchange"), (CURVE, " curve25519", CURVE))
        for each in (
            Contender(f"OpenSSH{suffix}", f"`xargs -P {AT_ONCE}` ssh, {note}", _xargs(kex)),
            Contender(
                f"pdsh{suffix}", f"`-R ssh -f {AT_ONCE}`, {note}", _pdsh, _pdsh_env(kex), "pdsh"
            ),
            Contender(
                f"clush{suffix}", f"`-f {AT_ONCE}`, {note}", _clush(tools, kex), needs="clush"
            ),
            Contender(
                f"Ansible{suffix}", f"`raw`, {AT_ONCE} forks, {note}",
                _ansible(tools), _ansible_env(kex), "ansible",
            ),
        )
    ]  # fmt: skip
    own, peer = sys.executable, tools.python
    return [
        Contender(OURS, f"one `Fleet`, {AT_ONCE} threads", _program(own, "envsync_fleet")),
        Contender(YARDSTICK, f"tuned, {AT_ONCE} threads", _program(own, "bare_paramiko")),
        Contender(
            "parallel-ssh", "libssh2, gevent; no host key check",
            _program(peer, "parallel_ssh"), needs="parallel-ssh",
        ),
        Contender(
            "asyncssh", "as documented", _program(peer, "asyncssh_plain"), needs="asyncssh"
        ),
        Contender(
            "asyncssh tuned", f"{CURVE}, files read once",
            _program(peer, "asyncssh_tuned"), needs="asyncssh",
        ),
        Contender(
            "Fabric", f"`put` and `run`, {AT_ONCE} threads",
            _program(peer, "fabric_threads"), needs="fabric",
        ),
        Contender(
            "pyinfra", f"`server.shell`, `--parallel {AT_ONCE}`",
            _pyinfra(tools), lambda farm: {"FANOUT_JOB": str(farm.job)}, "pyinfra",
        ),
        *ssh_based,
    ]  # fmt: skip


def _program(python: str, name: str) -> Callable[[Farm], list[str]]:
    return lambda farm: [python, str(_PROGRAMS / f"{name}.py"), str(farm.job)]


def _xargs(kex: str) -> Callable[[Farm], list[str]]:
    def words(farm: Farm) -> list[str]:
        each = f'exec ssh -F "$0" "$1" {shlex.quote(SCRIPT)} <{shlex.quote(str(farm.upload))}'
        line = ["xargs", "-r", f"-P{AT_ONCE}", "-n1", f"-a{farm.hosts}"]
        return [*line, "sh", "-c", each, str(farm.ssh_config(kex))]

    return words


def _pdsh(farm: Farm) -> list[str]:
    return ["pdsh", "-R", "ssh", f"-f{AT_ONCE}", "-S", f"-w^{farm.hosts}", farm.inline_script]


def _pdsh_env(kex: str) -> Callable[[Farm], Mapping[str, str]]:
    return lambda farm: {"PDSH_SSH_ARGS_APPEND": f"-F {farm.ssh_config(kex)}"}


def _clush(tools: Tools, kex: str) -> Callable[[Farm], list[str]]:
    def words(farm: Farm) -> list[str]:
        line = [tools.program("clush"), f"-f{AT_ONCE}", "-S", f"--hostfile={farm.hosts}"]
        feed = f'exec "$@" <{shlex.quote(str(farm.upload))}'
        return ["sh", "-c", feed, "sh", *line, f"-o-F {farm.ssh_config(kex)}", SCRIPT]

    return words


def _ansible(tools: Tools) -> Callable[[Farm], list[str]]:
    def words(farm: Farm) -> list[str]:
        line = [tools.program("ansible"), "all", f"-i{farm.hosts}", f"-f{AT_ONCE}"]
        return [*line, "-m", "ansible.builtin.raw", "-a", farm.inline_script]

    return words


def _ansible_env(kex: str) -> Callable[[Farm], Mapping[str, str]]:
    # One exec a node: a master connection would be one more process and of no use.
    return lambda farm: {
        "ANSIBLE_SSH_ARGS": f"-F {farm.ssh_config(kex)} -o ControlMaster=no",
        "ANSIBLE_LOCAL_TEMP": str(farm.folder / "ansible"),
        "ANSIBLE_NOCOLOR": "1",
    }


def _pyinfra(tools: Tools) -> Callable[[Farm], list[str]]:
    def words(_: Farm) -> list[str]:
        line = [tools.program("pyinfra"), "-y", "--parallel", str(AT_ONCE)]
        inventory, deploy = (_PROGRAMS / f"pyinfra_{name}.py" for name in ("inventory", "deploy"))
        return [*line, str(inventory), str(deploy)]

    return words
