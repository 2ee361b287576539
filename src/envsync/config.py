"""envsync.toml, or [tool.envsync] in pyproject.toml: options for the folder they lie in.

A key is the name of the option that it stands for. What the command line says goes before it.
"""

from __future__ import annotations

import contextlib
import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from envsync.errors import InputError
from envsync.installers import Flavour
from envsync.limits import LONGEST, MOST_AT_ONCE
from envsync.mirrors import read_mirrors, words_of
from envsync.network import check_proxy
from envsync.yamlfile import decode

OWN = "envsync.toml"
SHARED = "pyproject.toml"
_TABLE = ("tool", "envsync")
_POSITION = re.compile(r" \(at line (\d+), column \d+\)$| \(at end of document\)$")


def _nothing(_: Any) -> None:
    """Any value will do."""


@dataclass(frozen=True)
class Key:
    """One key: which values it takes, and what it is for."""

    takes: str
    """In words, after `it takes`."""
    fits: Callable[[Any], bool]
    about: str
    check: Callable[[Any], object] = _nothing
    """Raises InputError for what is wrong in a value that fits."""


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_texts(value: Any) -> bool:
    return _is_text(value) or (
        isinstance(value, list) and bool(value) and all(map(_is_text, value))
    )


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_text, value.values()))


def _is_number(value: Any, least: float) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and least <= value <= LONGEST


def _is_whole(value: Any, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


KEYS: Mapping[str, Key] = {
    "hosts": Key("a text, or a list of texts", _is_texts, "a file, or node sets"),
    "name": Key("a text", _is_text, "of the environment, in place of the file's"),
    "flavour": Key(
        f"one of {', '.join(Flavour)}", lambda value: value in list(Flavour), "for bootstrap"
    ),
    "fan-out": Key(
        f"a whole number from 1 to {MOST_AT_ONCE}",
        lambda value: _is_whole(value, MOST_AT_ONCE),
        "how many hosts at once",
    ),
    "connect-timeout": Key(
        "seconds, 0.1 or more", lambda value: _is_number(value, 0.1), "wait for a host to answer"
    ),
    "timeout": Key(
        "seconds, 1 or more", lambda value: _is_number(value, 1), "for one host's build"
    ),
    "deadline": Key("seconds, 1 or more", lambda value: _is_number(value, 1), "for the whole run"),
    "channel-map": Key(
        "a table of addresses",
        _is_table,
        "what is asked in place of channels and indexes",
        lambda table: read_mirrors(words_of(table)),
    ),
    "proxy": Key("a text", _is_text, "for hosts that have none set for themselves", check_proxy),
    "no-proxy": Key("a text, or a list of texts", _is_texts, "what hosts reach without it"),
    "ca-bundle": Key("a text", _is_text, "certificates for hosts that have none set"),
    "override-node-settings": Key(
        "true or false", lambda value: isinstance(value, bool), "proxy and certificates for all"
    ),
    "report": Key("a text, or a list of texts", _is_texts, "files that verify writes"),
}


@dataclass(frozen=True)
class Setting:
    """A value, as the file has it, and where that is."""

    value: Any
    file: str
    line: int

    @property
    def texts(self) -> tuple[str, ...]:
        if isinstance(self.value, dict):
            return tuple(words_of(self.value))
        return (self.value,) if isinstance(self.value, str) else tuple(self.value)


@dataclass(frozen=True)
class Config:
    """What the folder says, by key."""

    folder: Path
    file: Path | None = None
    """None: it says nothing."""
    settings: Mapping[str, Setting] = field(default_factory=dict)

    def hosts(self) -> str | None:
        """As the command line would have them; a file is looked for beside the config."""
        setting = self.settings.get("hosts")
        if setting is None:
            return None
        if isinstance(setting.value, str) and self._beside(setting.value).is_file():
            return str(self._beside(setting.value))
        return ",".join(setting.texts)

    def reports(self) -> list[Path] | None:
        setting = self.settings.get("report")
        return [self._beside(each) for each in setting.texts] if setting else None

    def certificates(self) -> Path | None:
        setting = self.settings.get("ca-bundle")
        return self._beside(setting.value) if setting else None

    def _beside(self, path: str) -> Path:
        try:
            return self.folder / Path(path).expanduser()
        except RuntimeError:  # ~ of a user who is not there
            return self.folder / path


def read_config(folder: Path) -> Config:
    """Raises InputError for a file that is wrong, and where there are two."""
    own, shared = folder / OWN, folder / SHARED
    found = [
        (file, table, text, steps)
        for file, steps in ((own, ()), (shared, _TABLE))
        if (text := _text(file)) is not None and (table := _table(file, text, steps)) is not None
    ]
    if not found:
        return Config(folder)
    file, table, text, steps = found[0]
    if len(found) > 1:
        _, _, other, others = found[1]
        raise InputError(
            f"there is {OWN} beside it, and only one of them may speak for envsync",
            file=str(shared),
            line=_line(other, others),
            hint=f"move what [tool.envsync] has to {OWN}, or the other way round",
        )
    settings = {}
    for key, value in table.items():
        line = _line(text, (*steps, key))
        settings[key] = Setting(_checked(key, value, str(file), line), str(file), line)
    return Config(folder, file, settings)


def _text(file: Path) -> str | None:
    try:
        return decode(file.read_bytes(), str(file))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InputError(f"it cannot be read: {error.strerror}", file=str(file)) from error


def _table(file: Path, text: str, steps: tuple[str, ...]) -> dict[str, Any] | None:
    """The table that is envsync's; None when there is none."""
    if steps and steps[-1] not in text:
        return None  # somebody else's pyproject.toml, whatever it holds
    import tomllib  # noqa: PLC0415 (most folders have no such file)

    try:
        table: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _POSITION.search(str(error))
        line = int(found[1]) if found and found[1] else len(text.splitlines()) if found else 0
        message = _POSITION.sub("", str(error))
        raise InputError(
            f"it is not TOML: {message[:1].lower()}{message[1:]}", file=str(file), line=line
        ) from error
    except RecursionError as error:
        raise InputError("its values are nested too deeply", file=str(file)) from error
    for count, step in enumerate(steps, 1):
        if step not in table:
            return None
        table = table[step]
        if not isinstance(table, dict):
            raise InputError(
                f"{'.'.join(steps[:count])} is no table",
                file=str(file),
                line=_line(text, steps[:count]),
                hint="write [tool.envsync] above the keys",
            )
    return dict(table)


def _checked(key: str, value: Any, file: str, line: int) -> Any:
    known = KEYS.get(key)
    if known is None:
        near = difflib.get_close_matches(key.replace("_", "-").lower(), KEYS, n=1)
        raise InputError(
            f"{key!r} is no key of envsync's",
            file=file,
            line=line,
            hint=f"did you mean {near[0]}?" if near else f"there are {', '.join(KEYS)}",
        )
    if not known.fits(value):
        raise InputError(
            f"{key}: {value!r} does not fit: it takes {known.takes}", file=file, line=line
        )
    try:
        known.check(value)
    except InputError as error:
        raise InputError(error.message, file=file, line=line, hint=error.hint) from error
    return value


def _line(text: str, path: tuple[str, ...]) -> int:
    """The line, from 1, on which the statement begins that gives `path` its value; 0: unknown.

    tomllib does not tell. But the first N lines of a TOML text are TOML themselves exactly when
    a statement ends there: so the one is looked for before which `path` is not there, and after
    which it is.
    """
    lines = [f"{line}\n" for line in text.split("\n")]
    key = re.compile(rf"(?<![\w-]){re.escape(path[-1])}[\"']?\s*(?:=(?!=)|[.\]])")
    likely = [number for number, line in enumerate(lines) if key.search(line)]
    for begin in likely + list(range(len(lines))):
        if _has("".join(lines[:begin]), path) is not False:
            continue
        for end in range(begin + 1, len(lines) + 1):
            after = _has("".join(lines[:end]), path)
            if after:
                return begin + 1
            if after is False:
                break
    return 0


def _has(text: str, path: tuple[str, ...]) -> bool | None:
    """Whether `path` has a value in it; None: it is not TOML."""
    import tomllib  # noqa: PLC0415 (see above)

    with contextlib.suppress(tomllib.TOMLDecodeError):
        table: Any = tomllib.loads(text)
        for step in path:
            if not isinstance(table, dict) or step not in table:
                return False
            table = table[step]
        return True
    return None
