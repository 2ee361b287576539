"""Which of an inventory's hosts a command is for: --limit and --exclude."""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from envsync.errors import InputError
from envsync.hostnames import forms
from envsync.inventory.nodeset import hosts_of
from envsync.inventory.reading import MOST_HOSTS, Inventory
from envsync.model import Host


@dataclass(frozen=True)
class Choice:
    """Words for hosts: names, node sets, globs, groups of the inventory, `^file`."""

    limit: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    failed: tuple[Host, ...] | None = None
    """Those that failed last; None when nobody asked for them."""

    @property
    def is_all(self) -> bool:
        return not self.limit and not self.exclude and self.failed is None


def select(inventory: Inventory, choice: Choice) -> Inventory:
    """The inventory with only those hosts that are chosen, in its order.

    Raises InputError for a word that fits no host, since a slip in --exclude would touch a
    host that was to be spared, and when no host is left.
    """
    chosen = set(inventory.hosts)
    if choice.failed is not None:
        chosen &= set(choice.failed)
    if choice.limit:
        chosen &= _meant(inventory, choice.limit, "--limit")
    chosen -= _meant(inventory, choice.exclude, "--exclude")
    if not chosen:
        raise InputError("no host is left to do it on", hint=_why_none(choice))
    return replace(inventory, hosts=tuple(host for host in inventory.hosts if host in chosen))


def _why_none(choice: Choice) -> str:
    if choice.failed is not None and not choice.failed:
        return "no host failed in the last run; leave --failed out"
    given = [("--failed", choice.failed is not None), ("--limit", choice.limit)]
    words = [word for word, is_given in [*given, ("--exclude", choice.exclude)] if is_given]
    return f"{' and '.join(words)} together leave none of the inventory's hosts"


def _meant(inventory: Inventory, words: Iterable[str], option: str) -> set[Host]:
    return {host for word in words for host in _fitting(inventory, word.strip(), option)}


def _fitting(inventory: Inventory, word: str, option: str) -> Sequence[Host]:
    """The hosts that a word means. Each part of it must fit one."""
    if word.startswith("^"):
        return [
            host for line in _lines(word[1:], option) for host in _fitting(inventory, line, option)
        ]
    by_form: dict[str, list[Host]] = {}
    for host in inventory.hosts:
        for form in dict.fromkeys(forms(host)):
            by_form.setdefault(form, []).append(host)
    if (group := inventory.groups.get(word.removeprefix("@"))) and word not in by_form:
        return [host for host in group if host in set(inventory.hosts)]
    found: list[Host] = []
    for name in _names(word, option):
        if re.search(r"[*?]", name):
            fits = [h for form in fnmatch.filter(by_form, name) for h in by_form[form]]
        else:
            fits = by_form.get(name, [])
        if not fits:
            raise _stranger(name, [*by_form, *inventory.groups], option)
        found += fits
    return found


def _names(word: str, option: str) -> Sequence[str]:
    """A word's own parts: a glob as it stands, a node set unfolded."""

    def wrong(message: str, hint: str = "") -> InputError:
        return InputError(f"{option}: {message}", hint=hint or "such as gpu01, gpu[01-04], gpu*")

    if not word:
        raise wrong("a word of it is empty")
    if re.fullmatch(r"[A-Za-z0-9_.@:*?,-]*[*?][A-Za-z0-9_.@:*?,-]*", word):
        return [part for part in word.split(",") if part]
    return [str(host) for host in hosts_of(word, MOST_HOSTS, wrong)]


def _lines(name: str, option: str) -> Sequence[str]:
    try:
        text = Path(name).expanduser().read_text(encoding="utf-8-sig")
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InputError(f"{option}: {name} cannot be read: {reason}", hint="^FILE") from error
    return [word for line in text.splitlines() if (word := line.partition("#")[0].strip())]


def _stranger(name: str, known: Sequence[str], option: str) -> InputError:
    near = difflib.get_close_matches(name, known, n=2)
    return InputError(
        f"{option}: {name!r} is none of the inventory's hosts",
        hint=f"did you mean {' or '.join(near)}?" if near else "a host, a node set, or a group",
    )
