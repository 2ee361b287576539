"""What earlier runs of verify wrote with `--report FILE.json`, read back to be judged together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envsync.errors import InputError
from envsync.events import Ended, Event, Failed, Noted, Outcome, Phase
from envsync.facts import Facts
from envsync.findings import Observed, Probed
from envsync.inventory.place import check_name, split
from envsync.model import Host
from envsync.observation import Observation
from envsync.probes.deep import Files
from envsync.probes.numeric import Numeric
from envsync.saved import Data, read_as
from envsync.sight import Seen
from envsync.spec import read_bytes

_HINT = "name what `envsync verify --report FILE.json` wrote"


@dataclass(frozen=True)
class Witness:
    """What one run said of one host."""

    host: Host
    at: str
    """When its run ended: ISO 8601, in UTC."""
    name: str
    file: str
    events: tuple[Event, ...]
    """What had happened, as far as a report tells it."""
    seen: Seen | None
    """None: it was not reached, or had no such environment."""


def witnesses(files: Iterable[Path]) -> tuple[Mapping[Host, Witness], tuple[str, ...]]:
    """By host what was seen last, and what is to be said of that.

    A folder stands for all reports in it. Raises InputError for what is no report, and for
    reports of different environments.
    """
    chosen: dict[Host, Witness] = {}
    notes = []
    for each in (each for file in files for one in _files(file) for each in _read(one)):
        if other := chosen.get(each.host):
            at = max(other.at, each.at)
            notes.append(f"{each.host} was seen more than once: that of {at} counts")
        if other is None or each.at >= other.at:
            chosen[each.host] = each
    names = sorted({each.name for each in chosen.values()})
    if len(names) > 1:
        raise InputError(
            f"the reports are of different environments: {', '.join(names)}",
            hint="name those of one",
        )
    times = sorted({each.at for each in chosen.values()})
    span = times[0] if len(times) == 1 else f"{times[0]} to {times[-1]}"
    return chosen, (*notes, f"as seen at {span}; no host was asked now")


def expected(known: Mapping[Host, Witness], hosts: Sequence[Host]) -> Mapping[Host, Witness]:
    """Just these hosts; those that nobody has seen have failed."""
    name = next(iter(known.values())).name
    return {host: known.get(host) or _missing(host, name) for host in hosts}


def _missing(host: Host, name: str) -> Witness:
    hint = "verify it, with --report FILE.json"
    failed = Failed(host, Phase.PROBE, "not-seen", "there is no report of it", hint)
    return Witness(host, "", name, "", (failed,), None)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(path.glob("*.json"))
    if not found:
        raise InputError("there is no report in this folder", file=str(path), hint=_HINT)
    return found


def _read(file: Path) -> Iterator[Witness]:
    try:
        record = json.loads(read_bytes(file))
        result = record["result"]
        if record["command"] != "verify" or not result["hosts"]:
            raise ValueError("it says nothing of any host")
        yield from [_witness(each, result, file) for each in result["hosts"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"it is no report of verify: {error}", file=str(file), hint=_HINT
        ) from error


def _witness(record: Mapping[str, Any], result: Mapping[str, Any], file: Path) -> Witness:
    host = _host(str(record["host"]), file)
    observation = _maybe(Observation, record["observation"])
    facts = _maybe(Facts, record["facts"])
    events: list[Event] = [Noted(host, str(note)) for note in record["notes"]]
    events += [Observed(host, observation)] if observation else []
    events += [Probed(host, facts)] if facts else []
    failure = record["failure"]
    seen = None
    if failure:
        words = {key: str(failure[key]) for key in ("cause", "message", "hint", "output")}
        events.append(Failed(host, Phase(failure["phase"]), **words))
    elif observation and facts:
        seen = _seen(str(record["host"]), observation, facts, result)
        events.append(Ended(host, Outcome.PROBED))
    else:
        raise ValueError(f"{host} neither answered nor failed")
    at, name = str(result["at"]), str(result["name"])
    return Witness(host, at, name, str(file), tuple(events), seen)


def _seen(host: str, observation: Observation, facts: Facts, result: Mapping[str, Any]) -> Seen:
    by_prefix = bool(result.get("prefix"))
    return Seen(
        facts,
        None if by_prefix else observation.current(str(result["name"])),
        observation.platform,
        _maybe(Files, (result.get("files") or {}).get(host)),
        _maybe(Numeric, (result.get("numeric") or {}).get(host)),
        by_prefix,
    )


def _maybe(kind: type[Data], value: object) -> Data | None:
    return None if value is None else read_as(kind, value)


def _host(text: str, file: Path) -> Host:
    def wrong(message: str, hint: str = "") -> InputError:
        return InputError(message, file=str(file), hint=hint or _HINT)

    place = split(text, wrong)
    return Host(check_name(place.name, wrong), place.user, place.port)
