"""Reports of earlier runs, read back and judged together."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from envsync.cli.app import app
from envsync.cli.boundary import guarded
from envsync.errors import InputError
from envsync.events import Failed, Phase
from envsync.facts import Facts
from envsync.flavours import Conda
from envsync.lock import Lock, LockedPackage, Section, format_lock
from envsync.model import Host, Package, Platform
from envsync.observation import Observation, Switch
from envsync.probes.deep import Files, Kind
from envsync.probes.numeric import Numeric
from envsync.render.envelope import envelope_record, host_record, plain
from envsync.report import HostReport
from envsync.wide import System, Wide
from envsync.witness import witnesses

AT = "2026-01-02T03:04:05+00:00"
OBSERVATION = Observation(
    "/home/u",
    "u",
    "n1",
    "linux-64",
    (("__glibc", "2.36"),),
    Conda("/opt/conda/bin/conda", "/opt/conda"),
    "/opt/conda/envs",
    link=".envsync/x/0a1b2c.2",
    history=(Switch(1, "0a1b2c.2", "me@here"),),
)
FACTS = Facts(
    "/opt/envs/x",
    (Package("conda", "numpy", "1.26.4", "0", "conda-forge", "a" * 32),),
    (Package("pip", "einops", "0.8.0"),),
    (("python", "3.11.7"), ("driver", "550.54")),
    wide=Wide(system=System(kernel="6.1")),
)


def report(file: Path, *hosts: HostReport, at: str = AT, name: str = "x", **more: object) -> Path:
    result = {
        "name": name,
        "at": at,
        "hosts": [host_record(each) for each in hosts],
        "prefix": "/opt/envs/x",
        **more,
    }
    file.write_text(json.dumps(envelope_record("verify", 0, result)))
    return file


def of(host: str, facts: Facts = FACTS) -> HostReport:
    return HostReport(Host(host), observation=OBSERVATION, facts=facts)


def test_what_was_seen_comes_back_as_it_was(tmp_path: Path) -> None:
    files = Files({"changed": Kind(2, (("bin/x", "tiny"),))}, 7, 99)
    numeric = Numeric({"matmul": "0a"}, {"threads": "4"}, {}, ("sum",))
    more: Mapping[str, Any] = {
        "prefix": None,
        "files": {"me@n1:2222": plain(files)},
        "numeric": {"me@n1:2222": plain(numeric)},
    }
    host = Host("n1", "me", 2222)
    file = report(tmp_path / "a.json", HostReport(host, None, "", OBSERVATION, FACTS), **more)
    known, notes = witnesses([file])
    seen = known[host].seen
    assert seen is not None
    assert (seen.facts, seen.files, seen.numeric) == (FACTS, files, numeric)
    assert (seen.generation, seen.platform, seen.by_prefix) == (
        "0a1b2c.2",
        OBSERVATION.platform,
        False,
    )
    assert notes == (f"as seen at {AT}; no host was asked now",)


def test_environment_at_a_path_and_a_host_that_failed(tmp_path: Path) -> None:
    failed = Failed(Host("n2"), Phase.CONNECT, "refused", "nothing listens", "see there")
    report(tmp_path / "b.json", replace(of("n2"), failure=failed), at="2026-01-02T03:05:00+00:00")
    report(tmp_path / "a.json", of("n1"))
    known, notes = witnesses([tmp_path])
    first, second = known.values()
    assert first.seen is not None
    assert (first.seen.by_prefix, first.seen.generation) == (True, None)
    assert second.seen is None
    assert failed in second.events
    assert "2026-01-02T03:04:05+00:00 to 2026-01-02T03:05:00+00:00" in notes[0]


def test_of_one_host_the_last_word_counts(tmp_path: Path) -> None:
    new = replace(FACTS, conda=())
    files = [
        report(tmp_path / "new.json", of("n1", new), at="2026-01-03T00:00:00+00:00"),
        report(tmp_path / "old.json", of("n1")),
    ]
    for order in (files, files[::-1]):
        known, notes = witnesses(order)
        seen = known[Host("n1")].seen
        assert seen is not None
        assert seen.facts == new
        assert "n1 was seen more than once: that of 2026-01-03" in notes[0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "[" * 100_000,
        '{"command": "push", "result": {"hosts": []}}',
        '{"command": "verify", "result": null}',
        '{"command": "verify", "result": {"hosts": []}}',
        '{"command": "verify", "result": {"hosts": ["n1"]}}',
        '{"command": "verify", "result": {"hosts": [{"host": "-oProxyCommand=x"}]}}',
        '{"command": "verify", "result": {"hosts": [{"host": "n1", "notes": [], "facts": {}}]}}',
    ],
    ids=lambda text: text[:60],
)
def test_what_is_no_report_is_refused_with_its_name(text: str, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        witnesses([file])
    assert str(file) in str(caught.value)


def test_half_a_report_is_refused(tmp_path: Path) -> None:
    text = report(tmp_path / "x.json", of("n1")).read_text()
    half = json.loads(text)
    del half["result"]["hosts"][0]["facts"]["conda"]
    for broken in (text[: len(text) // 2], json.dumps(half)):
        (tmp_path / "x.json").write_text(broken)
        with pytest.raises(InputError):
            witnesses([tmp_path])


def test_empty_folders_and_different_environments_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no report in this folder"):
        witnesses([tmp_path])
    report(tmp_path / "a.json", of("n1"))
    report(tmp_path / "b.json", of("n2"), name="y")
    with pytest.raises(InputError, match="different environments: x, y"):
        witnesses([tmp_path])


def run(*words: str) -> tuple[int, Any]:
    out = io.StringIO()
    code = guarded(app, ["verify", *words, "--json"], out)
    return code, out.getvalue()


def test_nodes_that_were_seen_apart_are_judged_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = replace(FACTS, conda=(replace(FACTS.conda[0], version="2.0.0"),))
    newer = replace(FACTS, wide=Wide(system=System(kernel="6.8")))
    for host, facts in {"n1": FACTS, "n2": newer, "n3": other, "n4": FACTS}.items():
        report(tmp_path / f"{host}.json", of(host, facts))
    lock = Lock(
        (
            Section(
                Platform("linux-64"),
                "",
                (LockedPackage("https://c.test/linux-64/numpy-1.26.4-0.conda", "a" * 32),),
                (f"einops==0.8.0 --hash=sha256:{'b' * 64}",),
            ),
        )
    )
    file = tmp_path / "x.lock"
    file.write_text(format_lock(lock))
    code, _ = run("--seen", str(tmp_path), "-f", str(file))
    result = json.loads(capsys.readouterr().out)["result"]
    assert code == 1
    found = {(each["host"], each["cause"], each["what"]) for each in result["findings"]}
    assert found == {("n3", "not-locked", "numpy")}
    assert [each["host"] for each in result["hosts"]] == ["n1", "n2", "n3", "n4"]
    assert {each["name"] for each in result["differences"]} == {"numpy", "kernel"}
    (tmp_path / "n3.json").unlink()
    assert run("--seen", str(tmp_path), "-f", str(file))[0] == 0


def test_words_that_ask_hosts_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report(tmp_path / "a.json", of("n1"))
    for words in (["--numeric"], ["--deep"], ["--watch", "3"], ["--prefix", "/x"]):
        assert run(*words, "--seen", str(tmp_path))[0] == 2
        assert "--seen asks no host" in capsys.readouterr().err


def test_host_that_should_have_been_seen_has_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for host in ("n1", "n2", "n3"):
        report(tmp_path / f"{host}.json", of(host))
    code, _ = run("n[1-2],n9", "--seen", str(tmp_path))
    result = json.loads(capsys.readouterr().out)["result"]
    assert code == 1
    found = [
        (each["host"], each["failure"] and each["failure"]["cause"]) for each in result["hosts"]
    ]
    assert found == [("n1", None), ("n2", None), ("n9", "not-seen")]
    assert run("--seen", str(tmp_path), "--limit", "n[2-3]")[0] == 0
    result = json.loads(capsys.readouterr().out)["result"]
    assert [each["host"] for each in result["hosts"]] == ["n2", "n3"]
