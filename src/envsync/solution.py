"""What a solver came to on a canary, read back from the prefix that it filled."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from packaging.utils import canonicalize_name

from envsync import scripts
from envsync.errors import HostError
from envsync.facts import Facts
from envsync.generations import SOLVING
from envsync.loan import NOTHING as NO_LOAN
from envsync.loan import Loan
from envsync.lock import LockedPackage, linking_order, local_line
from envsync.luggage import NOTHING, Luggage
from envsync.model import Package
from envsync.ports import Command, Completed
from envsync.records import read_records, split
from envsync.redact import bare

LIMIT = 300.0
"""Seconds for reading a prefix; Python starts once."""


@dataclass(frozen=True)
class Solution:
    """What is there, as a lock wants it. Hashes of pip's files are still to be asked for."""

    conda: tuple[LockedPackage, ...]
    pip: tuple[str, ...]
    """Requirements whose file has a hash: `NAME==VERSION` or `NAME @ URL`."""
    direct: tuple[str, ...]
    """Those that come from version control, at their commit, and folders that were sent along."""
    archives: tuple[str, ...] = ()
    """Files that were sent along, with their hashes."""


def solved(prefix: str) -> Command:
    """The command whose answer `parse_solution` reads."""
    script = "".join(map(scripts.load, ("records.sh", "as_pip.sh", "solved.sh")))
    return Command(script, (prefix, scripts.load("as_job.sh")), timeout=LIMIT)


def hashes(
    prefix: str, requirements: str, timeout: float, folder: str = "", loan: Loan = NO_LOAN
) -> Command:
    """Asks pip for the files behind `requirements`; `parse_hashes` reads the answer.

    `folder` is where relative paths begin.
    """
    return Command(
        "".join(map(scripts.load, ("as_pip.sh", "lend.sh", "hashes.sh"))),
        (prefix, scripts.load("as_job.sh"), folder or "/", *loan.args),
        stdin=requirements.encode(),
        timeout=timeout,
    )


def parse_solution(done: Completed, facts: Facts, luggage: Luggage = NOTHING) -> Solution:
    """Read the answer; `facts` say which packages are pip's. Raises HostError."""
    parts = answered(done, "lock")
    origins = _origins(parts["pip"], done.log) if facts.pip else {}
    brought = {each.name: _brought(each, origins.get(each.name), luggage) for each in facts.pip}
    ours = [line for line in brought.values() if line]
    others = [each for each in facts.pip if not brought[each.name]]
    lines = [_requirement(each, origins.get(each.name)) for each in others]
    remote = [line for line in lines if "+" in _scheme(line)]
    sizes = _sizes(parts.get("sizes", ()))
    return Solution(
        tuple(_locked(each, sizes) for each in in_linking_order(parts)),
        tuple(sorted(line for line in lines if "+" not in _scheme(line))),
        tuple(sorted([*remote, *(line for line in ours if " --hash=" not in line)])),
        tuple(sorted(line for line in ours if " --hash=" in line)),
    )


def _brought(package: Package, origin: Mapping[str, Any] | None, luggage: Luggage) -> str:
    """The line of a package that was made from what was sent along; empty for any other."""
    parts = unquote(str((origin or {}).get("url"))).partition(f"/{SOLVING}.files")
    if not parts[1] or origin is None:
        return ""
    path = os.path.relpath(parts[2].strip("/") or ".", luggage.base)
    sha256 = dict(luggage.digests).get(path)
    if sha256 is None:
        return ""
    tree = origin.get("dir_info")
    editable = bool(tree and tree.get("editable"))
    return local_line(package.name, path, sha256, tree=tree is not None, editable=editable)


def answered(done: Completed, cause: str) -> Mapping[str, list[str]]:
    """The parts of the answer to `solved`. Raises HostError of that cause for half a one."""
    parts = split(done.text)
    if done.exit_code or "end" not in parts:
        raise HostError(
            cause,
            f"reading the environment failed with exit code {done.exit_code}",
            hint="see what the host printed",
            output=done.log,
        )
    return parts


def in_linking_order(parts: Mapping[str, list[str]]) -> list[Mapping[str, Any]]:
    """Conda's records from the answer to `solved`, each after those that it depends on."""
    found = read_records(parts["conda"])
    records = {each["name"]: each for each in found.values()}
    depends = _depends(parts["depends"])
    order = linking_order({each["name"]: depends.get(file, set()) for file, each in found.items()})
    return [records[name] for name in order]


def parse_hashes(done: Completed, requirements: Sequence[str]) -> tuple[str, ...]:
    """The requirements with the hashes of their files. Raises HostError where one is missing."""
    try:
        report = json.loads(done.text)
    except ValueError as error:
        raise _too_old(done.log) from error
    found: dict[str, str] = {}
    for item in report.get("install", ()):
        archive = item.get("download_info", {}).get("archive_info", {})
        if sha256 := archive.get("hashes", {}).get("sha256"):
            found[canonicalize_name(item["metadata"]["name"])] = sha256
    for line in requirements:
        if _name(line) not in found:
            raise HostError(
                "lock",
                f"pip says no hash for {line}",
                hint="push with --no-lock, or ask for that package from an index that has hashes",
                output=done.log,
            )
    return tuple(f"{line} --hash=sha256:{found[_name(line)]}" for line in requirements)


def _depends(lines: Iterable[str]) -> Mapping[str, set[str]]:
    """By file name of the record: the names of what it depends on."""
    found: dict[str, set[str]] = {}
    for line in lines:
        file, _, text = line.partition(":")
        if name := re.search(r'"([^\s"=<>!~\[]+)', text):
            found.setdefault(file, set()).add(name[1])
    return found


def _sizes(lines: Iterable[str]) -> Mapping[str, int]:
    """By what the record's file is called, which is what the archive is called: its bytes."""
    found = (re.fullmatch(r"(?:.*/)?([^/]+)\.json: +\"size\": *(\d+),?", line) for line in lines)
    return {each[1]: int(each[2]) for each in found if each}


def _locked(record: Mapping[str, Any], sizes: Mapping[str, int]) -> LockedPackage:
    url = str(record.get("url") or "")
    stem = url.rpartition("/")[2].removesuffix(".conda").removesuffix(".tar.bz2")
    package = LockedPackage(
        bare(url), record.get("md5") or "", record.get("sha256") or "", sizes.get(stem, 0)
    )
    if not url or not (package.md5 or package.sha256):
        raise HostError(
            "lock",
            f"conda has no {'hash' if url else 'address'} on record for {record['name']}, so the"
            " other nodes could not get the same file",
            hint="install it from a channel, or push with --no-lock",
        )
    return package


def _origins(lines: Sequence[str], log: str) -> Mapping[str, Mapping[str, Any]]:
    """By name: what pip knows of where a package came from (PEP 610, "Direct URL")."""
    try:
        inspected = json.loads("\n".join(lines))
    except ValueError as error:
        raise _too_old(log) from error
    return {
        canonicalize_name(item["metadata"]["name"]): item.get("direct_url") or {}
        for item in inspected.get("installed", ())
    }


def _too_old(log: str) -> HostError:
    return HostError(
        "lock",
        "pip did not say what it installed: that takes pip 22.2 or newer in the environment",
        hint="ask for `pip>=22.2` in the file, or push with --no-lock",
        output=log,
    )


def _requirement(package: Package, origin: Mapping[str, Any] | None) -> str:
    if not origin:
        return f"{package.name}=={package.version}"
    url = bare(str(origin["url"]))
    if "dir_info" in origin:
        raise HostError(
            "lock",
            f"{package.name} was installed from the folder {url}, which other nodes do not have",
            hint="push with --no-lock, or make a wheel of it",
        )
    part = f"#subdirectory={origin['subdirectory']}" if origin.get("subdirectory") else ""
    if vcs := origin.get("vcs_info"):
        return f"{package.name} @ {vcs['vcs']}+{url}@{vcs['commit_id']}{part}"
    return f"{package.name} @ {url}{part}"


def _name(line: str) -> str:
    return canonicalize_name(re.split(r"==| @ ", line)[0])


def _scheme(line: str) -> str:
    return line.partition(" @ ")[2].partition("://")[0]
