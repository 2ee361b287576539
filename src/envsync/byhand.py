"""The texts in a bundle for those who install from it without envsync. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import yaml

from envsync.lock import Lock, Section
from envsync.parcels import Parcel

ENVIRONMENT = "environment.yml"
LOCK = "environment.lock"
CHANNEL = "channel"
WHEELS = "wheels"

_HEADER = """\
# {platform}
# In this folder: conda env create -f {file}
"""


def names(lock: Lock) -> tuple[str, ...]:
    """What the file of each section is called."""
    found: list[str] = []
    for section in lock.sections:
        stem = f"by-hand-{section.platform.subdir}"
        count = sum(each.startswith(stem) for each in found)
        found.append(f"{stem}-{count + 1}.yml" if count else f"{stem}.yml")
    return tuple(found)


def environment(
    name: str,
    section: Section,
    parcels: Sequence[Parcel],
    variables: Mapping[str, str],
    file: str,
) -> str:
    """An environment file of just what the section has, from the folders beside it.

    conda reads the path of a channel from the folder in which it is started, and starts pip in
    that of the file.
    """
    packages = [each.package for each in section.conda]
    wanted: list[object] = [f"{each.name}={each.version}={each.build}" for each in packages]
    wheels = {each.line: each for each in parcels if each.line}
    if section.pip:
        lines = [f"--no-index --find-links ./{WHEELS}"]
        wanted.append({"pip": [*lines, *(_by_hand(line, wheels) for line in section.pip)]})
    content: dict[str, object] = {
        "name": name,
        "channels": [f"./{CHANNEL}", "nodefaults"],
        "dependencies": wanted,
    }
    if variables:
        content["variables"] = dict(variables)
    head = _HEADER.format(platform=section.platform, file=file)
    return head + yaml.safe_dump(content, sort_keys=False, width=10**6, allow_unicode=True)


def _by_hand(line: str, wheels: Mapping[str, Parcel]) -> str:
    if line in wheels and " @ " in line:
        return f"./{WHEELS}/{wheels[line].name}"
    return line.partition(" --hash=")[0] if line in wheels else line.partition(" @ file:")[2]


def readme(name: str, lock: Lock, version: str) -> str:
    """What a bundle is, and what to do with it."""
    rows = zip(names(lock), lock.sections, strict=True)
    platforms = "".join(f"  {file}   {section.platform}\n" for file, section in rows)
    return f"""\
The environment {name}, with all packages of its lock. Made by envsync {version}.

With envsync, on a machine that reaches the nodes:

  envsync push HOSTS --bundle THIS_FILE.tar

By hand, on one machine without the internet:

  tar -xf THIS_FILE.tar && cd {name}
  conda env create -f FILE

where FILE is one of

{platforms}
{CHANNEL}/ is a conda channel, {WHEELS}/ a folder for pip's --find-links. environment.lock names
every file with its hash.
"""
