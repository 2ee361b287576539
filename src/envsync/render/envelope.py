"""The JSON that every command can print: one envelope, with a version of its own."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from envsync import __version__
from envsync.compare import Row
from envsync.errors import EnvsyncError, HostError, InputError
from envsync.lock import Section
from envsync.model import Host
from envsync.report import HostReport

VERSION = 1
"""Grows when a field changes its meaning or goes; new fields may come at any time."""


def envelope(
    command: str,
    exit_code: int,
    result: object = None,
    error: Mapping[str, Any] | None = None,
    *,
    indent: int | None = 2,
) -> str:
    """One JSON object, on one line without `indent`; `result` is null when there is an `error`."""
    return json.dumps(envelope_record(command, exit_code, result, error), indent=indent)


def envelope_record(
    command: str, exit_code: int, result: object = None, error: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The same as data: what every form of a report is made from."""
    return {
        "version": VERSION,
        "envsync": __version__,
        "command": command,
        "exit_code": int(exit_code),
        "result": plain(result),
        "error": error,
    }


def error_record(error: EnvsyncError) -> dict[str, Any]:
    """An expected error as data."""
    record: dict[str, Any] = {"message": error.message, "hint": error.hint}
    if isinstance(error, InputError):
        record |= {"file": error.file, "line": error.line}
    if isinstance(error, HostError):
        record |= {"cause": error.cause, "output": error.output}
    return record


def host_record(report: HostReport) -> dict[str, Any]:
    """One host's end, and what it holds."""
    failure = report.failure
    return {
        "host": str(report.host),
        "outcome": "failed" if failure else report.outcome,
        "failure": failure
        and {
            "phase": failure.phase,
            "cause": failure.cause,
            "message": failure.message,
            "hint": failure.hint,
            "output": failure.output,
        },
        "notes": list(report.notes),
        "shares_with": report.shares and str(report.shares),
        "processes": plain(report.busy),
        "observation": plain(report.observation),
        "facts": plain(report.facts),
    }


def packages_record(report: HostReport) -> dict[str, Any] | None:
    """Bytes of packages that came to a host, and from whom; None where none came."""
    if not report.supplied:
        return None
    found = dict(report.supplied)
    sent = found.pop(None, 0)
    return {"sent": sent, "handed_on": {str(giver): size for giver, size in found.items()}}


def section_record(section: Section) -> dict[str, Any]:
    """One platform's part of a lock, as the file has it."""
    return {
        "platform": plain(section.platform),
        "solver": section.solver,
        "conda": [str(each) for each in section.conda],
        "pip": list(section.pip),
        "direct": list(section.direct),
    }


def rows_record(rows: Sequence[Row], hosts: Sequence[Host]) -> list[dict[str, Any]]:
    """Each difference with the value of every host."""
    return [
        {
            "group": row.group,
            "name": row.name,
            "matters": row.matters,
            "values": {str(host): value for host, value in zip(hosts, row.values, strict=True)},
        }
        for row in rows
    ]


def plain(value: object) -> Any:
    """Dataclasses, tuples and enums as what JSON knows; fact pairs become an object."""
    if isinstance(value, Host):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
