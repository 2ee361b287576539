"""A report of verify as one HTML page that asks nobody for anything. Pure.

Everything that came from a node or a file is escaped; the script on the page only hides rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from string import Template

from envsync.compare import ABSENT
from envsync.render.digest import FACTS, Difference, Digest, Line, legible
from envsync.render.pagestyle import PAGE

MOST_COLUMNS = 30
"""Differences that have a column in the matrix; all of them stand in the list below it."""
MOST_FINDINGS = 12
"""Findings of one node that are shown; a node that has more is to be built anew anyway."""
MOST_OPEN = 3
"""Of a node with more findings the first is shown, and all after a click: the matrix stays one."""
MOST_TEXT = 120
"""Characters of a value in the matrix; the whole one stands in the list."""
MOST_VALUES = 40
"""Values of one difference that are shown."""

_TEMPLATE = Template(PAGE)


def webpage(digest: Digest) -> str:
    """The page; a browser shows it from a file as well as from a server."""
    columns = digest.differences[:MOST_COLUMNS]
    words = {
        "title": _text(f"envsync verify: {digest.headline}"),
        "verdict": "good" if digest.passed else "bad",
        "name": _text(digest.name),
        "counts": "".join(_counts(digest.counts)),
        "about": _text(_about(digest)),
        "checks": "".join(_checks(digest)),
        "matrix": "".join(_matrix(digest.lines, columns)),
        "differences": "".join(_differences(digest.differences)),
    }
    return _TEMPLATE.substitute(words)


def _about(digest: Digest) -> str:
    made = ", ".join(digest.generations) or "none of envsync's"
    nodes = "1 node" if len(digest.lines) == 1 else f"{len(digest.lines)} nodes"
    return f"{nodes}; generation {made}; {digest.at}; envsync {digest.envsync}"


def _counts(counts: Mapping[str, int]) -> Iterator[str]:
    for state, count in counts.items():
        yield (
            f'<button type="button" class="count {_word(state)}" data-find="{_word(state)}"'
            f' aria-pressed="false"><b>{count}</b> {state}</button>'
        )


def _checks(digest: Digest) -> Iterator[str]:
    """What was tried on all nodes together, and how their links are."""
    if digest.checks:
        yield f"<ul>{''.join(f'<li>{_text(each)}</li>' for each in digest.checks)}</ul>"
    if digest.measures:
        heads = "".join(
            f"<th scope=col>{name}</th>" for name in ("node", "rank", "latency", "bandwidth")
        )
        yield '<details><summary>The links between the nodes</summary><div class="scroll all">'
        yield f"<table><thead><tr>{heads}</tr></thead><tbody>"
        for host, cells in digest.measures.items():
            values = "".join(f"<td>{_text(cell)}</td>" for cell in cells)
            yield f"<tr><th scope=row>{_text(host)}</th>{values}</tr>\n"
        yield "</tbody></table></div></details>"


def _matrix(lines: Sequence[Line], columns: Sequence[Difference]) -> Iterator[str]:
    names = ("node", "result", *FACTS, "packages", *(each.name for each in columns))
    heads = "".join(f"<th scope=col>{_text(name)}</th>" for name in names)
    yield f"<thead><tr>{heads}</tr></thead>"
    usual = [each.majority for each in columns]
    yield "<tbody>"
    worst_first = sorted(lines, key=lambda line: line.state == "in sync")
    for line in worst_first:
        yield from _node(line, zip(columns, usual, strict=True), len(names))
    yield "</tbody>"


def _node(line: Line, cells: Iterable[tuple[Difference, str]], width: int) -> Iterator[str]:
    state = _word(line.state)
    yield f'<tr class=node data-state="{state}"><th scope=row>{_text(line.host)}</th>'
    yield f'<td><span class="mark {state}">{line.state}</span></td>'
    yield "".join(f"<td>{_text(fact)}</td>" for fact in line.facts)
    for column, usual in cells:
        value = column.values.get(line.host, ABSENT)
        odd = " class=odd" if value != usual else ""
        yield f"<td{odd}>{_text(_short(value))}</td>"
    yield "</tr>\n"
    if said := list(_said(line)):
        text = f"<ul>{''.join(said)}</ul>"
        if len(line.findings) > MOST_OPEN:
            first = _text(line.findings[0]["message"])
            level = _word(line.findings[0]["level"])
            more = f"and {len(line.findings) - 1} more findings"
            text = (
                f'<details><summary class="{level}"><b>{first}</b> {more}</summary>{text}</details>'
            )
        yield f"<tr class=said><td colspan={width}>{text}</td></tr>\n"


def _said(line: Line) -> Iterator[str]:
    if failure := line.failure:
        yield _item("error", str(failure["message"]), "", str(failure["hint"]))
    for each in line.findings[:MOST_FINDINGS]:
        yield _item(each["level"], each["message"], each["reason"], each["hint"])
    if (more := len(line.findings) - MOST_FINDINGS) > 0:
        yield f"<li>and {more} more</li>"


def _item(level: str, message: str, reason: str, hint: str) -> str:
    why = f" <i>{_text(reason)}</i>" if reason else ""
    return f'<li class="{_word(level)}"><b>{_text(message)}</b>{why} {_text(hint)}</li>'


def _differences(rows: Sequence[Difference]) -> Iterator[str]:
    if not rows:
        yield "<p>Nothing differs between the nodes.</p>"
        return
    yield "<table><thead><tr><th scope=col>group</th><th scope=col>name</th>"
    yield "<th scope=col>values</th></tr></thead><tbody>"
    for row in rows:
        shares = row.shares
        values = [
            f"<li><code>{_text(value)}</code> on <code>{_text(hosts)}</code></li>"
            for value, hosts in shares[:MOST_VALUES]
        ]
        if (more := len(shares) - MOST_VALUES) > 0:
            values.append(f"<li>and {more} other values</li>")
        yield f'<tr data-matters="{int(row.matters)}"><td>{_text(row.group)}</td>'
        yield f"<th scope=row>{_text(row.name)}</th><td><ul>{''.join(values)}</ul></td></tr>\n"
    yield "</tbody></table>"


def _short(value: str) -> str:
    return value if len(value) <= MOST_TEXT else value[: MOST_TEXT - 1] + "…"


def _word(text: str) -> str:
    """As the name of a class."""
    return escape(text.replace(" ", "-"))


def _text(text: str) -> str:
    return escape(legible(text))
