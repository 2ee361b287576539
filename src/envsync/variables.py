"""The `variables:` of an environment file: what conda would set, and what it would run.

conda writes each into the text of a shell when the environment is activated (conda docs,
"Managing environments"), without escaping: `export A='...'` for bash, `set -gx A "..."` for
fish. So what ends such a text, or begins another, must not stand in a value.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import yaml

from envsync.errors import InputError
from envsync.yamlfile import is_null, pairs

Wrong = Callable[[str, yaml.Node, str], InputError]
"""Makes the error for a node: message and hint."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(
    r"0x[0-9a-fA-F_]+|0o[0-7_]+|[-+]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
"""What YAML 1.2, as conda reads it, takes for a number (its "Core Schema")."""
_AS_IT_STANDS = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_ENDS_TEXT = re.compile(r"['\"`$\\\n\r]")


def read_variables(
    node: yaml.Node | None,
    text: Callable[[yaml.Node, str], str],
    wrong: Wrong,
    twice: Callable[[str, yaml.Node], None],
) -> dict[str, str]:
    """Names and values. `text` reads a key, `twice` hears of one that stands twice."""
    if node is None or is_null(node):
        return {}
    if not isinstance(node, yaml.MappingNode):
        raise wrong("`variables:` is no mapping", node, "expected lines of `  KEY: value`")
    found: dict[str, str] = {}
    for key, value in pairs(node):
        name = text(key, "the name of a variable")
        if not _NAME.fullmatch(name):
            raise wrong(
                f"{name!r} is not a name for a variable", key, "use letters, digits and `_`"
            )
        if name != name.upper():
            raise wrong(
                f"conda sets {name} as {name.upper()}", key, "write the name in capital letters"
            )
        if name in found:
            twice(name, key)
        found[name] = _value(value, name, wrong)
    return found


def _value(node: yaml.Node, name: str, wrong: Wrong) -> str:
    """What a variable is set to. No message shows it; it may be secret."""
    if not isinstance(node, yaml.ScalarNode) or is_null(node):
        raise wrong(
            f"the value of {name} is no text", node, "expected a word, in quotes if need be"
        )
    value = str(node.value)
    if node.style is None and _is_changed(value, node.tag):
        raise wrong(
            f"YAML reads the value of {name} as a number, a truth value or a date, and writes it"
            " in another way",
            node,
            "put it in quotes",
        )
    if re.search(r"[\0\ud800-\udfff]", value):
        raise wrong(
            f"the value of {name} holds a character that no variable can hold", node, "drop it"
        )
    if found := _ENDS_TEXT.search(value):
        raise wrong(
            f"the value of {name} holds {found[0]!r}, which would be shell text when the"
            " environment is activated",
            node,
            "conda puts values into quotes as they are: leave out ' \" ` $ \\ and line ends",
        )
    return value


def _is_changed(value: str, tag: str) -> bool:
    """Whether a plain scalar comes out of YAML as something else than its text."""
    kind = tag.rpartition(":")[2]
    if kind == "timestamp" or (kind == "bool" and value.lower() in {"true", "false"}):
        return True
    if not _NUMBER.fullmatch(value) or _AS_IT_STANDS.fullmatch(value):
        return False
    try:
        return str(float(value)) != value
    except ValueError:
        return True
