"""A container image from an environment file and its lock: text comes out, nothing runs.

`blueprint` says what goes into the image, and refuses what may not; `text` writes it down;
`ownwheel` packs the envsync that is to look at it later. The first two are pure.
"""

from __future__ import annotations

from envsync.image.blueprint import Blueprint, blueprint, choose
from envsync.image.ownwheel import OwnWheel, own_wheel
from envsync.image.text import BASE, apptainer, dockerfile

__all__ = [
    "BASE",
    "Blueprint",
    "OwnWheel",
    "apptainer",
    "blueprint",
    "choose",
    "dockerfile",
    "own_wheel",
]
