"""What ssh_config says about a host: the way that already leads there with `ssh HOST`.

OpenSSH's own client is asked (`ssh -G`), so that Include, Match and tokens are right by
construction; where it is not installed, paramiko's parser reads the user's file.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import shutil
import subprocess
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import paramiko

from envsync.errors import ConnectError
from envsync.model import Host
from envsync.transport.hostkeys import DEFAULT_FILES as KNOWN_HOSTS
from envsync.transport.identities import DEFAULT_FILES as IDENTITIES

USER_FILE = Path("~/.ssh/config")
SYSTEM_FILE = Path("/etc/ssh/ssh_config")
_USUAL_INCLUDE = ["Include", "/etc/ssh/ssh_config.d/*.conf"]
_asking = threading.Lock()
_LIMIT = 20
"""Seconds for `ssh -G`, which may run a `Match exec`."""

_NOT_FOLLOWED = ("proxyjump", "proxycommand")


@dataclass(frozen=True)
class Settings:
    """How to reach one host."""

    address: str
    port: int
    user: str
    """Empty: the user running envsync."""
    identity_files: tuple[Path, ...]
    use_agent: bool
    known_hosts: tuple[Path, ...]
    key_name: str
    """The name under which known_hosts has the host's key."""


def settings(host: Host, file: Path | None) -> Settings:
    """The effective settings for `host`; `file` replaces the user's and the system's files.

    Raises ConnectError for what would have to be followed and is not: a proxy.
    """
    if file is None and not USER_FILE.expanduser().exists() and (common := _common()):
        return dataclasses.replace(
            common, address=host.name, port=host.port or common.port, user=host.user or common.user
        )
    found = _ask_openssh(host, file) if shutil.which("ssh") else _read(host, file)
    return _settings(host, found)


def _settings(host: Host, found: Mapping[str, Sequence[str]]) -> Settings:
    def one(key: str) -> str:
        return next(iter(found.get(key, ())), "")

    for key in _NOT_FOLLOWED:
        if one(key) not in {"", "none"}:
            raise ConnectError(
                "proxy",
                f"ssh_config leads to it through {key} {one(key)}, which envsync does not follow",
                hint="run envsync where the host can be reached directly",
            )
    known = [
        file
        for key in ("userknownhostsfile", "globalknownhostsfile")
        for line in found.get(key, ())
        for file in _files(line)
    ]
    return Settings(
        address=one("hostname") or host.name,
        port=host.port or int(one("port") or 22),
        user=host.user or one("user"),
        identity_files=tuple(Path(each) for each in found.get("identityfile", ())) or IDENTITIES,
        use_agent=one("identitiesonly") != "yes",
        known_hosts=tuple(known) or KNOWN_HOSTS,
        key_name=one("hostkeyalias"),
    )


def _common() -> Settings | None:
    """The system's settings, if they are the same for every host; asked for once.

    A start of ssh for each of a thousand hosts would cost more than the connection.
    """
    with _asking:
        return _ask_once()


@functools.cache
def _ask_once() -> Settings | None:
    if not shutil.which("ssh"):
        return None
    for file in (SYSTEM_FILE, *sorted(SYSTEM_FILE.parent.glob("ssh_config.d/*.conf"))):
        with contextlib.suppress(OSError):
            if any(map(_is_particular, file.read_text(errors="replace").splitlines())):
                return None
    anyone = Host("any.invalid")
    return _settings(anyone, _ask_openssh(anyone, None))


def _is_particular(line: str) -> bool:
    """Whether a line of ssh_config may mean something else for each host."""
    words = line.replace("=", " ").split()
    if not words or words[0].startswith("#") or words == _USUAL_INCLUDE:
        return False
    keyword = words[0].lower()
    return (
        keyword in {"match", "include"} or (keyword == "host" and words[1:] != ["*"]) or "%" in line
    )


def _files(line: str) -> list[Path]:
    """Several files, or one with blanks in its name: ssh prints both without quotes."""
    if Path(line).expanduser().exists():
        return [Path(line)]
    return [Path(word) for word in line.split()]


def _ask_openssh(host: Host, file: Path | None) -> Mapping[str, Sequence[str]]:
    words = ["ssh", "-G", *(["-F", str(file)] if file else [])]
    words += ["-p", str(host.port)] if host.port else []
    words += ["-l", host.user] if host.user else []
    try:
        done = subprocess.run(
            [*words, "--", host.name],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ConnectError(
            "ssh-config",
            f"`ssh -G {host.name}` gave no answer within {_LIMIT} s",
            hint="look at `Match exec` in ssh_config",
        ) from error
    if done.returncode:
        raise ConnectError(
            "ssh-config",
            f"ssh does not accept its configuration for {host.name}",
            hint=f"see `ssh -G {host.name}`",
            output=done.stderr,
        )
    return _gather(line.partition(" ")[::2] for line in done.stdout.splitlines())


def _read(host: Host, file: Path | None) -> Mapping[str, Sequence[str]]:
    path = (file or USER_FILE).expanduser()
    if not path.exists():
        return {}
    found: Mapping[str, object] = paramiko.SSHConfig.from_path(str(path)).lookup(host.name)
    return {key: value if isinstance(value, list) else [str(value)] for key, value in found.items()}


def _gather(pairs: Iterable[tuple[str, ...]]) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for key, value in pairs:
        found.setdefault(key.lower(), []).append(value)
    return found
