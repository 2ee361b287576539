"""A report of verify for a pull request: tables, and the details folded. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from envsync.hostnames import fold_names
from envsync.render.digest import FACTS, Difference, Digest, Line

_SPECIAL = re.compile(r"[^A-Za-z0-9 .,;()=%+/'\"?-]")
MOST_VALUES = 8
"""Values of one thing that are shown; a fact may be another on every node."""


def markdown(digest: Digest) -> str:
    """GitHub's and GitLab's Markdown."""
    mark = "✅" if digest.passed else "❌"
    parts = [f"## {mark} envsync verify: {_plain(digest.headline)}", "", *_nodes(digest.lines)]
    parts += _checks(digest)
    parts += _findings(digest.lines)
    parts += _differences(digest.differences)
    parts += ["", f"<sub>envsync {_plain(digest.envsync)}, {_plain(digest.at)}</sub>", ""]
    return "\n".join(parts)


def _nodes(lines: Sequence[Line]) -> Iterator[str]:
    alike: dict[tuple[str, ...], list[str]] = {}
    for line in lines:
        alike.setdefault((line.state, *line.facts), []).append(line.host)
    yield from _table(
        ("nodes", "result", *FACTS, "packages"),
        ((_code(fold_names(hosts)), *map(_plain, cells)) for cells, hosts in alike.items()),
    )


def _checks(digest: Digest) -> Iterator[str]:
    """What was tried on all nodes together, and how their links are."""
    if digest.checks:
        yield from ("", *(f"- {_plain(each)}" for each in digest.checks))
    if digest.measures:
        rows = [(_code(host), *map(_plain, cells)) for host, cells in digest.measures.items()]
        columns = ("node", "rank", "latency", "bandwidth")
        yield from _folded(f"The links of {_count(rows, 'rank')}", _table(columns, rows))


def _findings(lines: Sequence[Line]) -> Iterator[str]:
    """The same on many nodes is one line."""
    alike: dict[tuple[str, str, str, str], list[str]] = {}
    for line in lines:
        if line.failure:
            said = (str(line.failure["message"]), "", str(line.failure["hint"]))
            alike.setdefault(("failed", *said), []).append(line.host)
        for each in line.findings:
            key = (each["level"], each["message"], each["reason"], each["hint"])
            alike.setdefault(key, []).append(line.host)
    if not alike:
        return
    rows = [
        (_plain(level), _code(fold_names(hosts)), _plain(f"{message}. {reason}"), _plain(hint))
        for (level, message, reason, hint), hosts in alike.items()
    ]
    columns = ("level", "nodes", "what is wrong", "what to do")
    yield from _folded(f"What is wrong: {_count(rows)}", _table(columns, rows))


def _differences(differences: Sequence[Difference]) -> Iterator[str]:
    if not differences:
        return
    rows = [(_plain(each.group), _code(each.name), _values(each)) for each in differences]
    title = f"What differs: {_count(rows)}"
    yield from _folded(title, _table(("group", "name", "values"), rows))


def _values(difference: Difference) -> str:
    shares = difference.shares
    shown = [f"{_code(value)} on {_code(hosts)}" for value, hosts in shares[:MOST_VALUES]]
    more = len(shares) - MOST_VALUES
    return "<br>".join([*shown, *([f"and {more} other values"] if more > 0 else [])])


def _count(rows: Sequence[object], what: str = "thing") -> str:
    return f"1 {what}" if len(rows) == 1 else f"{len(rows)} {what}s"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield from ("", f"<details><summary>{title}</summary>", "", *lines, "", "</details>")


def _plain(text: str) -> str:
    """As text that no Markdown and no HTML is read in: nodes say what they like."""
    return _SPECIAL.sub(lambda found: _entity(found[0]), text)


def _code(text: str) -> str:
    """In fixed width, where nobody is mentioned by `@`."""
    return f"<code>{_plain(text)}</code>"


def _entity(char: str) -> str:
    return f"&#{ord(char)};" if char.isprintable() else " "
