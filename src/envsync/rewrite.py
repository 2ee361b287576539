"""An environment file with other words in its pip section, and nothing else changed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

import yaml

from envsync.errors import InputError
from envsync.yamlfile import compose, decode, line_of


def rewritten(raw: bytes, source: str, words: Mapping[str, str]) -> bytes:
    """The file with each entry that `words` has replaced; every line stays where it is.

    Raises InputError for an entry that is more than one line.
    """
    text = decode(raw, source)
    found: dict[int, tuple[int, str]] = {}
    for node in _entries(compose(text, source)):
        new = words.get(re.sub(r"(^|\s)#.*$", "", str(node.value)).strip())
        if new is None:
            continue
        start, end = node.start_mark.index, node.end_mark.index
        marks = re.match(r"(?:[&!]\S*\s+)*", text[start:end])
        start += marks.end() if marks else 0
        if node.style in {"|", ">"} or "\n" in text[start:end]:
            raise InputError(
                "an entry that names a file of this machine goes over several lines",
                file=source,
                line=line_of(node),
                hint="write it in one line",
            )
        found[start] = (end, json.dumps(new, ensure_ascii=False))
    for start in sorted(found, reverse=True):
        end, new = found[start]
        text = text[:start] + new + text[end:]
    return text.encode()


def _entries(root: yaml.Node | None) -> Iterator[yaml.ScalarNode]:
    for dependencies in _under(root, "dependencies"):
        for entry in dependencies.value if isinstance(dependencies, yaml.SequenceNode) else ():
            for section in _under(entry, "pip"):
                if isinstance(section, yaml.SequenceNode):
                    yield from (each for each in section.value if isinstance(each, yaml.ScalarNode))


def _under(node: yaml.Node | None, word: str) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        yield from (value for key, value in node.value if key.value == word)
