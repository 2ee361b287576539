"""An environment file with other words in some entries, and nothing else changed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import yaml

from envsync.errors import InputError
from envsync.yamlfile import compose, decode, line_of

Change = Callable[[str], Sequence[str]]
"""What stands in place of an entry: as a rule one text."""


def rewritten(raw: bytes, source: str, words: Mapping[str, str]) -> bytes:
    """The file with each entry of the pip section that `words` has replaced.

    Every line stays where it is. Raises InputError for an entry that is more than one line.
    """
    text = decode(raw, source)

    def change(entry: str) -> Sequence[str]:
        plain = re.sub(r"(^|\s)#.*$", "", entry).strip()
        return (words.get(plain, entry),)

    return _replaced(text, source, [(node, change) for node in _pip(compose(text, source))])


def remapped(raw: bytes, source: str, channel: Change, dependency: Change, pip: Change) -> bytes:
    """The file with its channels, conda dependencies and entries of the pip section changed.

    Raises InputError for one that is changed and more than one line.
    """
    text = decode(raw, source)
    root = compose(text, source)
    entries = [(node, channel) for each in _under(root, "channels") for node in _scalars(each)]
    for each in _under(root, "dependencies"):
        entries += [(node, dependency) for node in _scalars(each)]
    return _replaced(text, source, [*entries, *((node, pip) for node in _pip(root))])


def _replaced(text: str, source: str, entries: Sequence[tuple[yaml.ScalarNode, Change]]) -> bytes:
    found: dict[int, tuple[int, str]] = {}
    for node, change in entries:
        value = str(node.value)
        new = tuple(change(value))
        if new == (value,):
            continue
        start, end = node.start_mark.index, node.end_mark.index
        marks = re.match(r"(?:[&!]\S*\s+)*", text[start:end])
        start += marks.end() if marks else 0
        if node.style in {"|", ">"} or "\n" in text[start:end]:
            raise InputError(
                "an entry that envsync has to write anew goes over several lines: it names a file"
                " of this machine, or an address that is mapped or holds a login",
                file=source,
                line=line_of(node),
                hint="write it in one line",
            )
        found[start] = (
            end,
            _beside(text, start).join(json.dumps(each, ensure_ascii=False) for each in new),
        )
    for start in sorted(found, reverse=True):
        end, words = found[start]
        text = text[:start] + words + text[end:]
    return text.encode()


def _beside(text: str, start: int) -> str:
    """What stands between an entry that begins there and another one behind it."""
    before = text[text.rfind("\n", 0, start) + 1 : start]
    item = re.fullmatch(r"(\s*)-\s+", before)
    return f"\n{item[1]}- " if item else ", "


def _pip(root: yaml.Node | None) -> Iterator[yaml.ScalarNode]:
    for dependencies in _under(root, "dependencies"):
        for entry in dependencies.value if isinstance(dependencies, yaml.SequenceNode) else ():
            for section in _under(entry, "pip"):
                yield from _scalars(section)


def _scalars(node: yaml.Node) -> Iterator[yaml.ScalarNode]:
    if isinstance(node, yaml.SequenceNode):
        yield from (each for each in node.value if isinstance(each, yaml.ScalarNode))


def _under(node: yaml.Node | None, word: str) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        yield from (value for key, value in node.value if key.value == word)
