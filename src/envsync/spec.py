"""environment.yml, read as conda reads it, with the line of everything that is in it."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as Pep508
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_wheel_filename,
)

from envsync.errors import InputError
from envsync.model import Notice
from envsync.redact import redact
from envsync.yamlfile import compose, decode, is_null, line_of, text_of

KEYS = ("name", "channels", "dependencies", "variables", "prefix", "platforms", "category")
"""Top-level keys that conda or conda-lock know."""

PIP_SWITCHES = frozenset({"--no-index", "--pre", "--prefer-binary"})
PIP_OPTIONS = PIP_SWITCHES | {
    "-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--trusted-host",
    "--no-binary", "--only-binary",
}  # fmt: skip
"""What a requirements file may set (pip docs, "Requirements File Format") and we pass on."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REMOTE = re.compile(r"(?i)(?!(?:\w+\+)?file:)[a-z][a-z0-9+.-]*://")
_LOCAL = re.compile(r"(?i)[./~\\]|(?:\w+\+)?file:|[a-z]:[\\/]")
"""How paths begin; on Windows as well, where many of these files are written."""


@dataclass(frozen=True)
class Requirement:
    """One entry of `dependencies` or of its pip section."""

    text: str
    name: str
    """Lower case; canonical for pip. Empty for a pip option or a URL that names no package."""
    line: int
    pinned: bool = False
    """It asks for a version, a build, or one very file."""


@dataclass(frozen=True)
class EnvironmentSpec:
    """What an environment file asks for. `raw` is the file itself, which is what travels."""

    name: str
    channels: tuple[str, ...]
    conda: tuple[Requirement, ...]
    pip: tuple[Requirement, ...]
    variables: tuple[tuple[str, str], ...]
    raw: bytes
    source: str
    notices: tuple[Notice, ...] = ()


def read_environment(path: Path, name: str | None = None) -> EnvironmentSpec:
    """Read a file; `name` replaces the file's own. Raises InputError."""
    try:
        raw = path.read_bytes()
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
    return parse_environment(raw, str(path), name)


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
        return EnvironmentSpec(
            name=self._name(keys.get("name"), name, root),
            channels=tuple(self._channel(node) for node in self._list(keys, "channels")),
            conda=conda,
            pip=pip,
            variables=tuple(self._variables(keys.get("variables")).items()),
            raw=raw,
            source=self._source,
            notices=tuple(self._notices),
        )

    def _wrong(self, message: str, node: yaml.Node | None, hint: str = "") -> InputError:
        line = line_of(node) if node else 0
        return InputError(redact(message), file=self._source, line=line, hint=redact(hint))

    def _note(self, message: str, node: yaml.Node) -> None:
        self._notices.append(Notice(redact(message), self._source, line_of(node)))

    def _keys(self, root: yaml.MappingNode) -> Mapping[str, yaml.Node]:
        found: dict[str, yaml.Node] = {}
        for key, value in root.value:
            word = self._text(key, "a key")
            if word in found:
                self._twice(word, key)
            if word == "prefix":
                self._note("`prefix:` is ignored: envsync chooses the place on each node", key)
            elif word not in KEYS:
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
        name = self._text(node, "the name") if given is None and node is not None else given or ""
        where = None if given is not None else node
        if name in {"base", "root"}:
            raise self._wrong(f"{name} is conda's own environment", where, "choose another name")
        if not _NAME.fullmatch(name):
            raise self._wrong(
                f"{name!r} is not a name for an environment",
                where,
                "use letters, digits, `.`, `_` and `-`, such as nlp-pretrain-a100",
            )
        return name

    def _list(self, keys: Mapping[str, yaml.Node], key: str) -> list[yaml.Node]:
        node = keys.get(key)
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
        from rattler import MatchSpec  # noqa: PLC0415 (0.15 s to import)
        from rattler.exceptions import InvalidMatchSpecError  # noqa: PLC0415

        text = self._text(node, "a dependency")
        archive = re.search(r"\.(conda|tar\.bz2)$", text)
        if _LOCAL.match(text) or (archive and not _REMOTE.match(text)):
            raise self._wrong(
                f"{text} is a file of this machine, which the nodes do not have",
                node,
                "put the package into a channel, and name it here",
            )
        try:
            spec = MatchSpec(text)
        except InvalidMatchSpecError as error:
            raise self._no_match_spec(text, str(error).splitlines()[0], node) from error
        name = spec.name.normalized
        if name.startswith(("-", ".")):
            raise self._no_match_spec(text, f"a name does not begin with {name[0]}", node)
        pinned = spec.version not in {None, "*"} or bool(spec.build or is_package_url(text))
        return Requirement(text, name, line_of(node), pinned)

    def _no_match_spec(self, text: str, reason: str, node: yaml.Node) -> InputError:
        return self._wrong(
            f"{text!r} is not a package that conda understands ({reason})",
            node,
            "expected for example numpy=1.26, numpy>=1.26,<2 or conda-forge::numpy",
        )

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
            sections[word] = [self._pip_requirement(entry) for entry in entries]
        if not sections:
            raise self._wrong("a dependency is no text", node, "expected for example python=3.11")
        return sections["pip"]

    def _pip_requirement(self, node: yaml.Node) -> Requirement:
        text = re.sub(r"(^|\s)#.*$", "", self._text(node, "a pip requirement")).strip()
        if text.startswith("-"):
            return self._pip_option(text, node)
        bare, *options = re.split(r"\s+(?=--)", text)
        if odd := [each for each in options if not each.startswith("--hash=")]:
            raise self._wrong(f"{odd[0]} may not follow a requirement", node, "--hash=... may")
        if _is_local(bare):
            raise self._elsewhere(text, node)
        if _REMOTE.match(bare):
            return Requirement(text, _name_in_url(bare), line_of(node), pinned=True)
        try:
            wanted = Pep508(bare)
        except InvalidRequirement as error:
            raise self._wrong(
                f"pip does not understand {text!r}", node, _right_form(bare)
            ) from error
        pinned = bool(wanted.specifier or wanted.url)
        return Requirement(text, canonicalize_name(wanted.name), line_of(node), pinned)

    def _pip_option(self, text: str, node: yaml.Node) -> Requirement:
        """One line of options, split as pip itself splits it: into shell words."""
        try:
            words = iter(shlex.split(text))
        except ValueError as error:  # a quote that does not end
            raise self._wrong(f"pip does not understand {text!r}", node, str(error)) from error
        for word in words:
            option, equals, value = word.partition("=")
            if re.match(r"-[a-z].", word):  # -ihttps://...
                option, equals, value = word[:2], "=", word[2:]
            if option in {"-r", "-c", "-e", "--requirement", "--constraint", "--editable"}:
                raise self._elsewhere(text, node)
            if option not in PIP_OPTIONS:
                raise self._wrong(
                    f"{option} may not stand in a pip section",
                    node,
                    f"allowed are {', '.join(sorted(PIP_OPTIONS))}",
                )
            if option in PIP_SWITCHES:
                continue
            value = value if equals else next(words, "")
            if not value or value.startswith("-"):
                raise self._wrong(f"{option} wants a value", node, "write it behind the option")
            if option in {"-f", "--find-links"} and not re.match(r"(?i)/|[a-z][a-z+]+:", value):
                raise self._elsewhere(text, node)
        return Requirement(text, "", line_of(node))

    def _elsewhere(self, text: str, node: yaml.Node) -> InputError:
        editable = re.match(r"(?:-e|--editable)[\s=]*(\S+)", text)
        if editable and _REMOTE.match(editable[1]):
            return self._wrong(
                f"{text} is editable, and a node has no folder to edit it in",
                node,
                f"leave out the option: {editable[1]}",
            )
        return self._wrong(
            f"{text} refers to a file of this machine, which the nodes do not have",
            node,
            "put what it says into the pip section itself",
        )

    def _variables(self, node: yaml.Node | None) -> Mapping[str, str]:
        if node is None or is_null(node):
            return {}
        if not isinstance(node, yaml.MappingNode):
            raise self._wrong(
                "`variables:` is no mapping", node, "expected lines of `  KEY: value`"
            )
        found: dict[str, str] = {}
        for key, value in node.value:
            name = self._text(key, "the name of a variable")
            if not _VARIABLE.fullmatch(name):
                raise self._wrong(
                    f"{name!r} is not a name for a variable",
                    key,
                    "use letters, digits and `_`",
                )
            if name in found:
                self._twice(name, key)
            found[name] = self._value(value, name)
        return found

    def _value(self, node: yaml.Node, name: str) -> str:
        """What a variable is set to: numbers are welcome. No message shows it; it may be secret."""
        if not isinstance(node, yaml.ScalarNode) or is_null(node):
            raise self._wrong(
                f"the value of {name} is no text", node, "expected a word, in quotes if need be"
            )
        value = str(node.value)
        if re.search(r"[\0\ud800-\udfff]", value):
            raise self._wrong(
                f"the value of {name} holds a character that no variable can hold", node, "drop it"
            )
        return value


def is_package_url(text: str) -> bool:
    """Whether a conda dependency is the address of one package file."""
    return bool(_REMOTE.match(text)) and "::" not in text


def pep508(text: str) -> Pep508 | None:
    """The requirement in a line of a pip section; None for options and for bare URLs."""
    try:
        return Pep508(re.split(r"\s+--", text)[0])
    except InvalidRequirement:
        return None


def _is_local(text: str) -> bool:
    """Whether pip would look for a file: no node can be trusted to have it."""
    target, *named = reversed(re.split(r"\s*@\s*", text.partition(";")[0].strip(), maxsplit=1))
    if _REMOTE.match(text) or _REMOTE.match(target):
        return False
    return bool(
        named
        or _LOCAL.match(target)
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
