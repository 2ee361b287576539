"""Names of hosts for people: what a short one means, and many of them as one short text."""

from __future__ import annotations

import difflib
import importlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType

from envsync.errors import InputError
from envsync.model import Host


def resolve(hosts: Sequence[Host], word: str) -> Host:
    """The host that `word` means: its full form, its name, or any short form that fits one.

    Raises InputError with near matches, or with the candidates when several fit.
    """
    for place in range(4):
        fitting = [host for host in hosts if forms(host)[place] == word]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            raise InputError(
                f"{word} may be {' or '.join(str(host) for host in fitting)}",
                hint="say which, in that form",
            )
    known = dict.fromkeys(form for host in hosts for form in (str(host), forms(host)[-1]))
    near = difflib.get_close_matches(word, known, n=3)
    raise InputError(
        f"{word!r} is not a host of the last push",
        hint=f"did you mean {' or '.join(near)}?"
        if near
        else f"the hosts are {fold_names(display_names(hosts).values())}",
    )


def forms(host: Host) -> tuple[str, str, str, str]:
    """What a host may be called: whole, without the user, by its name, by its first label."""
    without_user = str(Host(host.name, "", host.port))
    return str(host), without_user, host.name, _first_label(host.name)


def _first_label(name: str) -> str:
    """`node1` of `node1.cluster.local`; the first number of an address names nothing."""
    return name if re.fullmatch(r"[0-9.]+", name) else name.partition(".")[0]


def display_names(hosts: Sequence[Host]) -> Mapping[Host, str]:
    """The shortest label for each host that is still its own."""
    labels = {host: host.name for host in hosts}
    for form in (lambda host: str(Host(host.name, "", host.port)), str):
        counts = Counter(labels.values())
        labels = {
            host: label if counts[label] == 1 else form(host) for host, label in labels.items()
        }
    return labels


_FOLDABLE = re.compile(
    r"(?P<user>[^@]+@)?(?P<name>[A-Za-z0-9_.-]*\d[A-Za-z0-9_.-]*)(?P<port>:\d+)?"
)


def fold_names(names: Iterable[str]) -> str:
    """Names as one short text: gpu01, gpu02, gpu04 become gpu[01-02,04].

    User and port are no part of a name for ClusterShell: those with the same ones are folded,
    and have them put back, as an inventory reads them.
    """
    alike: dict[tuple[str, str], list[str]] = {}
    odd: list[str] = []
    for name in names:
        # IPv6 addresses are no node names for ClusterShell.
        if found := _FOLDABLE.fullmatch(name):
            affixes = (found["user"] or "", found["port"] or "")
            alike.setdefault(affixes, []).append(found["name"])
        else:
            odd.append(name)
    folded = [
        f"{user}{part}{port}"
        for (user, port), group in alike.items()
        for text in _folded(group)
        for part in re.split(r",(?![^\[]*\])", text)
    ]
    return ",".join([*folded, *odd])


def _folded(names: Sequence[str]) -> Sequence[str]:
    """Folding is for the eye: where ClusterShell cannot, the names stand as they are."""
    if len(names) < 2:  # noqa: PLR2004 (one name folds into itself)
        return names
    try:
        library = clustershell()
    except ImportError:
        return names
    try:
        return [str(library.NodeSet.fromlist(names, resolver=library.RESOLVER_NOGROUP))]
    except library.NodeSetException:
        return names


def unfold_names(text: str) -> Sequence[str]:
    """The names of one short text of Slurm's own making: gpu[01-02,04]; none for none.

    Raises InputError when ClusterShell does not load.
    """
    try:
        library = clustershell()
    except ImportError as error:
        raise InputError(f"{text} cannot be unfolded: {error}", hint="mend that") from error
    return [str(name) for name in library.NodeSet(text, resolver=library.RESOLVER_NOGROUP)]


def clustershell() -> ModuleType:
    """ClusterShell's node sets, imported when first needed: 0.04 s.

    Raises ImportError, also when the machine's own ClusterShell settings are broken: the
    library reads them while it is imported, whatever it is imported for.
    """
    try:
        return importlib.import_module("ClusterShell.NodeSet")
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ImportError(f"ClusterShell and its defaults.conf do not load ({reason})") from error
