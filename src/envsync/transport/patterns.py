"""Which hosts an ssh_config does not tell apart, so that ssh is asked once for all of them.

A start of ssh for each of a thousand hosts would cost more than their connections.
"""

from __future__ import annotations

import contextlib
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


def _is_particular(keyword: str, words: Sequence[str]) -> bool:
    if keyword == "match":
        return [word.lower() for word in words] != ["all"]
    return keyword.startswith("canonical") or any("%" in word for word in words)


def _settings(file: Path, depth: int) -> Iterator[tuple[str, Sequence[str]]]:
    """Keywords in small letters with their words, those of included files in place."""
    if depth > _DEEPEST:
        return
    with contextlib.suppress(OSError):
        for line in file.read_text(errors="replace").splitlines():
            found = re.fullmatch(r"\s*([A-Za-z][A-Za-z0-9]*)(?:\s*=\s*|\s+)(.*?)\s*", line)
            if found is None:
                continue
            keyword, words = found[1].lower(), _words(found[2])
            if keyword != "include":
                yield keyword, words
                continue
            for word in words:
                for included in _included(word, file):
                    yield from _settings(included, depth + 1)


def _included(word: str, by: Path) -> Sequence[Path]:
    """Relative names are those of ~/.ssh, or of the system's folder in its own file."""
    folder = by.parent if str(by).startswith("/etc/") else Path("~/.ssh").expanduser()
    path = folder / Path(word).expanduser()
    try:
        return sorted(Path("/").glob(str(path).lstrip("/")))
    except (ValueError, NotImplementedError, OSError):
        return []


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
