"""envsync bundle."""

from __future__ import annotations

import os
from pathlib import Path

from envsync.access import Access
from envsync.bundle import write_bundle
from envsync.downloads import cache_folder
from envsync.errors import ExitCode, InputError
from envsync.lock import lock_file
from envsync.manifest import lock_beside, read_manifest
from envsync.parcels import megabytes
from envsync.render import reading
from envsync.render.console import console
from envsync.render.envelope import envelope
from envsync.supply import Internet


def bundle(
    file: Path, name: str | None, output: Path, access: Access, *, force: bool, as_json: bool
) -> int:
    """Fetch what the lock beside the file names, and write all of it to one file."""
    if output.exists() and not force:
        raise InputError("it is there already", file=str(output), hint="--force writes over it")
    if not os.access(output.absolute().parent, os.W_OK):
        raise InputError("its folder cannot be written to", file=str(output))
    manifest = read_manifest(file, name)
    lock, why = lock_beside(manifest, file)
    if lock is None:
        raise InputError(
            f"{why or 'there is none'}, and a bundle holds what a lock names",
            file=str(lock_file(file)),
            hint="`envsync lock HOSTS` makes it",
        )
    spec, out = manifest.spec, console(stderr=as_json)
    reading.notices(out, spec.notices)
    with console(stderr=True).status("") as status:
        source = Internet(cache_folder("packages"), access)
        made = write_bundle(output, spec, lock, source, status.update)
    out.print(
        f"{output} written: {made.packages} packages and {made.wheels} wheels for"
        f" {len(lock.sections)} platform{'s' if len(lock.sections) > 1 else ''},"
        f" {megabytes(made.size)}.",
        style="bold green",
    )
    if as_json:
        record = {
            "name": spec.name,
            "output": str(output),
            "platforms": [str(each.platform) for each in lock.sections],
            "packages": made.packages,
            "wheels": made.wheels,
            "size": made.size,
        }
        print(envelope("bundle", ExitCode.OK, record))
    return ExitCode.OK
