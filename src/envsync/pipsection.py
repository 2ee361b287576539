"""The pip section of an environment file: what pip would read in each of its lines."""

from __future__ import annotations

import re
import shlex

from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as Pep508
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_wheel_filename,
)

from envsync.errors import InputError, Wrong
from envsync.requirement import Requirement, is_path, is_remote

PIP_SWITCHES = frozenset({"--no-index", "--pre", "--prefer-binary", "--require-hashes"})
PIP_OPTIONS = PIP_SWITCHES | {
    "-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--trusted-host",
    "--no-binary", "--only-binary",
}  # fmt: skip
"""What a requirements file may set (pip docs, "Requirements File Format") and we pass on."""


_LISTS = frozenset({"-r", "--requirement", "-c", "--constraint"})
_FILES = _LISTS | {"-e", "--editable"}


def read_entry(entry: str, line: int, wrong: Wrong) -> Requirement:
    """One entry of a pip section: a requirement or a line of options. Raises InputError."""
    text = re.sub(r"(^|\s)#.*$", "", entry).strip()
    if not text:
        return Requirement("", "", line)
    if text.startswith("-"):
        return _option(text, line, wrong)
    bare, *options = re.split(r"(?<!\s)\s+(?=--)", text)
    if odd := [each for each in options if not re.match(r"--hash[=\s]", each)]:
        raise wrong(f"{odd[0]} may not follow a requirement", "--hash=... may")
    if _is_local(bare):
        raise _elsewhere(text, wrong)
    if is_remote(bare):
        return Requirement(text, _name_in_url(bare), line, pinned=True)
    try:
        wanted = Pep508(bare)
    except InvalidRequirement as error:
        raise wrong(f"pip does not understand {text!r}", _right_form(bare)) from error
    pinned = bool(wanted.specifier or wanted.url)
    name = canonicalize_name(wanted.name)
    return Requirement(text, name, line, pinned, str(wanted.specifier))


def _option(text: str, line: int, wrong: Wrong) -> Requirement:
    """One line of options, split as pip itself splits it: into shell words."""
    try:
        words = iter(shlex.split(text))
    except ValueError as error:  # a quote that does not end
        raise wrong(f"pip does not understand {text!r}", str(error)) from error
    for word in words:
        option, equals, value = word.partition("=")
        if re.match(r"-[a-z].", word):  # -ihttps://...
            option, equals, value = word[:2], "=", word[2:]
        if option in _FILES:
            value = value if equals else next(words, "")
            if option in _LISTS and is_remote(value):
                continue  # the nodes fetch it themselves
            raise _elsewhere(text, wrong)
        if option not in PIP_OPTIONS:
            raise wrong(
                f"{option} may not stand in a pip section",
                f"allowed are {', '.join(sorted(PIP_OPTIONS))}",
            )
        if option in PIP_SWITCHES:
            continue
        value = value if equals else next(words, "")
        if not value or value.startswith("-"):
            raise wrong(f"{option} wants a value", "write it behind the option")
        if option in {"-f", "--find-links"} and not re.match(r"(?i)/|[a-z][a-z+]+:", value):
            raise _elsewhere(text, wrong)
    return Requirement(text, "", line)


def _elsewhere(text: str, wrong: Wrong) -> InputError:
    editable = re.match(r"(?:-e|--editable)[\s=]*(\S+)", text)
    if editable and is_remote(editable[1]):
        return wrong(
            f"{text} is editable, and a node has no folder to edit it in",
            f"leave out the option: {editable[1]}",
        )
    return wrong(
        f"{text} refers to a file of this machine, which the nodes do not have",
        "put what it says into the pip section itself",
    )


def _is_local(text: str) -> bool:
    """Whether pip would look for a file: no node can be trusted to have it."""
    target, *named = reversed(
        re.split(r"(?<!\s)\s*@\s*", text.partition(";")[0].strip(), maxsplit=1)
    )
    if is_remote(text) or is_remote(target):
        return False
    return bool(
        named
        or is_path(target)
        or "/" in target
        or re.search(r"(?i)\.(whl|zip|tgz|tar\.(gz|bz2|xz))$", target)
    )


def _right_form(text: str) -> str:
    """For what is conda's way to ask for a version: how pip wants it."""
    single = re.fullmatch(
        r"([A-Za-z0-9._-]+(?:\[[^\]]*\])?)\s*=\s*([^=<>~!\s;]+)(?:=[^=\s;]+)?\s*(;.*)?", text
    )
    if single is None:
        return "expected for example transformers==4.44.2"
    return f"pip writes it with two signs: {single[1]}=={single[2]}{single[3] or ''}"


def _name_in_url(text: str) -> str:
    """The package that a URL requirement names, if it does: `#egg=` or a wheel's file name."""
    if egg := re.search(r"#(?:.*&)?egg=([A-Za-z0-9._-]+)", text):
        return canonicalize_name(egg[1])
    try:
        return parse_wheel_filename(re.split(r"[#?]", text)[0].rpartition("/")[2])[0]
    except (InvalidWheelFilename, InvalidSdistFilename):
        return ""
