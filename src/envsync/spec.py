"""environment.yml, read as conda reads it, with the line of everything that is in it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from envsync.condaspec import read_dependency
from envsync.errors import InputError
from envsync.luggage import NOTHING, Luggage, pack
from envsync.model import Notice
from envsync.pipsection import read_entry
from envsync.redact import redact
from envsync.requirement import Requirement
from envsync.variables import read_variables
from envsync.yamlfile import compose, decode, is_null, line_of, pairs, text_of

KEYS = ("name", "channels", "dependencies", "variables", "prefix", "platforms", "category")
"""Top-level keys that conda or conda-lock know."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True)
class Marks:
    """The lines of what is not a requirement; they count from 1, and 0 stands for absent."""

    name: int = 0
    prefix: int = 0
    channels: tuple[int, ...] = ()
    """One for each channel."""


@dataclass(frozen=True)
class EnvironmentSpec:
    """What an environment file asks for. `raw` is the file itself."""

    name: str
    channels: tuple[str, ...]
    conda: tuple[Requirement, ...]
    pip: tuple[Requirement, ...]
    variables: tuple[tuple[str, str], ...]
    raw: bytes
    source: str
    notices: tuple[Notice, ...] = ()
    marks: Marks = Marks()
    luggage: Luggage = NOTHING
    """Files that the pip section names; empty when only the text was read."""

    @property
    def sent(self) -> bytes:
        """The file as the nodes get it: without the paths of this machine."""
        return self.luggage.environment or self.raw


def read_environment(path: Path, name: str | None = None) -> EnvironmentSpec:
    """Read a file and what it refers to; `name` replaces its own. Raises InputError."""
    return packed(parse_environment(read_bytes(path), str(path), name), path)


def packed(spec: EnvironmentSpec, path: Path) -> EnvironmentSpec:
    """The same with the files that its pip section names. Raises InputError."""
    luggage = pack(path, spec.raw, spec.pip)
    return replace(spec, luggage=luggage, notices=(*spec.notices, *luggage.notices))


def read_bytes(path: Path) -> bytes:
    """The bytes of a file that `-f` names. Raises InputError."""
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        others = sorted([*path.parent.glob("*.yml"), *path.parent.glob("*.yaml")])
        near = f"did you mean -f {others[0]}?" if others else "name it with -f FILE"
        raise InputError(f"there is no environment file {path}", hint=near) from error
    except OSError as error:
        raise InputError(
            f"it cannot be read: {error.strerror}", file=str(path), hint="name a file with -f FILE"
        ) from error
    except ValueError as error:  # a zero byte in the name
        raise InputError(f"{str(path)!r} is no file name", hint="name it with -f FILE") from error


def environment_name(name: str, file: str = "", line: int = 0) -> str:
    """`name`, if an environment may be called so. Raises InputError."""
    if name in {"base", "root"}:
        raise InputError(
            f"{name} is conda's own environment", file=file, line=line, hint="choose another name"
        )
    if not _NAME.fullmatch(name):
        raise InputError(
            redact(f"{name!r} is not a name for an environment"),
            file=file,
            line=line,
            hint="use letters, digits, `.`, `_` and `-`, such as nlp-pretrain-a100",
        )
    return name


def parse_environment(raw: bytes, source: str, name: str | None = None) -> EnvironmentSpec:
    """Parse the bytes of a file; `source` names it in messages. Raises InputError."""
    return _Reader(source).read(raw, name)


class _Reader:
    """Carries the file's name to every message, and gathers notices."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._notices: list[Notice] = []

    def read(self, raw: bytes, name: str | None) -> EnvironmentSpec:
        root = compose(decode(raw, self._source), self._source)
        if not isinstance(root, yaml.MappingNode):
            raise self._wrong(
                "it is empty" if root is None else "it is no mapping of keys to values",
                root,
                "expected `name:`, `channels:` and `dependencies:`",
            )
        keys = self._keys(root)
        conda, pip = self._dependencies(keys.get("dependencies"), root)
        channels = self._list(keys, "channels")
        return EnvironmentSpec(
            name=self._name(keys.get("name"), name, root),
            channels=tuple(map(self._channel, channels)),
            conda=conda,
            pip=pip,
            variables=tuple(
                read_variables(keys.get("variables"), self._text, self._wrong, self._twice).items()
            ),
            raw=raw,
            source=self._source,
            notices=tuple(self._notices),
            marks=Marks(
                name=line_of(keys["name"]) if "name" in keys else 0,
                prefix=line_of(keys["prefix"]) if "prefix" in keys else 0,
                channels=tuple(map(line_of, channels)),
            ),
        )

    def _wrong(self, message: str, node: yaml.Node | None, hint: str = "") -> InputError:
        line = line_of(node) if node else 0
        return InputError(redact(message), file=self._source, line=line, hint=redact(hint))

    def _note(self, message: str, node: yaml.Node) -> None:
        self._notices.append(Notice(redact(message), self._source, line_of(node)))

    def _keys(self, root: yaml.MappingNode) -> Mapping[str, yaml.Node]:
        found: dict[str, yaml.Node] = {}
        for key, value in pairs(root):
            word = self._text(key, "a key")
            if word in found:
                self._twice(word, key)
            if word not in KEYS:
                near = difflib.get_close_matches(word, KEYS, n=1)
                mean = f"; did you mean `{near[0]}:`?" if near else ""
                self._note(f"`{word}:` is not a key that conda knows{mean}", key)
            found[word] = value
        return found

    def _twice(self, word: str, key: yaml.Node) -> None:
        # conda 24.7.1 stops with DuplicateKeyError (measured); micromamba reads on.
        self._note(f"`{word}:` stands twice: the last one is read here, conda may refuse it", key)

    def _name(self, node: yaml.Node | None, given: str | None, root: yaml.Node) -> str:
        if given is None and node is None:
            raise self._wrong("it has no `name:`", root, "add one, or give one with -n")
        if given is not None or node is None:
            return environment_name(given or "", self._source)
        return environment_name(self._text(node, "the name"), self._source, line_of(node))

    def _list(self, keys: Mapping[str, yaml.Node], key: str) -> list[yaml.Node]:
        node = keys.get(key)
        if key == "channels" and node is not None and is_null(node):
            raise self._wrong("`channels:` is empty", node, "conda stops at it: leave it out")
        if node is None or is_null(node):
            return []
        if not isinstance(node, yaml.SequenceNode):
            raise self._wrong(f"`{key}:` is no list", node, "expected lines of `  - item`")
        return list(node.value)

    def _text(self, node: yaml.Node, what: str) -> str:
        return text_of(node, what, self._source)

    def _channel(self, node: yaml.Node) -> str:
        channel = self._text(node, "a channel")
        if re.match(r"\.{1,2}(/|$)|[~-]", channel) or not channel:
            raise self._wrong(
                f"{channel!r} is no channel for other machines",
                node,
                "expected a name such as conda-forge, a URL, or a path that every node has",
            )
        return channel

    def _dependencies(
        self, node: yaml.Node | None, root: yaml.Node
    ) -> tuple[tuple[Requirement, ...], tuple[Requirement, ...]]:
        entries = self._list({"dependencies": node} if node else {}, "dependencies")
        conda: list[Requirement] = []
        pip: list[Requirement] = []
        sections = [entry for entry in entries if isinstance(entry, yaml.MappingNode)]
        if len(sections) > 1:
            raise self._wrong(
                "it has a second pip section, and conda reads the last one only",
                sections[1],
                f"put its lines into the one of line {line_of(sections[0])}",
            )
        for entry in entries:
            if isinstance(entry, yaml.MappingNode):
                pip += self._pip_section(entry)
            else:
                conda.append(self._conda_requirement(entry))
        if not any(each.name or each.pinned for each in (*conda, *pip)):
            raise self._wrong(
                "it asks for no package", node or root, "add `dependencies:` with `  - python=3.11`"
            )
        return tuple(conda), tuple(pip)

    def _conda_requirement(self, node: yaml.Node) -> Requirement:
        def wrong(message: str, hint: str = "") -> InputError:
            return self._wrong(message, node, hint)

        return read_dependency(self._text(node, "a dependency"), line_of(node), wrong)

    def _pip_section(self, node: yaml.MappingNode) -> Sequence[Requirement]:
        sections: dict[str, list[Requirement]] = {}
        for key, value in node.value:
            word = self._text(key, "a key")
            if word != "pip":
                text = f"{word}={value.value}" if isinstance(value, yaml.ScalarNode) else word
                raise self._wrong(
                    f"`{word}:` makes a mapping, and a dependency is text",
                    key,
                    f"write `- {text}`, with `=` and no blank",
                )
            if word in sections:
                self._twice(word, key)
            entries = self._list({"pip": value}, "pip")
            read = [self._pip_entry(entry) for entry in entries]
            sections[word] = [each for each in read if each.text]
        if not sections:
            raise self._wrong("a dependency is no text", node, "expected for example python=3.11")
        return sections["pip"]

    def _pip_entry(self, node: yaml.Node) -> Requirement:
        def wrong(message: str, hint: str = "") -> InputError:
            return self._wrong(message, node, hint)

        return read_entry(self._text(node, "a pip requirement"), line_of(node), wrong)
