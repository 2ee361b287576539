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

from envsync.errors import Wrong
from envsync.references import refer, refuse_built
from envsync.requirement import Reference, Requirement, is_path, is_remote

PIP_SWITCHES = frozenset({"--no-index", "--pre", "--prefer-binary", "--require-hashes"})
PIP_OPTIONS = PIP_SWITCHES | {
    "-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--trusted-host",
    "--no-binary", "--only-binary",
}  # fmt: skip
"""What a requirements file may set (pip docs, "Requirements File Format") and we pass on."""


_LISTS = {
    "-r": "requirements", "--requirement": "requirements",
    "-c": "constraints", "--constraint": "constraints",
}  # fmt: skip
_FILES = {**_LISTS, "-e": "package", "--editable": "package"}
_LINKS = frozenset({"-f", "--find-links"})
_NAMED = re.compile(
    r"(?i)(?P<name>[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?)\s*(?P<extras>(?:\[[^\]]*\])?)\s*@\s*"
    r"(?P<address>file:.*)"
)


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
        return _local(text, line, wrong)
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
        words = shlex.split(text)
    except ValueError as error:  # a quote that does not end
        raise wrong(f"pip does not understand {text!r}", str(error)) from error
    refers: list[Reference] = []
    options = 0
    while words:
        options += 1
        option, value = _next_option(words, wrong)
        if option in _LISTS and is_remote(value):
            continue  # the nodes fetch it themselves
        if option in _FILES:
            refers.append(refer(_FILES[option], value, (f"{option} ", ""), wrong))
        elif option in _LINKS and not re.match(r"(?i)(?!file:)[a-z][a-z+]+:", value):
            refers.append(refer("links", value, (f"{option} ", ""), wrong))
    if refers and options > 1:
        raise wrong(f"{text} names a file and says more", "give each option a line of its own")
    return Requirement(text, "", line, refers=tuple(refers))


def _next_option(words: list[str], wrong: Wrong) -> tuple[str, str]:
    """Take an option and its value, which a switch has not, from the front of `words`."""
    word = words.pop(0)
    option, equals, value = word.partition("=")
    if re.match(r"-[a-z].", word):  # -ihttps://...
        option, equals, value = word[:2], "=", word[2:].removeprefix("=")
    if option not in PIP_OPTIONS | _FILES.keys():
        raise wrong(
            f"{option} may not stand in a pip section",
            f"allowed are {', '.join(sorted(PIP_OPTIONS | _FILES.keys()))}",
        )
    if option in PIP_SWITCHES:
        return option, ""
    if not equals and words:
        value = words.pop(0)
    if not value or value.startswith("-"):
        raise wrong(f"{option} wants a value", "write it behind the option")
    return option, value


def _local(text: str, line: int, wrong: Wrong) -> Requirement:
    """A wheel, a source archive or a folder of sources of this machine."""
    target = re.split(r"(?<!\s)\s+(?=--)", text)[0].partition(";")[0].strip()
    rest = text[len(target) :]
    if named := _NAMED.fullmatch(target):
        refuse_built(named["name"], named["address"], text, wrong)
        reference = refer("package", named["address"], ("", named["extras"] + rest), wrong)
        return _sent(text, canonicalize_name(named["name"]), line, reference)
    if re.search(r"\s@\s", target):
        raise wrong(
            f"{text} refers to a file of this machine, and pip wants an address behind the `@`",
            "leave out the name and the `@`, and write the path alone: it is sent along",
        )
    reference = refer("package", target, ("", rest), wrong)
    name = _name_in_url(reference.path if reference.path.endswith(".whl") else target)
    return _sent(text, name, line, reference)


def _sent(text: str, name: str, line: int, reference: Reference) -> Requirement:
    return Requirement(text, name, line, pinned=True, refers=(reference,))


def _is_local(text: str) -> bool:
    """Whether pip would look for a file, and not ask an index."""
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
