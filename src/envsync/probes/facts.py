"""What a prefix holds and what a job in it would see."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from packaging.utils import canonicalize_name

from envsync import scripts
from envsync.errors import HostError
from envsync.facts import Facts
from envsync.model import Package
from envsync.origin import recorded
from envsync.ports import Command, Completed
from envsync.probes import wide
from envsync.records import read_records, split

PYTHON_LIMIT = 60
"""Seconds for Python and torch together: CUDA initialisation can hang for ever."""


def probe(prefix: str) -> Command:
    """The command whose answer `parse` reads: what a push has to know."""
    return _command(prefix, PYTHON_LIMIT, wide.narrow_program())


def wide_probe(prefix: str) -> Command:
    """The same with the wider facts: slower, since it imports more and asks the machine."""
    return _command(prefix, wide.LONGEST, wide.load("driver"), wide.wide_programs())


def _command(prefix: str, limit: int, program: str, *arguments: str) -> Command:
    script = scripts.load("records.sh") + scripts.load("facts.sh")
    given = (prefix, scripts.load("as_job.sh"), str(limit), program, *arguments)
    return Command(script, given, timeout=limit + 60.0)


def parse(done: Completed, asked: float = 0.0) -> Facts:
    """Read the answer; raises HostError when there is no environment to report on.

    A Python that is missing, broken or slow is a fact, not an error. `asked` is when the
    command was sent, in seconds since the epoch: the wider facts judge the node's clock by it.
    """
    parts = split(done.text)
    if done.exit_code or "end" not in parts:
        missing = done.exit_code == 4  # noqa: PLR2004 (facts.sh says so)
        raise HostError(
            "no-environment" if missing else "probe",
            done.log.strip() or f"the probe failed with exit code {done.exit_code}",
            hint="run `envsync push` to make it" if missing else "run `envsync verify` again",
            output=done.log,
        )
    records = read_records(parts["conda"])
    conda = tuple(sorted(_conda_package(record) for record in records.values()))
    claimed = {path for record in records.values() for path in record["claims"]}
    said = _answer(parts["python"])
    failed = "" if said else _why(int(parts["end"][0]), done.log)
    wider = None
    if "probes" in said:
        wider = wide.parse_wide(said, asked, asked + done.seconds)
        said, failed = wide.as_narrow(said)
    return Facts(
        prefix=parts["prefix"][0],
        conda=conda,
        pip=tuple(_pip_packages(said.get("distributions"), claimed)),
        runtime=_runtime(said, failed),
        blind=bool(failed),
        wide=wider,
    )


def _conda_package(record: Mapping[str, Any]) -> Package:
    return Package(
        kind="conda",
        name=record["name"],
        version=record["version"],
        build=record.get("build") or record.get("build_string") or "",
        channel=_channel(record.get("channel") or "", record.get("url") or ""),
        digest=record.get("md5") or record.get("sha256") or "",
    )


def _channel(channel: str, url: str) -> str:
    """A channel's short name: its address without scheme, credentials and platform folder."""
    address = channel if "://" in channel else url.rpartition("/")[0] or channel
    if "://" not in address:
        return address
    path = re.sub(r"^[a-z+]+://([^/@]*@)?", "", address)
    path = re.sub(r"(^|/)t/[^/]+/", r"\1", path)
    path = re.sub(r"/(noarch|(linux|osx|win)-[a-z0-9]+)/?$", "", path)
    return path.removeprefix("conda.anaconda.org/").rstrip("/")


def _answer(lines: list[str]) -> dict[str, Any]:
    try:
        answer = json.loads(lines[-1]) if lines else {}
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _why(exit_code: int, log: str) -> str:
    if exit_code == 127:  # noqa: PLR2004 (as_job.sh: no Python there)
        return "no python in the environment"
    if exit_code in (124, 137):
        return f"no answer within {PYTHON_LIMIT} s"
    last = log.strip().splitlines()[-1:] or [""]
    return f"python ended with exit code {exit_code}: {last[0]}".rstrip(": ")


def _pip_packages(found: object, claimed: set[str]) -> Iterable[Package]:
    """The distributions that no conda record claims: pip, or whatever else, put them there."""
    for item in sorted(found if isinstance(found, list) else [], key=lambda item: item["path"]):
        if item["path"] not in claimed and {"name", "version"} <= item.keys():
            name = canonicalize_name(item["name"])
            origin = recorded(item.get("direct_url") or {})
            yield Package("pip", name, item["version"], channel="pypi", origin=origin)


def _runtime(answer: Mapping[str, Any], failed: str) -> tuple[tuple[str, str], ...]:
    """Fact and value, in the order in which a person wants to read them."""
    if failed:
        return (("python", f"broken: {failed}"),)
    facts = [("python", answer.get("python")), *_torch(answer.get("torch"))]
    facts.append(("driver", answer.get("driver")))
    return tuple((name, _text(value)) for name, value in facts)


def _torch(torch: Mapping[str, Any] | None) -> list[tuple[str, object]]:
    if torch is None or "missing" in torch:
        return [("torch", "not installed")]
    # A probe that was ended in the middle has not said everything.
    unsaid = {"error": torch.get("error", "no answer")}
    if "version" not in torch:
        return [("torch", f"broken: {unsaid['error']}")]
    facts: list[tuple[str, object]] = [
        ("torch", torch["version"]),
        ("built for", _built_for(torch)),
        ("cuda available", torch.get("available", unsaid)),
        ("cuDNN", torch.get("cudnn", unsaid)),
    ]
    if "nccl" in torch:
        facts.append(("NCCL", torch["nccl"]))
    return [*facts, *(_devices(torch["devices"]) if "devices" in torch else [])]


def _built_for(torch: Mapping[str, Any]) -> str:
    if torch.get("cuda"):
        return f"CUDA {_text(torch['cuda'])}"
    return f"ROCm {_text(torch['hip'])}" if torch.get("hip") else "CPU"


def _devices(devices: object) -> list[tuple[str, object]]:
    if not isinstance(devices, list):
        return [("GPUs", devices)]
    names = sorted(set(devices))
    counted = ", ".join(f"{devices.count(name)} x {name}" for name in names)
    return [("GPUs", counted or "none")]


def _text(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return f"error: {value.get('error')}"
    return str(value)
