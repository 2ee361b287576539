"""The envsync that runs here, as a wheel: what makes an image is what looks at it later."""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass
from pathlib import Path

from envsync.errors import InputError
from envsync.wheelfile import WHEEL, packed

_PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True)
class OwnWheel:
    """A wheel of envsync, and the name that pip wants it to have."""

    name: str
    raw: bytes


def own_wheel() -> OwnWheel:
    """Pack the files of this envsync, and what its installation says of it.

    Raises InputError where it runs without having been installed.
    """
    try:
        own = importlib.metadata.distribution("envsync")
    except importlib.metadata.PackageNotFoundError as error:
        raise InputError(
            "this envsync was not installed, so what it needs is not known",
            hint="install it with pip, and run that one",
        ) from error
    metadata = own.read_text("METADATA") or ""
    stem = f"envsync-{own.version}"
    info = f"{stem}.dist-info"
    texts = {each: own.read_text(each) for each in ("entry_points.txt", "licenses/LICENSE")}
    files = {
        **{
            f"envsync/{file.relative_to(_PACKAGE).as_posix()}": file.read_bytes() for file in _own()
        },
        f"{info}/METADATA": metadata.encode(),
        f"{info}/WHEEL": WHEEL.encode(),
        **{f"{info}/{name}": text.encode() for name, text in texts.items() if text},
    }
    return OwnWheel(f"{stem}-py3-none-any.whl", packed(files, info))


def _own() -> list[Path]:
    """The package's files, always in the same order, without what Python compiled."""
    files = (each for each in _PACKAGE.rglob("*") if each.is_file())
    return sorted(each for each in files if "__pycache__" not in each.parts)
