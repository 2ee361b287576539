"""What a generation is built from: its id, and the files that are put beside its prefix."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from envsync.flavours import Conda
from envsync.generations import Slot, generation_id
from envsync.loan import CERTIFICATES
from envsync.lock import Lock, Section, as_path, format_lock
from envsync.luggage import NOTHING, Luggage
from envsync.model import Platform
from envsync.redact import redact, restore
from envsync.spec import EnvironmentSpec
from envsync.yamlfile import decode

TAR = "files.tar"
"""The suffix of what travels beside the texts."""
ORIGINS = "origin.txt"
"""The suffix of the list of addresses that pip is to have on record, in place of files."""
_PASSING = frozenset({TAR, ORIGINS, CERTIFICATES})


@dataclass(frozen=True)
class Recipe:
    """How one platform's generation is made."""

    generation: str
    files: Mapping[str, bytes]
    """By suffix; what a tool of the node reads, with the credentials that it needs."""
    locked: Section | None = None
    """None: the node's own solver decides."""
    luggage: Luggage = NOTHING
    """What is unpacked beside the prefix before anything is built."""
    clean: Mapping[str, bytes] = field(default_factory=dict)
    """What is put in place of files that hold a credential, once they are not needed."""
    offline: bool = False
    """Everything that it needs is on the node."""

    @property
    def kept(self) -> Mapping[str, bytes]:
        """The files as they stay beside a generation; what was unpacked is there already."""
        return {
            suffix: raw
            for suffix, raw in {**self.files, **self.clean}.items()
            if suffix not in _PASSING
        }

    @property
    def passes(self) -> bool:
        """Whether something lies beside a new prefix that is not to stay there as it is."""
        return bool(self.clean) or CERTIFICATES in self.files

    def argv(self, conda: Conda, slot: Slot) -> tuple[str, ...]:
        """The command that fills the prefix."""
        if self.locked is None:
            # Relative paths in its pip section begin at the folder of the file.
            along = f"{slot.folder(self.luggage.base)}/{self.luggage.file}"
            return conda.create(slot.prefix, along if self.luggage else slot.file("yml"))
        return conda.install(slot.prefix, slot.file("explicit.txt"), offline=self.offline)

    def secrets(self, slot: Slot) -> tuple[str, ...]:
        """The files that were unpacked and hold a credential, by their path on the node."""
        return tuple(slot.folder(path) for path in self.luggage.secrets)

    def folder(self, slot: Slot) -> str:
        """Where pip is to look for relative paths; empty when there are none."""
        return slot.folder(self.luggage.base) if self.luggage else ""


def without_credentials(raw: bytes, source: str) -> bytes:
    """The bytes of a text as they may be kept: the very same where it holds no credential."""
    text = decode(raw, source)
    hidden = redact(text)
    return raw if hidden == text else hidden.encode()


def remembered(spec: EnvironmentSpec) -> bytes:
    """The file as it may be kept, to be read again later.

    A variable that holds a credential stays: a generation's id depends on its value.
    """
    hidden = any(redact(value) != value for _, value in spec.variables)
    return spec.sent if hidden else without_credentials(spec.sent, spec.source)


def unlocked(spec: EnvironmentSpec) -> Recipe:
    """Solved by each node for itself."""
    along = spec.luggage
    files = {"yml": spec.sent, **_along(along)}
    # The archive's own name stands for it: `verify` has no more than that.
    parts = [remembered(spec), *([along.identity.encode()] if along.identity else [])]
    return Recipe(generation_id(*parts), files, None, along, _clean(spec, files))


def _along(luggage: Luggage) -> Mapping[str, bytes]:
    return {TAR: luggage.tar} if luggage else {}


def locked(spec: EnvironmentSpec, section: Section) -> Recipe:
    """Exactly what the lock says; the id is that of the bytes that define it."""
    explicit = "@EXPLICIT\n" + "".join(
        f"{each.url}#{each.md5}\n" if each.md5 else f"{each.url}#sha256:{each.sha256}\n"
        for each in section.conda
    )
    parts = {
        "explicit": explicit,
        "pip": _lines(section.pip),
        "direct": _lines(section.direct),
        "state": _state(spec.variables),
    }
    wanted = {
        "explicit.txt": restore(explicit, addresses(spec)),
        "pip.txt": requirements(spec, section.pip) if section.pip else "",
        "direct.txt": requirements(spec, section.direct) if section.direct else "",
        "state": parts["state"],
    }
    files = {
        "yml": spec.sent,
        "lock": format_lock(Lock((section,))).encode(),
        **{suffix: text.encode() for suffix, text in wanted.items() if text},
        **_along(spec.luggage),
    }
    identity = generation_id(*(text.encode() for text in parts.values()))
    return Recipe(identity, files, section, spec.luggage, _clean(spec, files))


def _clean(spec: EnvironmentSpec, files: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """The files that hold a credential, without it; variables stay what they have to be."""
    texts = {suffix: raw for suffix, raw in files.items() if suffix != TAR}
    clean = {suffix: without_credentials(raw, suffix) for suffix, raw in texts.items()}
    clean |= {"yml": remembered(spec), "state": files.get("state", b"")}
    return {suffix: clean[suffix] for suffix, raw in texts.items() if clean[suffix] != raw}


def requirements(spec: EnvironmentSpec, lines: Sequence[str]) -> str:
    """A requirements file for pip: the file's own options, then `lines` with credentials."""
    own = [each.text for each in spec.pip if each.text.startswith("-") and not each.refers]
    options = spec.luggage.options if spec.luggage else own
    return _lines(options) + restore(_lines([as_path(line) for line in lines]), addresses(spec))


def addresses(spec: EnvironmentSpec) -> list[str]:
    """Every address that the file names, which may hold a credential."""
    entries = (*spec.conda, *spec.pip, *spec.luggage.requirements)
    words = (word for each in entries for word in each.text.split())
    return [*spec.channels, *(word for word in words if "://" in word)]


def _lines(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _state(variables: Sequence[tuple[str, str]]) -> str:
    """As conda keeps an environment's variables (conda docs, "Managing environments")."""
    if not variables:
        return ""
    return json.dumps({"env_vars": dict(variables)}, indent=2, sort_keys=True) + "\n"


@dataclass(frozen=True)
class Wanted:
    """What the nodes should hold. Without a lock, what the file asks for is all that is known."""

    spec: EnvironmentSpec
    lock: Lock | None = None
    alone: bool = False
    """There is just the lock: variables, which a generation's id depends on, are not known."""

    def recipe(self, platform: Platform) -> Recipe | None:
        """What a node of this platform was built from, if the lock knows it."""
        if self.lock is None:
            return unlocked(self.spec)
        return self.recipe_like(self.lock.section(platform))

    def recipe_like(self, section: Section | None) -> Recipe | None:
        """What an environment was built from that this section, if any, is about."""
        if self.lock is None:
            return unlocked(self.spec)
        return locked(self.spec, section) if section else None
