"""Inventories as people write them, and those that nobody should be able to write."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envsync.errors import InputError
from envsync.hostnames import display_names, fold_names, resolve
from envsync.inventory import parse_inventory, read_inventory
from envsync.model import Host


def hosts(text: str) -> list[Host]:
    return list(parse_inventory(text, source="hosts.txt").hosts)


def refused(text: str) -> InputError:
    with pytest.raises(InputError) as caught:
        hosts(text)
    assert caught.value.file == "hosts.txt"
    return caught.value


@pytest.mark.parametrize(
    ("line", "host"),
    [
        ("gpu01", Host("gpu01")),
        ("root@gpu01", Host("gpu01", "root")),
        ("gpu01:2222", Host("gpu01", "", 2222)),
        ("ops@node-1.cluster.local:22", Host("node-1.cluster.local", "ops", 22)),
        ("10.0.0.7", Host("10.0.0.7")),
        ("[fe80::1]:2222", Host("fe80::1", "", 2222)),
        ("ops@[2001:db8::7]", Host("2001:db8::7", "ops")),
        ("::1", Host("::1")),
        ("CORP\\jo@gpu01", Host("gpu01", "CORP\\jo")),
        ("jo@corp.example@gpu01", Host("gpu01", "jo@corp.example")),
        ("  gpu01   # the first\r", Host("gpu01")),
        ("\ufeffgpu01", Host("gpu01")),
    ],
)
def test_one_host(line: str, host: Host) -> None:
    assert hosts(line) == [host]


def test_comments_and_blank_lines_and_order() -> None:
    text = "# cluster\n\nb\n   \na # second\n"
    assert [host.name for host in hosts(text)] == ["b", "a"]


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("gpu[08-11]", ["gpu08", "gpu09", "gpu10", "gpu11"]),
        ("gpu[1,3-4]", ["gpu1", "gpu3", "gpu4"]),
        ("n[0-10/5]", ["n0", "n5", "n10"]),
        ("rack[1-2]n[01-02]", ["rack1n01", "rack1n02", "rack2n01", "rack2n02"]),
        ("gpu[1-2].local", ["gpu1.local", "gpu2.local"]),
    ],
)
def test_ranges(word: str, names: list[str]) -> None:
    assert [host.name for host in hosts(word)] == names


def test_range_with_user_and_port() -> None:
    assert hosts("ops@gpu[1-2]:2222") == [Host("gpu1", "ops", 2222), Host("gpu2", "ops", 2222)]


def test_duplicate_is_reported_with_both_lines_and_folded() -> None:
    inventory = parse_inventory("gpu01\ngpu[01-02]\n", source="h")
    assert [host.name for host in inventory.hosts] == ["gpu01", "gpu02"]
    assert [str(each) for each in inventory.warnings] == [
        "h:2: gpu01 is named twice; the first time in line 1"
    ]


@pytest.mark.parametrize(
    "line",
    [
        "x; touch /tmp/p",
        "-oProxyCommand=id",
        "$(id)",
        "`id`",
        "a|b",
        "a/b",
        "a@",
        "@group",
        "a&&b",
        "gpu[1-",
        "gpu[a-b]",
        "gpu[3-1]",
        "gpu01:0",
        "gpu01:70000",
        "gpu01:ssh",
        "gpu01:",
        "user name@gpu01",
        "[::1",
        "[nonsense:1]",
        "a" * 300,
        "a" * 64,
        "gpu.",
        "gpu1..3",
        "[fe80::1%$(id)]",
        "fe80::1%e;x",
        "10.1",
        "300.1.1.1",
        "10.0.0.[254-256]",
        "u@@gpu01",
        "-u@gpu01",
        "u@-gpu01",
        "$(id)@gpu01",
        "gpu[\x1b[31m]",
    ],
)
def test_what_is_no_host_is_refused_with_its_line(line: str) -> None:
    error = refused(f"good\n{line}\n")
    assert error.line == 2
    assert error.hint


@pytest.mark.parametrize("line", ["gpu[\x1b[31m]", "gpu\x1b[31m", "a\x1b b\x1b", "u\x1b@a"])
def test_message_has_no_control_characters(line: str) -> None:
    error = refused(line)
    assert (error.message + error.hint).isprintable()


@pytest.mark.parametrize(
    "line",
    ["u:hunter2@gpu01", "ssh://u:hunter2@gpu01:22", "gpu01 password=hunter2"],
)
def test_password_is_refused_and_not_repeated(line: str) -> None:
    error = refused(line)
    assert "hunter2" not in str(error) + error.hint


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("2001:db8::7:22", "write [2001:db8::7:22] or [2001:db8::7]:22"),
        ("1:2:3:4:5:6:7:8:22", "write [1:2:3:4:5:6:7:8]:22"),
    ],
)
def test_bare_ipv6_that_may_end_in_a_port(line: str, hint: str) -> None:
    assert refused(line).hint == hint


@pytest.mark.parametrize("line", ["::1", "fe80::1%eth0", "2001:db8::7", "1:2:3:4:5:6:7:8"])
def test_bare_ipv6_that_cannot(line: str) -> None:
    assert hosts(line) == [Host(line)]


def test_several_wrong_lines_are_counted() -> None:
    error = refused("a;\nb\nc;\nd;\n")
    assert (error.line, error.message) == (
        1,
        "'a;' is not a host name (and 2 more lines are wrong)",
    )
    assert "(and 1 more line is wrong)" in refused("a;\nb;\n").message


def test_lines_count_as_in_an_editor() -> None:
    assert refused("a\r\nb\rc\nd;").line == 4
    assert refused("a\u2028b").line == 1


def test_two_equal_ranges_are_one_warning() -> None:
    inventory = parse_inventory("gpu[1-1000]\ngpu[1-1000]\n", source="h")
    assert [str(each) for each in inventory.warnings] == [
        "h:2: gpu1 and 999 more are named twice; the first time in line 1"
    ]


def test_padding_of_a_range_is_explained() -> None:
    assert "[008-120]" in refused("gpu[08-120]").hint


def test_the_limit_holds_for_the_last_host_too() -> None:
    assert len(hosts("a[1-65535]\nb\n")) == 65536
    assert refused("a[1-65536]\nb\n").line == 2
    assert refused("a[1-65536]\nb\nc\n").message.endswith("more than 65536")


def test_huge_range_is_refused_before_it_is_unfolded() -> None:
    started = time.monotonic()
    error = refused("gpu[1-999999999]\n")
    assert "65536" in error.message
    refused("r[1-9999]n[1-9999]\n")
    assert time.monotonic() - started < 5


def test_many_ranges_count_together() -> None:
    assert refused("a[1-60000]\nb[1-6000]\n").line == 2


def test_empty_inventory_is_an_error() -> None:
    assert "names no host" in refused("# nothing\n").message


@pytest.mark.parametrize("line", ["node1:8", "node1:64", "root@node1:1"])
def test_number_of_processes_is_no_port(line: str) -> None:
    error = refused(line)
    assert "MPICH" in error.message
    assert "slots=" in error.hint


def test_file_that_powershell_wrote(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_bytes("gpu01\r\ngpu02\r\n".encode("utf-16"))
    found = read_inventory(str(tmp_path / "hosts"), None)
    assert found.hosts == (Host("gpu01"), Host("gpu02"))


def test_missing_file_and_odd_bytes(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no inventory file"):
        read_inventory(str(tmp_path / "nope"), io.StringIO())
    with pytest.raises(InputError, match="no inventory file"):
        read_inventory("hots.txt", io.StringIO())
    (tmp_path / "bin").write_bytes(b"gpu01\n\xff\x00")
    with pytest.raises(InputError, match="UTF-8"):
        read_inventory(str(tmp_path / "bin"), io.StringIO())
    with pytest.raises(InputError, match="cannot be read"):
        read_inventory(str(tmp_path), io.StringIO())


def test_name_with_a_zero_byte_is_a_sentence() -> None:
    with pytest.raises(InputError, match="no file name"):
        read_inventory("a\0b", None)


def test_standard_input_that_is_no_text_is_a_sentence() -> None:
    with pytest.raises(InputError, match="cannot be read as text"):
        read_inventory("-", io.TextIOWrapper(io.BytesIO(b"\xff"), encoding="utf-8"))


def test_closed_standard_input_is_a_sentence() -> None:
    with pytest.raises(InputError, match="closed"):
        read_inventory("-", None)


def test_dash_reads_standard_input() -> None:
    assert read_inventory("-", io.StringIO("gpu01\n")).hosts == (Host("gpu01"),)


BROKEN_SETTINGS = """
from envsync.errors import InputError
from envsync.hostnames import fold_names
from envsync.inventory import parse_inventory
assert fold_names(["n1", "n2"]) == "n1,n2"
try:
    parse_inventory("n[1-2]", source="h")
except InputError as error:
    print(error)
"""


def test_broken_settings_of_clustershell_are_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "defaults.conf").write_text("[nodeset]\nfold_axis: nonsense\n")
    done = subprocess.run(
        [sys.executable, "-c", BROKEN_SETTINGS],
        env={**os.environ, "CLUSTERSHELL_CFGDIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("h:1: n[1-2] cannot be unfolded: ClusterShell and its defaults")


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=st.sampled_from("ag0129[]-:,@/.#!&^ \n\t;$*"), max_size=30) | st.text())
def test_any_text_is_an_inventory_or_a_clear_error(text: str) -> None:
    try:
        inventory = parse_inventory(text, source="h")
    except InputError as error:
        assert error.message  # noqa: PT017 (either outcome is right)
    else:
        for host in inventory.hosts[:20]:
            assert str(resolve(inventory.hosts, str(host))) == str(host)
            assert host.address or hosts(str(host)) == [host]
            assert not set(str(host)) & set(" ;$&|`*!#/\t\n")
            assert not str(host).startswith("-")
        fold_names(display_names(inventory.hosts).values())
