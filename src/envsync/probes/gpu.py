"""What nvidia-smi and rocm-smi say, as data.

nvidia-smi's CSV has one line a GPU, fields parted by a comma and a blank, and `[N/A]` (older:
`[Not Supported]`) where a GPU has no such thing (`nvidia-smi --help-query-gpu`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from envsync.probes.answers import Answers
from envsync.wide import Gpu, Gpus

_INSTANCE = re.compile(r"^\s+MIG\s.*\(UUID: MIG-", re.MULTILINE)


def parse_gpus(said: Answers) -> Gpus:
    """The GPUs of a node; of a node with neither program, an empty list."""
    visible = tuple((name, str(value)) for name, value in (said.table("visible") or {}).items())
    if smi := said.table("nvidia_smi"):
        gpus = tuple(_nvidia(str(smi.get("out", "")), str(smi.get("fields", ""))))
        trouble = "" if smi.get("exit") == 0 else _complaint("nvidia-smi", smi)
        listed = said.table("nvidia_list") or {}
        instances = len(_INSTANCE.findall(str(listed.get("out", ""))))
        driver = next((each.driver for each in gpus), "")
        return Gpus(() if trouble else gpus, instances, driver, trouble, visible)
    if rocm := said.table("rocm_smi"):
        return _rocm(rocm, visible)
    known = "visible" in said and not {each.fact for each in said.failures} & {"nvidia_smi"}
    return Gpus(() if known else None, visible=visible)


def _nvidia(text: str, fields: str) -> Iterator[Gpu]:
    names = fields.split(",")
    for line in text.splitlines():
        values = [value.strip() for value in line.split(",")]
        if len(values) == len(names) and values[0].isdigit():
            found = {
                name: "" if value.startswith("[") else value
                for name, value in zip(names, values, strict=True)
            }
            memory = found["memory.total"]
            yield Gpu(
                found["name"],
                found["uuid"],
                int(memory) if memory.isdigit() else None,
                found["driver_version"],
                found.get("mig.mode.current", ""),
                found["ecc.mode.current"],
                found["persistence_mode"],
                found.get("compute_cap", ""),
            )


def _complaint(program: str, done: Mapping[str, Any]) -> str:
    """Its first line: the complaint, before advice that runs over several."""
    printed = f"{done.get('out', '')}\n{done.get('err', '')}".strip().splitlines() or [""]
    return f"{program} ended with exit code {done.get('exit')}: {printed[0]}".rstrip(": ")


def _rocm(done: Mapping[str, Any], visible: tuple[tuple[str, str], ...]) -> Gpus:
    """rocm-smi's JSON: an object a card, whose keys change their case between versions."""
    try:
        cards = json.loads(str(done.get("out", "")))
    except ValueError:
        return Gpus((), trouble=_complaint("rocm-smi", done), visible=visible)
    tables = {
        card: {str(key).lower(): str(value) for key, value in table.items()}
        for card, table in cards.items()
        if isinstance(table, dict)
    }
    driver = tables.pop("system", {}).get("driver version", "")
    gpus = tuple(
        Gpu(
            table.get("card series") or table.get("card model", ""),
            table.get("unique id", ""),
            _mib(table.get("vram total memory (b)", "")),
            driver,
            capability=table.get("gfx version", ""),
        )
        for table in tables.values()
    )
    return Gpus(gpus, driver=driver, visible=visible)


def _mib(text: str) -> int | None:
    return int(text) // 2**20 if text.isdigit() else None
