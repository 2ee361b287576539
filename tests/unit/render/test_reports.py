"""Every form of a report says the same, is well formed, and runs nothing that a node said."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest
import xmlschema

from envsync.events import Failed, Outcome, Phase
from envsync.facts import Facts
from envsync.model import Host, Package, Platform
from envsync.render import envelope
from envsync.render.digest import digest
from envsync.render.junit import KINDS, junit
from envsync.render.markdown import markdown
from envsync.render.picture import picture
from envsync.render.webpage import webpage
from envsync.report import HostReport
from envsync.sight import Seen
from envsync.verify import judge

ROOT = Path(__file__).parents[3]
EVIL = (
    "</script><script>alert(1)</script> | @team `x` ]]> \x1b[31m\x00 <img src=x onerror=alert(2)>"
)
LINUX = Platform("linux-64", "", "2.36", "conda")
GOOD = Facts("/p", (Package("conda", "numpy", "1.26.4", "0"),), (), (("torch", "2.5.1"),))
DRIFTED = replace(GOOD, conda=(Package("conda", "numpy", "2.1.0", EVIL),))


def record(fail_on: str = "error", drifted: Facts = DRIFTED) -> dict[str, Any]:
    """What verify prints of four nodes: two are well, one drifted, one was not reached."""
    hosts = [Host("gpu01"), Host("gpu02"), Host("gpu03"), Host("<b>gpu04", "me", 2222)]
    facts = dict(zip(hosts, (GOOD, GOOD, drifted), strict=False))
    verdict = judge({host: Seen(each, "abc", LINUX) for host, each in facts.items()}, None)
    reports = [HostReport(host, facts=each, outcome=Outcome.PROBED) for host, each in facts.items()]
    failed = Failed(hosts[3], Phase.CONNECT, "refused", f"no: {EVIL}", "start sshd", "out\x00put")
    reports.append(HostReport(hosts[3], failure=failed))
    result = {
        "name": "train",
        "at": "2026-01-02T03:04:05+00:00",
        "fail_on": fail_on,
        "generations": verdict.generations,
        "hosts": [envelope.host_record(each) for each in reports],
        "findings": verdict.findings,
        "remarks": [],
        "not_in_lock": [],
        "differences": envelope.rows_record(
            [row for row in verdict.rows if row.differs], tuple(verdict.seen)
        ),
    }
    return envelope.envelope_record("verify", 1, result)


def schema() -> Any:
    return json.loads((ROOT / "docs/reference/verify.schema.json").read_text())


class _Page(HTMLParser):
    """What a browser would make elements and attributes of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_digest_puts_each_node_into_one_state() -> None:
    found = digest(record())
    assert [line.state for line in found.lines] == ["in sync", "in sync", "drifted", "failed"]
    assert found.headline == "train: 1 failed, 1 drifted, 2 in sync"
    assert not found.passed


def test_differences_that_matter_come_first() -> None:
    one = record()
    row = one["result"]["differences"][0]
    one["result"]["differences"].insert(0, row | {"name": "driver", "matters": False})
    assert [each.name for each in digest(one).differences] == ["numpy", "driver"]
    assert digest(one).differences[0].shares[0] == ("1.26.4 0", "gpu[01-02]")


def test_json_is_as_the_schema_says() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.Draft202012Validator(schema()).validate(record())
    error = envelope.envelope_record("verify", 2, error={"message": "m", "hint": "h"})
    jsonschema.Draft202012Validator(schema()).validate(error)


@pytest.mark.parametrize("field", ["hosts", "findings", "differences", "at"])
def test_schema_misses_what_is_not_there(field: str) -> None:
    broken = record()
    del broken["result"][field]
    assert not jsonschema.Draft202012Validator(schema()).is_valid(broken)


def test_schema_knows_a_level_that_is_in_the_wrong_list() -> None:
    broken = record()
    broken["result"]["remarks"] = broken["result"]["findings"]
    assert not jsonschema.Draft202012Validator(schema()).is_valid(broken)


def test_junit_is_valid_and_counts_rightly() -> None:
    text = junit(digest(record()))
    xmlschema.XMLSchema(ROOT / "tests/unit/data/junit.xsd").validate(text)
    suite = ET.fromstring(text)  # noqa: S314 (our own)
    assert suite.attrib | {"name": ""} == {
        "name": "",
        "timestamp": "2026-01-02T03:04:05",
        "time": "0",
        "tests": str(4 * (1 + len(KINDS))),
        "failures": "1",
        "errors": "1",
        "skipped": str(len(KINDS)),
    }
    (failed,) = [case for case in suite if case.find("failure") is not None]
    assert (failed.get("classname"), failed.get("name")) == ("envsync.gpu03", "differs")
    names = [(case.get("classname"), case.get("name")) for case in suite]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(("fail_on", "failures"), [("error", 1), ("warning", 2)])
def test_junit_fails_for_warnings_where_verify_does(fail_on: str, failures: int) -> None:
    one = record(fail_on)
    warning = one["result"]["findings"][0] | {"level": "warning", "cause": "unlike"}
    one["result"]["remarks"] = [warning | {"host": "gpu01"}]
    suite = ET.fromstring(junit(digest(one)))  # noqa: S314
    assert suite.get("failures") == str(failures)
    assert len(suite.findall("testcase/system-out")) == 2 - failures


def test_page_runs_nothing_of_what_nodes_say() -> None:
    page = webpage(digest(record()))
    parsed = _Page(page)
    assert parsed.tags.count("script") == 1
    assert not {"img", "link", "iframe"} & set(parsed.tags)
    assert not [name for name, _ in parsed.attributes if name.startswith("on")]
    assert not {"src", "href"} & {name for name, _ in parsed.attributes}
    assert any("alert(2)" in text for text in parsed.text)
    assert "\x00" not in page
    assert "http:" not in page
    assert "https:" not in page


def test_page_has_every_node_and_what_is_odd() -> None:
    page = webpage(digest(record()))
    assert page.count("<tr class=node") == 4
    assert page.count("<td class=odd>") == 2  # the drifted node, and the one without a value
    assert '<tr class=node data-state="drifted"><th scope=row>gpu03</th>' in page


def test_many_findings_of_one_node_are_folded() -> None:
    one = record()
    (finding,) = one["result"]["findings"]
    assert "<details>" not in webpage(digest(one))
    one["result"]["findings"] = [finding | {"message": f"thing {n} <b>"} for n in range(9)]
    page = webpage(digest(one))
    summary = '<summary class="error"><b>thing 0 &lt;b&gt;</b> and 8 more findings</summary>'
    assert page.count("<details>") == 1
    assert summary in page
    assert page.count("thing ") == 10


def test_markdown_is_read_as_text() -> None:
    text = markdown(digest(record()))
    body = re.sub(r"</?(details|summary|code|sub)>|<br>", "", text)
    assert "<" not in body
    assert "@" not in body
    assert "`" not in body
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert {row.count("|") for row in rows} == {8, 5, 4}
    assert "gpu&#91;01-02&#93;" in text
    assert "\x1b" not in text


def test_picture_asks_no_server_and_is_xml() -> None:
    svg = picture(digest(record()))
    ET.fromstring(svg)  # noqa: S314
    assert "url(http" not in svg
    assert "font-face" not in svg
    assert "1.26.4&#160;0" in svg


def test_nodes_that_are_all_well() -> None:
    one = record(drifted=GOOD)
    one["exit_code"] = 0
    one["result"]["hosts"].pop()
    found = digest(one)
    assert (found.passed, found.headline) == (True, "train: 3 in sync")
    assert "Nothing differs" in webpage(found)
    assert "<details>" not in markdown(found)
    assert ET.fromstring(junit(found)).get("failures") == "0"  # noqa: S314


def test_every_form_says_what_was_computed_and_reduced() -> None:
    one = record()
    rank = {"rank": 0, "stage": "measured", "ok": True, "failed": "", "missing": []}
    figures = {"latency": 1e-3, "bandwidth": 1e9, "link_latency": 5e-5, "link_bandwidth": 2e9}
    meeting = {"backend": "gloo", "address": "n", "port": 1, "interface": "", "wait": 60}
    one["result"] |= {
        "numeric": {"gpu01": None},
        "collective": {"meeting": meeting, "ranks": {"gpu01": rank | figures}, "absent": {}},
        "checks": [f"numeric: all well {EVIL}"],
    }
    jsonschema.Draft202012Validator(schema()).validate(one)
    found = digest(one)
    assert found.measures == {"gpu01": ("0", "50 µs", "2.0 GB/s")}
    for text in (markdown(found), webpage(found), junit(found)):
        assert "numeric: all well" in text.replace("&#58;", ":")
        assert "2.0 GB/s" in text
    picture_text = picture(found).replace("&#160;", " ")
    assert "2.0 GB/s" in picture_text
    assert "script" not in _Page(markdown(found)).tags
    assert _Page(webpage(found)).tags.count("script") == 1
    xmlschema.XMLSchema(str(ROOT / "tests/unit/data/junit.xsd")).validate(junit(found))
