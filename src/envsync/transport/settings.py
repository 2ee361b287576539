"""How to reach one host, as ssh's own words for it say: ssh_config(5)."""

from __future__ import annotations

import contextlib
import os
import re
import socket
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from envsync.errors import ConnectError
from envsync.model import Host
from envsync.transport.hostkeys import DEFAULT_FILES as KNOWN_HOSTS
from envsync.transport.hostkeys import Asked, Strictness
from envsync.transport.identities import DEFAULT_FILES as IDENTITIES
from envsync.transport.identities import Wanted

_USUAL_KEYS = Wanted(IDENTITIES)
_FAMILIES = {"inet": socket.AF_INET, "inet6": socket.AF_INET6}
_STRICTNESS = {
    "accept-new": Strictness.ACCEPT_NEW,
    "no": Strictness.OFF,
    "off": Strictness.OFF,
    "false": Strictness.OFF,
}
_HONOURED = """
    host user hostname port addressfamily bindaddress certificatefile ciphers connectionattempts
    connecttimeout globalknownhostsfile hashknownhosts hostkeyalgorithms hostkeyalias
    identitiesonly identityagent identityfile kexalgorithms macs proxycommand proxyjump
    serveralivecountmax serveraliveinterval stricthostkeychecking userknownhostsfile batchmode
    canonicalizehostname canonicaldomains canonicalizemaxdots canonicalizefallbacklocal
    canonicalizepermittedcnames forwardagent
"""
_WITHOUT_MEANING = """
    sendenv setenv loglevel controlmaster controlpath controlpersist forwardx11
    forwardx11trusted forwardx11timeout xauthlocation escapechar requesttty visualhostkey
    updatehostkeys fingerprinthash ipqos addkeystoagent tcpkeepalive permitlocalcommand
    localcommand compression exitonforwardfailure gssapiauthentication logverbose
    gssapidelegatecredentials numberofpasswordprompts clearallforwardings localforward
    remoteforward dynamicforward
"""
"""What makes no difference to commands without a terminal, or only to how fast ssh is."""
_READ = frozenset((_HONOURED + _WITHOUT_MEANING).split())


@dataclass(frozen=True)
class Settings:
    """How to reach one host. Times are in seconds."""

    name: str
    """What one would write behind `ssh`."""
    address: str
    port: int = 22
    user: str = ""
    """Empty: the user running envsync."""
    keys: Wanted = _USUAL_KEYS
    known_hosts: tuple[Path, ...] = KNOWN_HOSTS
    hash_names: bool = False
    key_name: str = ""
    """HostKeyAlias."""
    forward_agent: bool = False
    strictness: Strictness = Strictness.STRICT
    connect_timeout: float | None = None
    """None: not said."""
    attempts: int = 1
    alive_interval: float = 0.0
    """0: not said."""
    alive_count: int = 3
    family: socket.AddressFamily = socket.AF_UNSPEC
    bind: str = ""
    kex: tuple[str, ...] = ()
    """This and the next three are empty where nobody chose: then the fastest come first."""
    ciphers: tuple[str, ...] = ()
    macs: tuple[str, ...] = ()
    host_key_types: tuple[str, ...] = ()
    jump: tuple[Host, ...] = ()
    command: str = ""
    """ProxyCommand, its tokens filled in."""
    unread: tuple[str, ...] = ()
    """Settings that would make a difference and are not followed."""

    @property
    def asked(self) -> Asked:
        """The name under which known_hosts has its key."""
        return Asked(self.key_name or self.address, self.port if not self.key_name else 22)


def interpret(host: Host, said: Mapping[str, Sequence[str]], keywords: Collection[str]) -> Settings:
    """Settings from ssh's words for a host; `keywords` are those that its files set somewhere."""

    def one(key: str) -> str:
        value = next(iter(said.get(key, ())), "")
        return "" if value == "none" else value

    def chosen(key: str) -> tuple[str, ...]:
        return tuple(filter(None, one(key).split(","))) if key in keywords else ()

    def files(*keys: str) -> tuple[Path, ...]:
        lines = [line for key in keys for line in said.get(key, ()) if line != "none"]
        return tuple(file for line in lines for file in _files(line))

    address, port = one("hostname") or host.target, host.port or int(one("port") or 22)
    way = Settings(
        name=host.target,
        address=address,
        port=port,
        user=host.user or one("user"),
        keys=Wanted(
            tuple(Path(each) for each in said.get("identityfile", ())) or IDENTITIES,
            tuple(Path(each) for each in said.get("certificatefile", ())),
            only_these=one("identitiesonly") == "yes",
            agent=next(iter(said.get("identityagent", ())), None),
        ),
        known_hosts=files("userknownhostsfile", "globalknownhostsfile") or KNOWN_HOSTS,
        hash_names=one("hashknownhosts") == "yes",
        key_name=one("hostkeyalias"),
        forward_agent=one("forwardagent") == "yes",
        strictness=_STRICTNESS.get(one("stricthostkeychecking"), Strictness.STRICT),
        connect_timeout=_seconds(one("connecttimeout")),
        attempts=max(1, int(one("connectionattempts") or 1)),
        alive_interval=_seconds(one("serveraliveinterval")) or 0.0,
        alive_count=int(one("serveralivecountmax") or 3),
        family=_FAMILIES.get(one("addressfamily"), socket.AF_UNSPEC),
        bind=one("bindaddress"),
        kex=chosen("kexalgorithms"),
        ciphers=chosen("ciphers"),
        macs=chosen("macs"),
        host_key_types=chosen("hostkeyalgorithms"),
        jump=_jump_hosts(one("proxyjump")),
        unread=tuple(
            f"{key} {' '.join(values)}"
            for key, values in sorted(said.items())
            if key in keywords and key not in _READ
        ),
    )
    command = "" if way.jump else one("proxycommand")
    return with_command(way, command) if command else way


def with_command(way: Settings, command: str) -> Settings:
    """The same, reached by a program; ssh_config(5), TOKENS, says what the tokens mean."""
    home, here = str(Path.home()), socket.gethostname()
    me = os.environ.get("USER") or os.environ.get("LOGNAME") or str(os.getuid())
    values = {
        "%": "%", "h": way.address, "n": way.name, "p": str(way.port), "r": way.user or me,
        "k": way.key_name or way.name, "d": home, "u": me, "i": str(os.getuid()),
        "l": here, "L": here.partition(".")[0],
    }  # fmt: skip

    def value(found: re.Match[str]) -> str:
        if found[1] not in values:
            raise ConnectError(
                "proxy",
                f"its ProxyCommand has the token %{found[1]}, which is not understood",
                hint="use %h, %p, %r or %n",
            )
        return values[found[1]]

    filled = re.sub(r"%(.)", value, command)
    return replace(way, command=filled)


def _seconds(text: str) -> float | None:
    with contextlib.suppress(ValueError):
        return float(text) or None
    return None


def _files(line: str) -> list[Path]:
    """Several files, or one with blanks in its name: ssh prints both without quotes."""
    if Path(line).expanduser().exists():
        return [Path(line)]
    return [Path(word) for word in line.split()]


def _jump_hosts(text: str) -> tuple[Host, ...]:
    """`[user@]host[:port],...`, each perhaps as ssh://; the first is the nearest to us."""
    hosts = []
    for word in filter(None, text.split(",")):
        user, _, place = word.removeprefix("ssh://").rstrip("/").rpartition("@")
        found = re.fullmatch(r"(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?|(.+)", place)
        assert found is not None  # noqa: S101 (the last part takes anything)
        name = found[1] or found[2] or found[4]
        hosts.append(Host(name, user, int(found[3] or 0)))
    return tuple(hosts)
