"""Judges the files of a node by what conda and pip recorded of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from envsync.judge import UNFIT, Finding
from envsync.model import Host
from envsync.probes.deep import Files, Kind
from envsync.rules import Level

SHOWN = 5
"""How many names stand in one finding; the JSON has more."""


@dataclass(frozen=True)
class _Meaning:
    cause: str
    level: Level
    text: str
    reason: str
    hint: str


_REBUILD = "`envsync push --rebuild` builds the node anew"
_LOOK = "see whether a job needs them; `envsync push --rebuild` leaves them behind"

# Warnings are of the cause UNFIT: what is no error of the environment does not make it drifted.
_MEANINGS = {
    "changed": _Meaning("changed-files", Level.ERROR, "changed since they were installed",
                        "The node runs other code than the lock says.", _REBUILD),
    "missing": _Meaning("missing-files", Level.ERROR, "gone since they were installed",
                        "What imports them fails on this node only.", _REBUILD),
    "overwritten": _Meaning(UNFIT, Level.WARNING, "of conda overwritten by pip",
                            "conda still believes in its own version, and mixes them later.",
                            "name the package once, under conda's or under pip's dependencies"),
    "foreign": _Meaning(UNFIT, Level.WARNING, "that no package owns and a job may load",
                        "Code may run on this node that other nodes do not have.", _LOOK),
    "other": _Meaning(UNFIT, Level.INFO, "that no package owns",
                      "Scripts of packages and jobs write such files.", _LOOK),
    "unreadable": _Meaning(UNFIT, Level.WARNING, "that cannot be read",
                           "Whether they were changed is not known, and a job cannot read them.",
                           "see their owner and mode"),
    "moved": _Meaning(UNFIT, Level.INFO, "that hold the path of another prefix",
                      "The environment was moved: their hashes hold for its first place.",
                      _REBUILD),
    "damaged": _Meaning("damaged-records", Level.ERROR, "that should list a package's files",
                        "Neither conda nor pip can tell what the package is.", _REBUILD),
}  # fmt: skip


def altered(host: Host, files: Files | None) -> list[Finding]:
    """What is wrong with the node's files; nothing if nobody looked at them."""
    if files is None:
        return []
    if files.failed:
        reason = "Whether files were changed is not known."
        hint = "run `envsync verify --deep` again"
        return [Finding(host, UNFIT, files.failed, hint, "files", Level.WARNING, reason)]
    return [
        _finding(host, name, meaning, files.kinds[name])
        for name, meaning in _MEANINGS.items()
        if name in files.kinds
    ]


def _finding(host: Host, name: str, meaning: _Meaning, kind: Kind) -> Finding:
    shown = kind.first[:SHOWN]
    rest = kind.count - len(shown)
    parts = [_of_one(whose, each) for whose, each in groupby(shown, key=itemgetter(1))]
    names = ", ".join([*parts, *([f"and {rest} more"] if rest else [])])
    count = "1 file" if kind.count == 1 else f"{kind.count} files"
    text = meaning.text.replace("they were", "it was") if kind.count == 1 else meaning.text
    message = f"{count} {text}: {names}"
    what = f"{name} files"
    return Finding(host, meaning.cause, message, meaning.hint, what, meaning.level, meaning.reason)


def _of_one(whose: str, files: Iterable[tuple[str, str]]) -> str:
    """The files of one owner, who is named once."""
    paths = ", ".join(path for path, _ in files)
    return f"{paths} ({whose})" if whose else paths
