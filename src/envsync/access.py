"""How nodes reach channels and indexes while they build: mirrors, logins, proxies. Pure.

A login goes into a netrc file for as long as a build runs, so that no address holds it: what
conda writes into its package cache, and into messages, has none. That takes one login a host; two
for one host, and tokens in a path, stand in the addresses while the node builds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from urllib.parse import quote, unquote

from envsync.errors import InputError
from envsync.loan import CERTIFICATES, Loan
from envsync.luggage import Luggage, holds_credential
from envsync.mirrors import ADDRESS, VARIABLE, Mirrors
from envsync.recipe import TAR, Recipe, addresses, requirements
from envsync.redact import restore
from envsync.rewrite import remapped
from envsync.spec import EnvironmentSpec
from envsync.trunk import repacked

PYPI = "https://pypi.org/simple"
"""What pip asks where nothing names an index (pip docs, "pip install", --index-url)."""
_READ = ("explicit.txt", "pip.txt", "direct.txt")
"""What conda and pip read where there is a lock."""
_PLAIN = re.compile(r"(?!#)[A-Za-z0-9!#$%&()*+,./:;<=>?@\[\]^_`{|}~-]+")
"""What every reader of a netrc file takes as it stands, without quotes around it."""
_NAMES_INDEX = re.compile(r"(?:-i|--index-url|--no-index)")


class _Login(NamedTuple):
    host: str
    user: str
    password: str


@dataclass(frozen=True)
class Access:
    """What is said about the nodes' way to channels and indexes."""

    mirrors: Mirrors = field(default_factory=Mirrors)
    """Their variables are filled in."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The variables of this machine, for logins in the environment file."""
    proxy: str = field(default="", repr=False)
    no_proxy: str = ""
    """Hosts that are reached without the proxy, with commas between them."""
    certificates: bytes = b""
    """PEM; a node trusts them besides its own."""
    override: bool = False
    """Proxy and certificates count where a node has settings of its own as well."""

    def way(self, spec: EnvironmentSpec) -> Way:
        """For the addresses of one environment file."""
        way = Way(self, spec)
        known = [*(each.full for each in self.mirrors.pairs), *map(way.here, addresses(spec))]
        logins = {each for text in known for each in _logins(text)}
        hosts = [each.host for each in logins]
        once = (each for each in logins if hosts.count(each.host) == 1 and _is_plain(each))
        return replace(way, logins=tuple(sorted(once)))

    def lent(self, recipe: Recipe, spec: EnvironmentSpec) -> tuple[Recipe, Loan]:
        """The same generation as a node is to build it, and what it is lent for that."""
        way, files, luggage = self.way(spec), dict(recipe.files), recipe.luggage
        if recipe.locked:
            for suffix in files.keys() & _READ:
                files[suffix] = way.node(files[suffix].decode()).encode()
            files["yml"] = recipe.kept["yml"]  # nothing reads it there
        else:
            files["yml"] = way.file(files["yml"])
            luggage = way.packed(luggage)
            files |= {TAR: luggage.tar} if luggage else {}
        if self.certificates:
            files[CERTIFICATES] = self.certificates
        clean = {suffix: raw for suffix, raw in recipe.kept.items() if files.get(suffix) != raw}
        return replace(recipe, files=files, clean=clean, luggage=luggage), way.loan


@dataclass(frozen=True)
class Way:
    """What is asked in place of each address of an environment file and of its lock."""

    access: Access
    spec: EnvironmentSpec = field(repr=False)
    logins: tuple[_Login, ...] = field(default=(), repr=False)
    """Those that no address needs to hold."""

    @property
    def loan(self) -> Loan:
        """For a node that builds, or asks pip."""
        access = self.access
        return Loan(
            "".join(
                f"machine {h}\nlogin {user}\npassword {word}\n" for h, user, word in self.logins
            ),
            access.mirrors.back,
            access.proxy,
            access.no_proxy,
            access.override,
            self.index(self.node),
        )

    def here(self, text: str) -> str:
        """Lines as this machine asks, which shows them to nobody: with all logins."""
        known = self.access.environment
        filled = ADDRESS.sub(lambda found: _filled(found[0], known), text)
        return self.access.mirrors.text(filled)

    def source(self, url: str) -> str:
        """Where this machine fetches a package of the lock from."""
        return self.here(restore(url, addresses(self.spec)))

    def node(self, text: str) -> str:
        """Lines as a node asks, which has the logins by another way."""
        return ADDRESS.sub(self._without_login, self.here(text))

    def requirements(self, lines: tuple[str, ...]) -> str:
        """For a node's pip, as `recipe.requirements`."""
        return self.node(requirements(self.spec, lines))

    def file(self, raw: bytes) -> bytes:
        """An environment file for the node's own solver."""
        mirrors = self.access.mirrors

        def channel(text: str) -> tuple[str, ...]:
            return tuple(map(self.node, mirrors.channel(text)))

        def address(text: str) -> tuple[str]:
            return (self.node(text),)

        return remapped(raw, self.spec.source, channel, address, address)

    def must_be_solvable(self) -> None:
        """Raises InputError for a dependency that no solver would look for on a mirror."""
        for each in self.spec.conda:
            if channel := self.access.mirrors.channel_in(each.text):
                raise InputError(
                    f"{each.text} names the channel {channel}, which is mapped, and conda looks for"
                    " channels that a dependency names at their own address only",
                    file=each.file or self.spec.source,
                    line=each.line,
                    hint="leave the channel out of this line: the order of `channels:` decides; or"
                    " lock without --channel-map, on a host that reaches the channel",
                )

    def packed(self, luggage: Luggage) -> Luggage:
        """What goes along, with the addresses in its lists."""
        if not luggage or not self.access.mirrors:
            return luggage
        own = luggage.file if luggage.base == "." else f"{luggage.base}/{luggage.file}"
        secrets = set(luggage.secrets)

        def change(name: str, raw: bytes) -> bytes:
            if name not in luggage.lists:
                return raw
            new = self.file(raw) if name == own else self.node(raw.decode("utf-8-sig")).encode()
            secrets.update([name] if holds_credential(new) else [])
            return new

        tar = repacked(luggage.tar, change)
        return replace(luggage, tar=tar, secrets=tuple(sorted(secrets)))

    def index(self, asked: Callable[[str], str]) -> str:
        """What pip is told to ask in place of PyPI; empty where it need not be told."""
        entries = (*self.spec.pip, *self.spec.luggage.requirements)
        if any(_NAMES_INDEX.match(each.text) for each in entries):
            return ""
        return asked(PYPI) if asked(PYPI) != PYPI else ""

    def _without_login(self, found: re.Match[str]) -> str:
        if found["vcs"] or _login(found["url"]) not in self.logins:
            return found[0]  # git knows nothing of the netrc file that is lent
        scheme, _, rest = found["url"].partition("://")
        authority, slash, path = rest.partition("/")
        return f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"


def _is_plain(login: _Login) -> bool:
    return bool(_PLAIN.fullmatch(login.user) and _PLAIN.fullmatch(login.password))


def _logins(text: str) -> Iterator[_Login]:
    for found in ADDRESS.finditer(text):
        login = None if found["vcs"] else _login(found["url"])
        if login:
            yield login


def _login(url: str) -> _Login | None:
    """User and password of an address, if it has both and they are known."""
    scheme, _, rest = url.partition("://")
    login, _, host = rest.partition("/")[0].rpartition("@")
    user, _, password = login.partition(":")
    if scheme not in {"http", "https"} or not user or not password or VARIABLE.search(login):
        return None
    name = re.sub(r":\d*$", "", host).strip("[]").lower()
    return _Login(name, unquote(user), unquote(password))


def _filled(address: str, known: Mapping[str, str]) -> str:
    """With the variables in its login and its token, as far as they are known here."""
    scheme, _, rest = address.partition("://")
    authority, slash, path = rest.partition("/")
    login, at, host = authority.rpartition("@")

    def value(found: re.Match[str]) -> str:
        word = known.get(found[1] or found[2])
        return quote(word, safe="") if word else found[0]

    token = re.match(r"(?:.*?/)?t/([^/?#]+)", path) if "$" in path else None
    if token:
        path = path[: token.start(1)] + VARIABLE.sub(value, token[1]) + path[token.end(1) :]
    return f"{scheme}://{VARIABLE.sub(value, login)}{at}{host}{slash}{path}"
