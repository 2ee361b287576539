"""envsync config."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from envsync.config import KEYS, OWN, SHARED, read_config
from envsync.errors import ExitCode
from envsync.render import listing
from envsync.render.console import console


def config(file: Path, defaults: Mapping[str, Any], *, as_json: bool) -> int:
    """Show each key's value, and whether it is the folder's or, in words, the default."""
    found = read_config(file.parent)
    rows = []
    for key in KEYS:
        setting = found.settings.get(key)
        rows.append(
            (key, ", ".join(map(str, setting.texts)), f"{setting.file}:{setting.line}")
            if setting and isinstance(setting.value, str | list | dict)
            else (key, str(setting.value), f"{setting.file}:{setting.line}")
            if setting
            else (key, str(defaults[key]), "default")
        )
    out = console(stderr=as_json)
    out.print(listing.settings(rows))
    if found.file is None:
        out.print(
            f"There is no {OWN} and no [tool.envsync] in a {SHARED} in {file.parent.resolve()}.",
            markup=False,
            soft_wrap=True,
        )
    if as_json:
        from envsync.render.envelope import envelope  # noqa: PLC0415 (on need)

        values = {
            key: {
                "value": setting.value if setting else None,
                "default": setting is None,
                "file": setting.file if setting else None,
                "line": setting.line if setting else 0,
                "about": KEYS[key].about,
            }
            for key, setting in ((key, found.settings.get(key)) for key in KEYS)
        }
        file_name = str(found.file) if found.file else None
        print(envelope("config", ExitCode.OK, {"file": file_name, "values": values}))
    return ExitCode.OK
