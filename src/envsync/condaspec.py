"""One conda dependency of an environment file, as conda's MatchSpec reads it."""

from __future__ import annotations

import re

from envsync.errors import InputError, Wrong
from envsync.requirement import Requirement, is_package_url, is_path, is_remote

_EXPORTED = re.compile(
    r"(?P<name>[A-Za-z0-9_][A-Za-z0-9_.-]*)"
    r"(?:=(?P<version>[0-9][0-9a-z]*(?:\.[0-9a-z]+)*)(?:=(?P<build>[A-Za-z0-9_]+))?)?"
)
"""What `conda env export` writes. It needs no MatchSpec, whose import takes 0.15 s."""


def read_dependency(text: str, line: int, wrong: Wrong) -> Requirement:
    """What `text` asks for. Raises what `wrong` makes."""
    archive = re.search(r"\.(conda|tar\.bz2)$", text)
    if is_path(text) or (archive and not is_remote(text)):
        raise wrong(
            f"{text} is a file of this machine, which the nodes do not have",
            "put the package into a channel, and name it here",
        )
    if re.search(r"\s-\s", text):
        raise wrong(
            f"{text!r} is two dependencies in one",
            "the second one is indented more than the first: put the `-` signs below each other",
        )
    if found := re.fullmatch(r"([A-Za-z0-9_.-]+)\s*\(([^()]*)\)", text):
        raise wrong(
            f"conda drops the version of {text!r}", f"write {found[1]}{found[2].replace(' ', '')}"
        )
    plain = _EXPORTED.fullmatch(text)
    if plain is None:
        return _match_spec(text, line, wrong)
    name, version, build = plain["name"].lower(), plain["version"], plain["build"] or ""
    # One sign leaves the end of the version open, unless a build follows.
    asked = f"=={version}" if build else f"{version}.*" if version else ""
    return Requirement(text, name, line, bool(version), asked, build)


def _match_spec(text: str, line: int, wrong: Wrong) -> Requirement:
    from rattler import MatchSpec  # noqa: PLC0415 (0.15 s to import)
    from rattler.exceptions import InvalidMatchSpecError  # noqa: PLC0415

    try:
        spec = MatchSpec(text)
    except InvalidMatchSpecError as error:
        raise _not_understood(text, str(error).splitlines()[0], wrong) from error
    name = spec.name.normalized
    if name.startswith(("-", ".")):
        raise _not_understood(text, f"a name does not begin with {name[0]}", wrong)
    pinned = spec.version not in {None, "*"} or bool(spec.build or is_package_url(text))
    channel = spec.channel.name or "" if spec.channel else ""
    asked, build, subdir = (str(each or "") for each in (spec.version, spec.build, spec.subdir))
    return Requirement(text, name, line, pinned, asked, build, channel, subdir)


def _not_understood(text: str, reason: str, wrong: Wrong) -> InputError:
    return wrong(
        f"{text!r} is not a package that conda understands ({reason})",
        "expected for example numpy=1.26, numpy>=1.26,<2 or conda-forge::numpy",
    )
