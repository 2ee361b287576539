"""Ansible's inventories in YAML, and what `ansible-inventory --list --yaml` prints."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence

import yaml

from envsync.inventory.ansible import Draft, Value, Vars
from envsync.inventory.reading import Inventory, Reading
from envsync.yamlfile import compose, is_null, line_of

_KEYS = ("hosts", "children", "vars")
_DEEPEST = 50


def is_meant(lines: Sequence[str], source: str) -> bool:
    """By the name of the file, or by a first line that only YAML and JSON have."""
    if re.search(r"\.(ya?ml|json)\Z", source, re.IGNORECASE):
        return True
    first = next((line for line in lines if line.strip() and not line.lstrip().startswith("#")), "")
    return bool(re.fullmatch(r"---(\s.*)?|\{.*|[A-Za-z0-9_.-]+:\s*(#.*)?", first))


def parse(text: str, source: str) -> Inventory:
    """The hosts of all groups. Raises InputError for the first line that is wrong."""
    draft = Draft(Reading(source))
    draft.group("all", 1)
    root = compose(text, source, templates=True)
    if root is None:
        return draft.finish()
    for key, line, node in _pairs(root, "an inventory", draft):
        if key == "_meta":
            raise draft.reading.wrong_in(line)(
                "it is an inventory in the form of Ansible's scripts",
                "push to what `ansible-inventory --list --yaml` prints",
            )
        _group(draft, key, line, node, 0)
    return draft.finish()


def _group(draft: Draft, name: str, line: int, node: yaml.Node, depth: int) -> None:
    group = draft.group(name, line)
    if depth > _DEEPEST:
        raise draft.reading.wrong_in(line)("its groups are nested too deeply")
    for key, where, value in _pairs(node, f"the group {name}", draft):
        if key == "hosts":
            for pattern, number, words in _pairs(value, "hosts", draft):
                draft.add(group, pattern, number, _variables(words, draft))
        elif key == "children":
            for child, number, below in _pairs(value, "children", draft):
                group.children[child] = number
                _group(draft, child, number, below, depth + 1)
        elif key == "vars":
            group.variables |= _variables(value, draft)
        else:
            near = difflib.get_close_matches(key, _KEYS, n=1)
            raise draft.reading.wrong_in(where)(
                f"{key!r} is not a part of a group",
                f"did you mean {near[0]!r}?" if near else "a group has hosts, children and vars",
            )


def _variables(node: yaml.Node, draft: Draft) -> Vars:
    """Those of one line; lists and mappings lead to no host."""
    return {
        key: Value(value.value, line)
        for key, line, value in _pairs(node, "variables", draft)
        if isinstance(value, yaml.ScalarNode)
    }


def _pairs(node: yaml.Node, what: str, draft: Draft) -> Iterator[tuple[str, int, yaml.Node]]:
    """Keys with their lines and values; nothing stands for an empty mapping."""
    if is_null(node):
        return
    wrong = draft.reading.wrong_in(line_of(node))
    if not isinstance(node, yaml.MappingNode):
        raise wrong(
            f"{what} must be a mapping",
            "in Ansible's YAML each host is a key: `gpu01:`, not `- gpu01`",
        )
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise wrong("a key of it is no text")
        if key.tag.endswith(":merge"):
            raise draft.reading.wrong_in(line_of(key))("merges with `<<:` are not read")
        yield key.value, line_of(key), value
