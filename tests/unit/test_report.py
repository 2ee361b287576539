"""What a run came to, as far as it is bytes of packages."""

from __future__ import annotations

from envsync.findings import Supplied
from envsync.model import Host
from envsync.render.envelope import packages_record
from envsync.report import Traffic, fold, traffic

A, B = Host("a"), Host("b")


def test_bytes_are_counted_by_where_they_came_from() -> None:
    events = [Supplied(A, None, 10), Supplied(B, A, 4), Supplied(B, None, 6), Supplied(A, None, 1)]
    reports = fold([A, B], events)
    assert traffic(reports) == Traffic(sent=17, handed_on=4)
    assert packages_record(reports[0]) == {"sent": 11, "handed_on": {}}
    assert packages_record(reports[1]) == {"sent": 6, "handed_on": {"a": 4}}


def test_nothing_is_said_where_nothing_was_sent() -> None:
    reports = fold([A], [])
    assert traffic(reports) is None
    assert packages_record(reports[0]) is None
