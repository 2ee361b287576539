"""YAML as a tree that knows its lines: for files that people write and get wrong."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence

import yaml

from envsync.errors import InputError


def decode(raw: bytes, source: str) -> str:
    """Text from the bytes of a file: UTF-8, or UTF-16 as PowerShell's `>` writes it."""
    utf16 = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return raw.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise InputError(
            f"it is not {'UTF-16' if utf16 else 'UTF-8'} text",
            file=source,
            line=0 if utf16 else line,
            hint="save it as UTF-8",
        ) from error


def compose(text: str, source: str, *, templates: bool = False) -> yaml.Node | None:
    """The single document of `text`; None when there is nothing in it. Raises InputError.

    `templates` lets Jinja pass, for what is not read anyway.
    """
    if not templates:
        _refuse_templates(text, source)
    if "\u0085" in text:
        raise InputError(
            "it holds the character U+0085, a line end that no editor shows",
            file=source,
            line=text[: text.index("\u0085")].count("\n") + 1,
            hint="remove it",
        )
    try:
        documents = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        raise InputError(
            f"the character {chr(error.character)!r} may not stand in YAML"
            if isinstance(error.character, int)
            else "it holds a character that may not stand in YAML",
            file=source,
            line=line,
            hint="remove it",
        ) from error
    except yaml.MarkedYAMLError as error:
        raise _broken(error, text, source) from error
    except (ValueError, OverflowError) as error:  # "\U00110000"
        raise InputError(
            "an escape in it stands for no character", file=source, hint="write the text itself"
        ) from error
    except RecursionError as error:
        raise InputError("it is nested too deeply", file=source) from error
    _refuse_odd_tags(documents, source)
    ends = [number for number, line in enumerate(text.splitlines(), 1) if line.rstrip() == "..."]
    if len(ends) > 1:
        raise InputError(
            "it has two ends of a document (`...`)",
            file=source,
            line=ends[1],
            hint="remove the second one",
        )
    if len(documents) > 1:
        raise InputError(
            "it holds several YAML documents",
            file=source,
            line=line_of(documents[1]),
            hint="keep one: conda reads a file with just one",
        )
    return documents[0] if documents else None


def _refuse_templates(text: str, source: str) -> None:
    """Jinja often is valid YAML, but never what its author means by it."""
    for number, line in enumerate(text.splitlines(), 1):
        if re.search(r"\{\{|\{%", re.sub(r"(^|\s)#.*", "", line)):
            raise InputError(
                "it holds a Jinja template, which conda env does not fill in",
                file=source,
                line=number,
                hint="write the value itself",
            )


_TAGS = frozenset(
    f"tag:yaml.org,2002:{kind}"
    for kind in ("str", "int", "float", "bool", "null", "timestamp", "map", "seq", "merge", "set",
                 "omap", "pairs", "binary", "value")
)  # fmt: skip
"""What YAML itself defines. conda stops at others, wherever they stand."""


def _refuse_odd_tags(documents: Sequence[yaml.Node | None], source: str) -> None:
    todo: list[yaml.Node] = [node for node in documents if node is not None]
    seen: set[int] = set()
    while todo:
        node = todo.pop()
        if id(node) in seen:  # an anchor, perhaps within itself
            continue
        seen.add(id(node))
        if node.tag not in _TAGS:
            raise InputError(
                f"the tag {node.tag!r} stands for no plain value",
                file=source,
                line=line_of(node),
                hint="remove it",
            )
        if isinstance(node, yaml.MappingNode):
            todo += [each for pair in node.value for each in pair]
        elif isinstance(node, yaml.SequenceNode):
            todo += node.value


def pairs(node: yaml.MappingNode) -> Sequence[tuple[yaml.Node, yaml.Node]]:
    """Keys and values, with those that `<<:` merges where the mapping has no such key."""
    own = [pair for pair in node.value if not _is_merge(pair[0])]
    names = {key.value for key, _ in own if isinstance(key, yaml.ScalarNode)}
    merged: list[tuple[yaml.Node, yaml.Node]] = []
    for value in (value for key, value in node.value if _is_merge(key)):
        for source in value.value if isinstance(value, yaml.SequenceNode) else [value]:
            if not isinstance(source, yaml.MappingNode) or source is node:
                return list(node.value)  # the merge itself is wrong
            for pair in pairs(source):
                if isinstance(pair[0], yaml.ScalarNode) and pair[0].value not in names:
                    names.add(pair[0].value)
                    merged.append(pair)
    return [*merged, *own]


def _is_merge(key: yaml.Node) -> bool:
    return key.tag.endswith(":merge")


def line_of(node: yaml.Node) -> int:
    """Where the node starts; lines count from 1."""
    return node.start_mark.line + 1


def is_null(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag.endswith(":null")


def text_of(node: yaml.Node, what: str, source: str) -> str:
    """The text of a node, without blanks around it; `what` names it in messages.

    Raises InputError for lists and mappings, for numbers and the like (conda would get a
    number there, 3.1 for 3.10), and for what cannot be shown: a line end inside could
    smuggle a second entry into the requirements file that conda writes for pip.
    """
    if not isinstance(node, yaml.ScalarNode) or is_null(node):
        raise InputError(
            f"{what} is no text",
            file=source,
            line=line_of(node),
            hint="expected a word, in quotes if need be",
        )
    kind = node.tag.rpartition(":")[2]
    # YAML 1.1, which PyYAML reads, takes `on` for a truth value; conda's YAML 1.2 does not.
    if kind != "str" and (kind != "bool" or node.value.lower() in {"true", "false"}):
        raise InputError(
            "merges with `<<:` are not read"
            if kind == "merge"
            else f"{what} is a value of the kind {kind} for YAML, and no text",
            file=source,
            line=line_of(node),
            hint="write out what it stands for"
            if kind == "merge"
            else "expected text: put it in quotes if it is meant like that",
        )
    text = str(node.value).strip(" \t\n")
    if not text.replace("\t", " ").isprintable():
        raise InputError(
            f"{what} holds a line end or a character that cannot be shown",
            file=source,
            line=line_of(node),
            hint="one entry a line, in plain characters",
        )
    return text


def _broken(error: yaml.MarkedYAMLError, text: str, source: str) -> InputError:
    mark = error.problem_mark or error.context_mark
    number = mark.line + 1 if mark else 0
    lines = text.splitlines()
    line = lines[number - 1] if 0 < number <= len(lines) else ""
    if re.match(r"[ ]*\t", line):
        return InputError(
            "a tab stands where YAML wants spaces",
            file=source,
            line=number,
            hint="indent with spaces",
        )
    return InputError(
        f"it is not YAML: {error.problem or error.context}",
        file=source,
        line=number,
        hint="expected `name:`, `channels:` and `dependencies:` with lists of `- item`",
    )
