"""envsync image."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

from envsync.cli.choices import ImageFormat
from envsync.cli.commands.init import Target
from envsync.errors import ExitCode, InputError
from envsync.image import BASE, apptainer, blueprint, choose, dockerfile, own_wheel
from envsync.lock import lock_file
from envsync.manifest import lock_beside, read_manifest


@dataclass(frozen=True)
class Wishes:
    """The command's words."""

    kind: ImageFormat
    base: str | None
    """None: the one of `BASE`."""
    platform: str
    with_envsync: bool = False
    """Whether the image is to have the envsync that runs here, too."""


def image(
    file: Path, name: str | None, wishes: Wishes, target: Target | None, *, as_json: bool
) -> int:
    """Print a Dockerfile or an Apptainer definition, or write it to `target`."""
    manifest = read_manifest(file, name)
    lock, why = lock_beside(manifest, file)
    if why:
        raise InputError(
            f"the lock does not fit: {why}",
            file=str(lock_file(file)),
            hint="`envsync lock HOSTS` makes it anew; without a lock the builder solves",
        )
    section = choose(lock, wishes.platform) if lock else None
    plan = blueprint(manifest.spec, section, wishes.platform)
    own = own_wheel() if wishes.with_envsync else None
    plan = replace(plan, wheel=own.name) if own else plan
    make = apptainer if wishes.kind is ImageFormat.APPTAINER else dockerfile
    text = make(plan, wishes.base or BASE)
    if section is None:
        _say(f"note: there is no {lock_file(file)}: the builder solves, and two builds may differ.")
    if plan.beside_text and target is None:
        raise InputError(
            "what goes into the image besides (files that its pip section names, envsync) lies"
            " beside the text",
            file=str(file),
            hint="say where the text goes with -o FILE: the rest is written beside it",
        )
    if target is not None:
        target.write(text)
        beside = [target.beside(plan.archive, plan.luggage.tar)] if plan.archive else []
        beside += [target.beside(own.name, own.raw)] if own else []
        _say(f"Wrote {' and '.join(map(str, [target.file, *beside]))}.")
    if as_json:
        from envsync.render.envelope import envelope  # noqa: PLC0415 (on need)

        result = {
            "format": wishes.kind.value,
            "generation": plan.generation,
            "locked": section is not None,
            "file": target and str(target.file),
            "archive": plan.archive or None,
            "wheel": plan.wheel or None,
            "text": text,
        }
        print(envelope("image", ExitCode.OK, result))
    elif target is None:
        print(text, end="")
    return ExitCode.OK


def _say(text: str) -> None:
    print(text, file=sys.stderr)
