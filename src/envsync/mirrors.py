"""Which addresses are asked in place of others: `--channel-map URL=URL`. Pure.

A lock names the original addresses, and so does everything that a node keeps; what a node asks
while it builds is mapped. Short names stand for what conda takes them for where no .condarc says
otherwise (conda docs, "Settings": `channel_alias`, `default_channels`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

from envsync.errors import InputError
from envsync.redact import bare, redact

_ALIAS = "https://conda.anaconda.org"
_ANACONDA = "https://repo.anaconda.com"
_DEFAULTS = (f"{_ANACONDA}/pkgs/main", f"{_ANACONDA}/pkgs/r")
_NO_CHANNEL = frozenset({"nodefaults", "local"})

_PAIR = re.compile(r"(?P<original>.*?)=(?P<mirror>[a-zA-Z][a-zA-Z0-9+.-]*://.*)", re.DOTALL)
ADDRESS = re.compile(r"(?P<vcs>(?:git|hg|svn|bzr)\+)?(?P<url>[a-z][a-z0-9]*://[^\s'\"]+)")
_ENDS = r"(?=[/#?,;\]@]|::|$)"
"""What may follow a part of an address that is mapped: `/` and what ends an address."""
VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_CHANNEL = re.compile(r"\bchannel\s*=\s*['\"]?([^,\]'\"\s]+)")


@dataclass(frozen=True)
class Mirror:
    """One pair. None of the addresses ends with `/`."""

    original: str
    address: str
    """Without a login; with a token in its path, if it has one."""
    user: str = ""
    password: str = ""
    """Both as written (`$NAME`), or as they are once variables are filled in."""

    @property
    def shown(self) -> str:
        """The mirror without anything secret: what a node has on record at first."""
        return bare(self.address)

    @property
    def full(self) -> str:
        """With the login, as an address has it."""
        scheme, _, rest = self.address.partition("://")
        password = f":{quote(self.password, safe='')}" if self.password else ""
        login = f"{quote(self.user, safe='')}{password}@" if self.user else ""
        return f"{scheme}://{login}{rest}"

    def __repr__(self) -> str:
        return f"Mirror({self.original} -> {self.shown})"  # and no secret in any log


@dataclass(frozen=True)
class Mirrors:
    """All pairs, the longest original first; false when there is none."""

    pairs: tuple[Mirror, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.pairs)

    @property
    def back(self) -> tuple[tuple[str, str], ...]:
        """Mirror and original, the longest mirror first: how to read what a node has on record."""
        both = ((each.shown, each.original) for each in self.pairs)
        moved = [pair for pair in both if pair[0] != pair[1]]
        return tuple(sorted(moved, key=lambda pair: -len(pair[0])))

    @property
    def has_tokens(self) -> bool:
        """Whether an address itself holds what nobody else may see."""
        return any(each.address != each.shown for each in self.pairs)

    def filled(self, environment: Mapping[str, str]) -> Mirrors:
        """With the values of the variables. Raises InputError that names one that is not set."""
        return Mirrors(tuple(_filled(each, environment) for each in self.pairs))

    def url(self, url: str) -> str:
        """What is asked for `url`, whose own login is not for the mirror."""
        plain = bare(url)
        for each in self.pairs:
            if found := re.match(re.escape(each.original) + _ENDS, plain):
                return each.full + plain[found.end() :]
        return url

    def text(self, text: str) -> str:
        """A line for pip or conda with each of its addresses mapped."""
        return ADDRESS.sub(lambda found: (found["vcs"] or "") + self.url(found["url"]), text)

    def channel(self, channel: str) -> tuple[str, ...]:
        """The channels that are asked for one of an environment file: `defaults` is two."""
        originals = stands_for(channel)
        mapped = tuple(self.url(each) for each in originals)
        return (channel,) if mapped == originals else mapped

    def channel_in(self, dependency: str) -> str:
        """The channel that a conda dependency names, if it is one that is mapped.

        conda forgets the host of an address there, and asks its alias (conda/conda, issues 14074
        and 16128), so that no other can be put in its place.
        """
        head, colons, _ = dependency.partition("::")
        found = _CHANNEL.search(dependency)
        channel = head.strip() if colons else found[1] if found else ""
        return channel if channel and self.channel(channel) != (channel,) else ""


def stands_for(channel: str) -> tuple[str, ...]:
    """The addresses that conda asks for a channel, if no .condarc says otherwise."""
    if "://" in channel or channel in _NO_CHANNEL or channel.startswith("/"):
        return (channel,)
    if channel == "defaults":
        return _DEFAULTS
    base = _ANACONDA if channel.startswith("pkgs/") else _ALIAS
    return (f"{base}/{channel}",)


def read_mirrors(words: Iterable[str]) -> Mirrors:
    """From texts of the form URL=URL, variables as written. Raises InputError."""
    pairs = [_pair(word.strip()) for word in words]
    for number, one in enumerate(pairs):
        for other in pairs[:number]:
            _agree(one, other)
    for one in pairs:
        for other in pairs:
            _ends_here(one, other)
    return Mirrors(tuple(sorted(pairs, key=lambda each: -len(each.original))))


def _wrong(word: str, message: str, hint: str) -> InputError:
    return InputError(f"channel map {redact(word)}: {message}", hint=hint)


def _pair(word: str) -> Mirror:
    found = _PAIR.fullmatch(word)
    if found is None:
        raise _wrong(
            word,
            "it is not of the form URL=URL",
            "write https://conda.anaconda.org/conda-forge=https://mirror.example/conda-forge",
        )
    original, mirror = found["original"], found["mirror"]
    if "://" not in original:
        raise _wrong(
            word,
            f"{original or 'nothing'} is no URL",
            f"the channel is {stands_for(original)[0]}" if original else "name what is mapped",
        )
    for url in (original, mirror):
        if not re.fullmatch(r"(?:https?|file|ftp|s3|ssh)://[^\s?#'\"\\]+", url, re.IGNORECASE):
            raise _wrong(
                word, f"{redact(url)} is no URL of a folder", "without blanks, quotes, `?` and `#`"
            )
    if bare(original) != original:
        raise _wrong(
            word, "a login stands in what is mapped", "write it into the address behind the `=`"
        )
    return _mirror(word, _normal(original), mirror)


def _mirror(word: str, original: str, mirror: str) -> Mirror:
    scheme, _, rest = mirror.partition("://")
    authority, slash, path = rest.partition("/")
    login, at, host = authority.rpartition("@")
    user, colon, password = login.partition(":")
    token = re.search(r"/t/([^/]+)", f"/{path}")
    for secret in (password if colon else user if at else "", token[1] if token else ""):
        if secret and not VARIABLE.fullmatch(secret):
            raise _wrong(
                word,
                "a credential stands in it, where everybody can read it",
                "write $NAME in its place, and set that variable where you run envsync",
            )
    if "$" in host or (at and not user) or (colon and not password):
        raise _wrong(word, f"{redact(mirror)} is no URL", "https://user:$NAME@mirror.example/...")
    return Mirror(original, _normal(f"{scheme}://{host}{slash}{path}"), user, password)


def _normal(url: str) -> str:
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme.lower()}://{host.lower()}{slash}{path}".rstrip("/")


def _agree(one: Mirror, other: Mirror) -> None:
    """Two pairs must not say different things of one address, there or back."""
    both = f"{one.original} and {other.original}"
    if one.original == other.original:
        raise InputError(
            f"channel map: {one.original} is mapped twice", hint="leave one of the two out"
        )
    if one.shown == other.shown:
        raise InputError(
            f"channel map: {both} lead to one mirror, {one.shown}, so that nobody can tell where a"
            " package of it comes from",
            hint="give each a folder of its own, or map what they have in common",
        )
    short, long = sorted((one, other), key=lambda each: len(each.shown))
    rest = _within(long.shown, short.shown)
    if rest is not None and long.original != short.original + rest:
        raise InputError(
            f"channel map: the mirror of {long.original} lies in that of {short.original}, so that"
            " nobody can tell where a package of it comes from",
            hint="give each a folder of its own",
        )


def _ends_here(one: Mirror, other: Mirror) -> None:
    """A mirror must not be mapped on. Only a login may be added to an address."""
    if _within(one.shown, other.original) is None:
        return
    if one is other and one.shown == one.original and one.user:
        return
    raise InputError(
        f"channel map: {one.original} is mapped to {one.shown}, which is itself mapped"
        + ("" if one is other else f", to {other.shown}"),
        hint="a map is followed once: name the last address",
    )


def _within(url: str, folder: str) -> str | None:
    """What `url` has more than `folder`; None where it lies elsewhere."""
    rest = url.removeprefix(folder)
    return rest if url.startswith(folder) and (not rest or rest.startswith("/")) else None


def _filled(mirror: Mirror, environment: Mapping[str, str]) -> Mirror:
    return replace(
        mirror,
        address=fill(mirror.address, environment),
        user=fill(mirror.user, environment),
        password=fill(mirror.password, environment),
    )


def fill(text: str, environment: Mapping[str, str]) -> str:
    """`text` with the values of its variables. Raises InputError that names one."""

    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if not environment.get(name):
            raise InputError(
                f"{name} is not set, and a mirror or proxy needs it",
                hint=f"set the environment variable {name} where you run envsync",
            )
        return environment[name]

    return VARIABLE.sub(value, text)


def words_of(table: Mapping[str, str]) -> Sequence[str]:
    """A table of the config in the form of the option."""
    return [f"{original}={mirror}" for original, mirror in table.items()]
