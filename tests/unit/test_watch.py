"""What a watch says has changed between two looks."""

from __future__ import annotations

from dataclasses import replace

from envsync.events import Failed, Outcome, Phase
from envsync.judge import Finding
from envsync.model import Host
from envsync.report import HostReport
from envsync.rules import Level
from envsync.watch import Look, Turn, changes, take

A, B = Host("a"), Host("b")
WELL = tuple(HostReport(host, outcome=Outcome.PROBED) for host in (A, B))
DOWN = Failed(B, Phase.CONNECT, "refused", "nothing listens", "start sshd", "")
LOST = (WELL[0], HostReport(B, failure=DOWN))
GONE = Finding(B, "not-locked", "tiny is gone", "push", "tiny")
OFF = Finding(A, "unfit", "its clock is 9 s ahead", "", "clock", Level.WARNING)


def turns(
    *looks: tuple[tuple[HostReport, ...], list[Finding]],
) -> list[list[tuple[Turn, str, str]]]:
    """What each look told, beginning with the first."""
    before, told = Look(), []
    for reports, findings in looks:
        now = take(before, reports, findings)
        told.append([(e.turn, e.host.name, e.message) for e in changes(before, now, reports)])
        before = now
    return told


def test_first_look_tells_what_there_is() -> None:
    assert turns((WELL, [])) == [[]]
    assert turns((LOST, [OFF])) == [
        [(Turn.LOST, "b", "nothing listens"), (Turn.NEW, "a", "its clock is 9 s ahead")]
    ]


def test_what_stays_is_told_once_and_what_goes_is_told() -> None:
    assert turns((WELL, [GONE]), (WELL, [GONE]), (WELL, []), (WELL, []))[1:] == [
        [],
        [(Turn.GONE, "b", "tiny is gone")],
        [],
    ]


def test_same_thing_otherwise_is_changed_and_not_new() -> None:
    later = replace(OFF, message="its clock is 20 s ahead")
    assert turns((WELL, [OFF]), (WELL, [later]))[1] == [
        (Turn.CHANGED, "a", "its clock is 20 s ahead")
    ]
    worse = replace(later, level=Level.ERROR)
    assert [turn for turn, *_ in turns((WELL, [OFF]), (WELL, [worse]))[1]] == [Turn.NEW, Turn.GONE]


def test_lost_host_keeps_what_was_found_until_it_is_back() -> None:
    assert turns((WELL, [GONE]), (LOST, []), (LOST, []), (WELL, [GONE]))[1:] == [
        [(Turn.LOST, "b", "nothing listens")],
        [],
        [(Turn.BACK, "b", "it can be looked at again")],
    ]
    assert turns((WELL, [GONE]), (LOST, []), (WELL, []))[2] == [
        (Turn.BACK, "b", "it can be looked at again"),
        (Turn.GONE, "b", "tiny is gone"),
    ]


def test_other_cause_is_told_while_the_host_is_lost() -> None:
    slow = HostReport(B, failure=replace(DOWN, cause="timeout", message="no answer"))
    assert turns((LOST, []), ((WELL[0], slow), []))[1] == [(Turn.LOST, "b", "no answer")]


def test_order_of_findings_about_one_thing_does_not_count() -> None:
    other = replace(GONE, message="tiny was edited")
    assert turns((WELL, [GONE, other]), (WELL, [other, GONE]))[1] == []
