"""A report of verify as JUnit's XML, which Jenkins, GitLab and others read. Pure.

Every node has one test case for each kind of finding, whether there is one or not, so that a
case keeps its name and its history from run to run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from envsync.render.digest import Digest, Line, legible
from envsync.rules import Level

KINDS = ("broken", "not-locked", "unmet", "differs", "other-generation", "unfit", "unlike")
"""Causes of findings, each a test case of every node."""


def junit(digest: Digest) -> str:
    """One suite; a node that was not reached is an error, a finding that fails is a failure."""
    suite = Element("testsuite", name=legible(f"envsync verify {digest.name}"))
    for line in digest.lines:
        _reached(suite, line)
        extra = dict.fromkeys(each["cause"] for each in line.findings)
        for kind in dict.fromkeys((*KINDS, *extra)):
            found = [each for each in line.findings if each["cause"] == kind]
            _judged(_case(suite, line, kind), line, found, digest.fail_on)
    if digest.checks:
        # A suite has no words of its own; what failed is said of the nodes.
        case = SubElement(suite, "testcase", classname="envsync", name="together", time="0")
        SubElement(case, "system-out").text = legible("\n".join(_checks(digest)))
    suite.set("timestamp", digest.at[:19])
    suite.set("time", "0")
    suite.set("tests", str(len(suite)))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(len(suite.findall(f"testcase/{tag}"))))
    indent(suite)
    declaration = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return declaration + tostring(suite, encoding="unicode") + "\n"


def _case(suite: Element, line: Line, kind: str) -> Element:
    return SubElement(
        suite, "testcase", classname=legible(f"envsync.{line.host}"), name=legible(kind), time="0"
    )


def _reached(suite: Element, line: Line) -> None:
    case = _case(suite, line, "reached")
    if line.failure:
        message, hint = str(line.failure["message"]), str(line.failure["hint"])
        cause = str(line.failure["cause"])
        error = SubElement(case, "error", message=legible(message), type=legible(cause))
        error.text = legible("\n".join([message, hint, str(line.failure["output"])]))


def _judged(case: Element, line: Line, found: Sequence[Mapping[str, Any]], fail_on: str) -> None:
    if line.failure:
        SubElement(case, "skipped", message="the node could not be checked")
        return
    failing = [each for each in found if each["level"] in {Level.ERROR, fail_on}]
    if failing:
        message = "; ".join(each["message"] for each in failing)
        failure = SubElement(
            case, "failure", message=legible(message), type=str(failing[0]["cause"])
        )
        failure.text = _said(failing)
    if rest := [each for each in found if each not in failing]:
        SubElement(case, "system-out").text = _said(rest)


def _checks(digest: Digest) -> Iterator[str]:
    yield from digest.checks
    for host, (rank, latency, bandwidth) in digest.measures.items():
        yield f"{host}: rank {rank}, {latency}, {bandwidth}"


def _said(found: Sequence[Mapping[str, Any]]) -> str:
    words = ((each["level"], each["message"], each["reason"], each["hint"]) for each in found)
    return legible("\n".join(f"{level}: {m}. {reason} {hint}" for level, m, reason, hint in words))
