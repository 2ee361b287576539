"""A container image from an environment file and its lock. Pure: text comes out, nothing runs.

`blueprint` says what goes into the image, and refuses what may not; `text` writes it down.
"""

from __future__ import annotations

from envsync.image.blueprint import Blueprint, blueprint, choose
from envsync.image.text import BASE, apptainer, dockerfile

__all__ = ["BASE", "Blueprint", "apptainer", "blueprint", "choose", "dockerfile"]
