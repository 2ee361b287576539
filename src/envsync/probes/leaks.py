"""What node/leaks.py says, as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from envsync.probes.answers import Answers
from envsync.redact import redact
from envsync.wide import ForeignLibraries, ForeignPath, Leaks


def parse_leaks(said: Answers) -> Leaks:
    """What reaches in from outside. The node hides secrets itself; addresses are cleaned here."""
    paths, libraries = said.tables("paths"), said.tables("libraries")
    variables = said.table("variables")
    return Leaks(
        paths=None if paths is None else tuple(map(_path, paths)),
        libraries=None if libraries is None else tuple(map(_library, libraries)),
        variables=None
        if variables is None
        else tuple((name, redact(str(value))) for name, value in variables.items()),
    )


def _path(found: Mapping[str, Any]) -> ForeignPath:
    return ForeignPath(
        str(found.get("path")),
        str(found.get("came")),
        _texts(found, "hides"),
        _texts(found, "adds"),
    )


def _library(found: Mapping[str, Any]) -> ForeignLibraries:
    return ForeignLibraries(
        str(found.get("variable")), str(found.get("path")), _texts(found, "names")
    )


def _texts(found: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = found.get(name)
    return tuple(map(str, value)) if isinstance(value, list) else ()
