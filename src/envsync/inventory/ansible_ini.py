"""Ansible's inventories in INI form."""

from __future__ import annotations

import difflib
import ipaddress
import re
import shlex
from collections.abc import Sequence

from envsync.errors import InputError, Wrong
from envsync.inventory.ansible import Draft, Group, Value, Vars
from envsync.inventory.reading import Inventory, Reading

_SECTION = re.compile(r"\s*\[([^\[\]]*)\]\s*(?:[#;].*)?")
_KINDS = ("hosts", "children", "vars")
_VARIABLE = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")
_GROUP_NAME = re.compile(r"[^\s:\[\]#]+")


def is_meant(lines: Sequence[str]) -> bool:
    """Whether a line is one that stands in no other kind of file."""
    return any(
        ((section := _SECTION.fullmatch(line)) and not _is_ipv6(section[1]))
        or re.search(r"^[^#;]*\sansible_\w+\s*=", line)
        for line in lines
    )


def parse(lines: Sequence[str], source: str) -> Inventory:
    """The hosts of all sections. Raises InputError for the first line that is wrong."""
    draft = Draft(Reading(source))
    draft.group("all", 1)
    group, kind = draft.group("ungrouped", 1), "hosts"
    for number, line in enumerate(lines, 1):
        wrong = draft.reading.wrong_in(number)
        if not line.strip() or line.lstrip().startswith(("#", ";")):
            continue
        try:
            if section := _SECTION.fullmatch(line):
                name, kind = _heading(section[1], wrong)
                group = draft.group(name, number if kind != "vars" else 0)
            else:
                _line(draft, group, kind, line, number, wrong)
        except InputError as error:
            draft.reading.fail(error)
    return draft.finish()


def _heading(text: str, wrong: Wrong) -> tuple[str, str]:
    name, colon, kind = text.strip().partition(":")
    if colon and kind not in _KINDS:
        near = difflib.get_close_matches(kind, _KINDS, n=1)
        raise wrong(
            f"[{text}] is not a section",
            f"did you mean [{name}:{near[0]}]?"
            if near
            else "[group], [group:children], [group:vars]",
        )
    if not _GROUP_NAME.fullmatch(name):
        raise wrong(f"{name!r} is not the name of a group", "[group], without blanks")
    return name, kind or "hosts"


def _line(draft: Draft, group: Group, kind: str, line: str, number: int, wrong: Wrong) -> None:
    if kind == "vars":
        found = _VARIABLE.fullmatch(line)
        if found is None:
            raise wrong("it is not a variable", "in [group:vars] each line is name=value")
        group.variables[found[1]] = Value(_bare(found[2]), number)
        return
    words = _words(line, wrong)
    if kind == "children":
        if len(words) != 1:
            raise wrong("it names more than a group", "in [group:children] each line is a group")
        group.children[words[0]] = number
        return
    variables: Vars = {}
    for word in words[1:]:
        key, equals, value = word.partition("=")
        if not equals:
            raise wrong(f"{word!r} is not name=value", "after a host stand its variables")
        variables[key] = Value(value, number)
    pattern, port = _port(words[0], wrong)
    if port:
        variables.setdefault("ansible_port", Value(port, number))
    draft.add(group, pattern, number, variables)


def _words(line: str, wrong: Wrong) -> Sequence[str]:
    try:
        return shlex.split(line, comments=True)
    except ValueError as error:
        raise wrong("a quotation mark in it has no end", "close it") from error


def _bare(text: str) -> str:
    """A value without its quotation marks; behind ` #` a comment starts."""
    quoted = re.fullmatch(r"""(["'])(.*)\1\s*(?:#.*)?""", text)
    return quoted[2] if quoted else re.sub(r"\s+#.*|\s+\Z", "", text)


def _port(word: str, wrong: Wrong) -> tuple[str, str]:
    """`host:22` apart; colons in a range and in an IPv6 address are no port's."""
    if _is_ipv6(word):
        return word, ""
    if found := re.fullmatch(r"\[([^\[\]]*)\](?::(\d+))?", word):
        if _is_ipv6(found[1]):
            return found[1], found[2] or ""
        raise wrong(f"{word!r} is not a host", "a group's line stands alone")
    found = re.fullmatch(r"((?:[^\[\]:]|\[[^\[\]]*\])*)(?::(.*))?", word)
    if found is None or "@" in word:
        raise wrong(
            f"{word!r} is not a host for Ansible",
            "user and address are variables: name ansible_user=ops ansible_host=10.0.0.7",
        )
    return found[1], found[2] or ""


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True
