"""Which hosts an ssh_config does not tell apart, so that ssh is asked once for all of them.

A start of ssh for each of a thousand hosts would cost more than their connections.
"""

from __future__ import annotations

import glob
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_DEEPEST = 16
"""Files that include each other, as in OpenSSH's readconf.c."""


@dataclass(frozen=True)
class Patterns:
    """The `Host` lines of all files, in order."""

    lines: tuple[tuple[str, ...], ...]
    particular: bool
    """Something else than a name decides (Match), or a value is made of the name (%h)."""
    keywords: frozenset[str]
    """All that are set somewhere, in small letters."""

    @classmethod
    def of(cls, files: Sequence[Path]) -> Patterns:
        """Those of `files` and of what they include."""
        lines: list[tuple[str, ...]] = []
        particular = False
        keywords: set[str] = set()
        for keyword, words in (pair for file in files for pair in _settings(file, 0)):
            keywords.add(keyword)
            if keyword == "host":
                lines.append(tuple(words))
            else:
                particular = particular or _is_particular(keyword, words)
        return cls(tuple(lines), particular, frozenset(keywords))

    def signature(self, name: str) -> tuple[bool, ...] | None:
        """Equal for hosts to which the same lines apply; None where each must be asked for."""
        return None if self.particular else tuple(_applies(line, name) for line in self.lines)


_UNREAD: tuple[str, Sequence[str]] = ("", ())
"""Stands for settings that ssh may read and this does not: then each host is asked for."""


def _is_particular(keyword: str, words: Sequence[str]) -> bool:
    if keyword == "match":
        return [word.lower() for word in words] != ["all"]
    return not keyword or keyword.startswith("canonical") or any("%" in word for word in words)


def _settings(file: Path, depth: int) -> Iterator[tuple[str, Sequence[str]]]:
    """Keywords in small letters with their words, those of included files in place."""
    try:
        text = file.read_text(errors="replace") if depth <= _DEEPEST else None
    except FileNotFoundError:
        return
    except OSError:
        text = None
    if text is None:
        yield _UNREAD
        return
    for line in text.splitlines():
        found = re.fullmatch(r"\s*([A-Za-z][A-Za-z0-9]*)(?:\s*=\s*|\s+)(.*?)\s*", line)
        if found is None:
            continue
        keyword, words = found[1].lower(), _words(found[2])
        if keyword != "include":
            yield keyword, words
            continue
        for word in words:
            yield from _included(word, file, depth)


def _included(word: str, by: Path, depth: int) -> Iterator[tuple[str, Sequence[str]]]:
    """Relative names are those of ~/.ssh, or of the system's folder in its own files."""
    if re.search(r"[%$]", word):  # tokens and variables, which ssh fills in
        yield _UNREAD
        return
    system = str(by).startswith("/etc/ssh/")
    folder = Path("/etc/ssh") if system else Path("~/.ssh").expanduser()
    for file in sorted(glob.glob(str(folder / Path(word).expanduser()))):  # noqa: PTH207 (any path)
        yield from _settings(Path(file), depth + 1)


def _words(text: str) -> Sequence[str]:
    try:
        return shlex.split(text, comments=False)
    except ValueError:
        return text.split()


def _applies(line: Sequence[str], name: str) -> bool:
    """ssh_config(5), PATTERNS: a negated pattern that fits rules the whole line out."""
    if any(each.startswith("!") and _fits(each[1:], name) for each in line):
        return False
    return any(_fits(each, name) for each in line if not each.startswith("!"))


def _fits(pattern: str, name: str) -> bool:
    text = re.escape(pattern.lower()).replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(text, name.lower()) is not None
