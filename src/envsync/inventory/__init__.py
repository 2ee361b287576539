"""Hosts as users name them: in a file of any of the usual forms, on standard input, in a word.

What a source is, is told by marks that no other form has, never by a guess:

    ansible.yml, or text that starts as YAML     an Ansible inventory in YAML
    a `[group]` line, an `ansible_...` variable  an Ansible inventory in INI form
    everything else                              one host or node set a line, perhaps with `slots=`
    no such file, and not the look of one        a node set: gpu[01-16], @group, user@host:port
    slurm:PARTITION, slurm:job=ID, slurm:        what Slurm says (see `envsync.inventory.slurm`)
"""

from __future__ import annotations

import difflib
import errno
import re
from pathlib import Path
from typing import TextIO

from envsync.errors import InputError
from envsync.inventory import ansible_ini, ansible_yaml, plain
from envsync.inventory.reading import EXPECTED, Inventory
from envsync.inventory.select import Choice, select
from envsync.inventory.slurm import is_slurm, job_of, partition_named, read_slurm
from envsync.model import Notice
from envsync.yamlfile import decode

__all__ = [
    "Choice",
    "Inventory",
    "is_slurm",
    "job_of",
    "parse_inventory",
    "partition_named",
    "read_inventory",
    "read_slurm",
    "select",
]

_HOSTS = "HOSTS"
"""What messages call a node set that stands on the command line."""
_FILE_ENDINGS = r"\.(txt|ya?ml|json|ini|cfg|conf|hosts?|list|lst|nodes)\Z"


def read_inventory(argument: str, stdin: TextIO | None) -> Inventory:
    """Hosts from a file, from `stdin` for `-`, or from a node set. Raises InputError."""
    if argument == "-":
        return parse_inventory(_standard_input(stdin), source="standard input")
    name = argument.removeprefix("^")  # as pdsh marks a file
    try:
        raw = Path(name).expanduser().read_bytes()
    except FileNotFoundError as error:
        if _names_a_file(argument):
            raise _missing(name) from error
        return _node_set(argument)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:  # no name that a file could have
            return _node_set(argument)
        raise InputError(
            f"it cannot be read: {error.strerror}", file=argument, hint=EXPECTED
        ) from error
    except (ValueError, RuntimeError) as error:  # a zero byte in the name, a ~user nobody is
        raise InputError(f"{argument!r} is no file name", hint=f"write {EXPECTED}") from error
    return parse_inventory(decode(raw, name), source=name)


def parse_inventory(text: str, *, source: str) -> Inventory:
    """Hosts from the text of an inventory; `source` names it in messages.

    Raises InputError for the first line that is wrong, with the number of the others.
    """
    text = text.removeprefix("\ufeff")
    # Not splitlines(): editors, and so our line numbers, know no form feed and no U+2028.
    lines = re.split(r"\r\n|\n|\r", text)
    if ansible_yaml.is_meant(lines, source):
        return ansible_yaml.parse(text, source)
    if ansible_ini.is_meant(lines):
        return ansible_ini.parse(lines, source)
    return plain.parse(lines, source)


def _standard_input(stdin: TextIO | None) -> str:
    if stdin is None:  # Python's way to say that it was closed
        raise InputError("standard input is closed", hint=f"write {EXPECTED}")
    try:
        return stdin.read()
    except (OSError, ValueError) as error:  # a folder, a closed file, no text
        raise InputError(
            "it cannot be read as text", file="standard input", hint=EXPECTED
        ) from error


def _names_a_file(word: str) -> bool:
    """Whether a word cannot be meant as a host: a path, a usual ending, pdsh's mark."""
    bare = re.sub(r"\[[^\[\]]*\]", "", word)  # gpu[0-10/2] is no path
    return bool(
        word.startswith(("^", "~", "."))
        or "/" in bare
        or "\0" in word
        or re.search(_FILE_ENDINGS, bare, re.IGNORECASE)
    )


def _missing(name: str) -> InputError:
    near = difflib.get_close_matches(Path(name).name, _neighbours(Path(name)), n=2)
    return InputError(
        f"there is no inventory file {name}",
        hint=f"did you mean {' or '.join(near)}?" if near else f"write {EXPECTED}",
    )


def _neighbours(file: Path) -> list[str]:
    try:
        return [each.name for each in file.parent.iterdir() if each.is_file()]
    except (OSError, ValueError):
        return []


def _node_set(word: str) -> Inventory:
    """Hosts from the command line; a bare word may as well be a file that is not there."""
    named = word.removesuffix(",")
    bare = re.fullmatch(r"[A-Za-z_-]+", word)
    if bare and (near := [name for name in _neighbours(Path()) if name.startswith(f"{word}.")]):
        raise InputError(
            f"there is no inventory file {word}",
            hint=f"did you mean {near[0]}? A host of that name is written {word!r} and a comma",
        )
    inventory = plain.parse([named], _HOSTS)
    if not bare:
        return inventory
    notice = Notice(f"there is no file {word}: it is taken for the name of a host")
    return Inventory(inventory.hosts, (*inventory.warnings, notice))
