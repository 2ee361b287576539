"""Reports of verify in files: what `--report` names, checked first and written last."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envsync.errors import EnvsyncError, InputError
from envsync.render.digest import digest
from envsync.store import write_whole


def _json(record: Mapping[str, Any]) -> str:
    # On one line: Python's fast encoder knows no indent, and a thousand nodes are 50 MB.
    return json.dumps(record) + "\n"


def _markdown(record: Mapping[str, Any]) -> str:
    from envsync.render.markdown import markdown  # noqa: PLC0415 (on need, as those below)

    return markdown(digest(record))


def _junit(record: Mapping[str, Any]) -> str:
    from envsync.render.junit import junit  # noqa: PLC0415

    return junit(digest(record))


def _webpage(record: Mapping[str, Any]) -> str:
    from envsync.render.webpage import webpage  # noqa: PLC0415

    return webpage(digest(record))


def _picture(record: Mapping[str, Any]) -> str:
    from envsync.render.picture import picture  # noqa: PLC0415

    return picture(digest(record))


FORMS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    ".json": _json,
    ".md": _markdown,
    ".xml": _junit,
    ".html": _webpage,
    ".svg": _picture,
}
"""What a file's ending says of its form."""


@dataclass(frozen=True)
class Reports:
    """The files of one run."""

    files: tuple[Path, ...]

    @classmethod
    def named(cls, files: Iterable[Path]) -> Reports:
        """Raises InputError for a file that is in no known form, or cannot be written."""
        found = tuple(dict.fromkeys(files))
        for file in found:
            _check(file)
        return cls(found)

    def write(self, record: Mapping[str, Any]) -> None:
        """Write all of them, each whole or not at all. Raises EnvsyncError."""
        for file in self.files:
            text = FORMS[file.suffix.lower()](record)
            try:
                write_whole(file, text.encode("utf-8", "replace"), 0o644)
            except OSError as error:
                raise EnvsyncError(
                    f"the report {file} could not be written: {error.strerror}",
                    hint="make room there, or name a file elsewhere, and verify again",
                ) from error


def _check(file: Path) -> None:
    if file.suffix.lower() not in FORMS:
        raise InputError(
            f"--report: {str(file)!r} has no ending that names a form",
            hint=f"end it with one of {', '.join(FORMS)}",
        )
    try:
        if file.is_dir():
            raise InputError(f"--report: {file} is a folder", hint="name a file in it")
        # Trying is the one question that also full disks and read-only mounts answer rightly.
        with tempfile.TemporaryFile(dir=file.parent):
            pass
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", "") or str(error)
        raise InputError(
            f"--report: nothing can be written to {file.parent}: {reason}",
            hint="make the folder, or name a file elsewhere",
        ) from error
