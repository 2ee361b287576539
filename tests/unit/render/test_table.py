"""Tables: equal nodes in one row, the odd ones beside them, nothing lost on the way."""

from __future__ import annotations

import io
from collections.abc import Iterable

from rich.console import Console, RenderableType

from envsync.compare import Row
from envsync.events import Failed, Outcome, Phase
from envsync.facts import Facts
from envsync.judge import Finding
from envsync.model import Host, Package
from envsync.render import listing, table
from envsync.report import HostReport
from envsync.rules import Level

HOSTS = tuple(Host(f"n{number}") for number in range(1, 5))
FACTS = Facts(
    "/p",
    (Package("conda", "numpy", "1.26.4", "0"),),
    (),
    (("python", "3.11.9"), ("torch", "2.5.1"), ("built for", "CUDA 12.4")),
)


def fold(hosts: Iterable[Host]) -> str:
    return "+".join(host.name for host in hosts)


def lines(*things: RenderableType) -> list[list[str]]:
    """What a person sees, a list of words a line."""
    out = Console(file=io.StringIO(), width=160)
    for thing in things:
        out.print(thing)
    text = out.file.getvalue()  # type: ignore[attr-defined]
    return [line.split() for line in text.splitlines() if line.strip()]


def failure(host: Host, cause: str = "refused", output: str = "") -> HostReport:
    event = Failed(host, Phase.CONNECT, cause, "nothing listens", "start [sshd]", output)
    return HostReport(host, failure=event)


def test_equal_nodes_are_one_row_and_a_failed_one_another() -> None:
    reports = [HostReport(host, facts=FACTS, outcome=Outcome.INSTALLED) for host in HOSTS[:3]]
    shown = lines(table.results([*reports, failure(HOSTS[3])], fold))
    assert shown[2][:6] == ["n1+n2+n3", "installed", "3.11.9", "2.5.1", "CUDA", "12.4"]
    assert shown[3] == ["n4", "failed:", "refused"]
    assert len(shown) == 4


def test_failures_with_one_cause_are_one_row_with_its_hint() -> None:
    shown = lines(table.failures([failure(host) for host in HOSTS], fold))
    assert len(shown) == 3
    assert shown[2][0] == "n1+n2+n3+n4"
    assert shown[2][-2:] == ["start", "[sshd]"]  # not taken for markup


def test_equal_outputs_are_shown_once_and_long_ones_from_their_end() -> None:
    output = "\n".join(f"line {number} [bold]" for number in range(100))
    reports = [failure(host, output=output) for host in HOSTS[:2]]
    out = Console(file=io.StringIO(), width=80)
    table.outputs(reports, fold, out)
    text = out.file.getvalue()  # type: ignore[attr-defined]
    assert text.count("said:") == 1
    assert "line 99 [bold]" in text
    assert "line 59 " not in text
    assert "60 lines before" in text


def test_long_line_of_an_output_is_not_folded() -> None:
    out = Console(file=io.StringIO(), width=80)
    table.outputs([failure(HOSTS[0], output="x" * 300)], fold, out)
    assert "x" * 300 in out.file.getvalue()  # type: ignore[attr-defined]


def test_differences_put_equal_nodes_into_one_column_largest_first() -> None:
    rows = (
        Row("torch and CUDA", "torch", ("2.5", "2.4", "2.4", "2.4")),
        Row("conda", "numpy", ("1", "1", "1", "2")),
    )
    shown = lines(table.differences(rows, HOSTS, fold))
    assert shown[0] == ["what", "n2+n3", "n1", "n4"]
    assert shown[2] == ["torch", "and", "CUDA", "torch", "2.4", "2.5", "2.4"]
    assert shown[3] == ["conda", "numpy", "1", "1", "2"]


def test_findings_name_all_nodes_that_share_one() -> None:
    found = [Finding(host, "differs", "numpy is 2", "push") for host in HOSTS[:2]]
    shown = lines(listing.findings(found, fold))
    assert shown[2] == ["n1+n2", "numpy", "is", "2", "push"]


def test_remarks_are_lines_with_level_nodes_and_reason() -> None:
    found = [
        Finding(host, "unfit", "torch sees 7 of 8 GPUs", "nvidia-smi", "GPUs", level, "It matters.")
        for level, hosts in ((Level.WARNING, HOSTS[:3]), (Level.ERROR, HOSTS[3:]))
        for host in hosts
    ]
    out = Console(file=io.StringIO(), width=40)
    listing.remarks(found, fold, out)
    assert out.file.getvalue().splitlines() == [  # type: ignore[attr-defined]
        "warning  n1+n2+n3: torch sees 7 of 8 GPUs",
        "    It matters. To do: nvidia-smi.",
        "error  n4: torch sees 7 of 8 GPUs",
        "    It matters. To do: nvidia-smi.",
    ]


def test_marks_say_more_than_a_hosts_own_end() -> None:
    reports = [HostReport(host, facts=FACTS, outcome=Outcome.PROBED) for host in HOSTS[:2]]
    shown = lines(table.results(reports, fold, {HOSTS[1]: "unfit"}))
    assert [row[:2] for row in shown[2:]] == [["n1", "ok"], ["n2", "unfit"]]
