"""Inventories as people write them, and those that nobody should be able to write."""

from __future__ import annotations

import io
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envsync.errors import InputError
from envsync.inventory import display_names, fold_names, parse_inventory, read_inventory, resolve
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
        "gpu[1-2]!gpu1",
        "gpu01:0",
        "gpu01:70000",
        "gpu01:ssh",
        "gpu01:",
        "user name@gpu01",
        "gpu01 slots=8",
        "[::1",
        "[nonsense:1]",
        "a" * 300,
        "gpu.",
    ],
)
def test_what_is_no_host_is_refused_with_its_line(line: str) -> None:
    error = refused(f"good\n{line}\n")
    assert error.line == 2
    assert error.hint


def test_huge_range_is_refused_before_it_is_unfolded() -> None:
    started = time.monotonic()
    error = refused("gpu[1-999999999]\n")
    assert "65536" in error.message
    refused("r[1-9999]n[1-9999]\n")
    assert time.monotonic() - started < 1


def test_many_ranges_count_together() -> None:
    assert refused("a[1-60000]\nb[1-6000]\n").line == 2


def test_empty_inventory_is_an_error() -> None:
    assert "names no host" in refused("# nothing\n").message


def test_missing_file_and_odd_bytes(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no inventory file"):
        read_inventory(str(tmp_path / "nope"), io.StringIO())
    (tmp_path / "bin").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="UTF-8"):
        read_inventory(str(tmp_path / "bin"), io.StringIO())
    with pytest.raises(InputError, match="cannot be read"):
        read_inventory(str(tmp_path), io.StringIO())


def test_closed_standard_input_is_a_sentence() -> None:
    with pytest.raises(InputError, match="closed"):
        read_inventory("-", None)


def test_dash_reads_standard_input() -> None:
    assert read_inventory("-", io.StringIO("gpu01\n")).hosts == (Host("gpu01"),)


CLUSTER = (Host("gpu1.a"), Host("gpu2.a"), Host("gpu2.b"), Host("n", port=1), Host("n", port=2))


@pytest.mark.parametrize(
    ("word", "host"),
    [("gpu1", CLUSTER[0]), ("gpu2.b", CLUSTER[2]), ("n:2", CLUSTER[4]), ("gpu1.a", CLUSTER[0])],
)
def test_short_names_that_fit_one_host(word: str, host: Host) -> None:
    assert resolve(CLUSTER, word) == host


@pytest.mark.parametrize(
    ("word", "said"), [("gpu2", "gpu2.a or gpu2.b"), ("n", "n:1 or n:2"), ("zzz", "not a host")]
)
def test_short_names_that_do_not(word: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        resolve(CLUSTER, word)


def test_near_match_is_suggested() -> None:
    with pytest.raises(InputError) as caught:
        resolve([Host("gpu01"), Host("cpu99")], "gpu1")
    assert "gpu01" in caught.value.hint


def test_labels_are_as_short_as_they_can_be() -> None:
    same = (Host("n", "a", 1), Host("n", "b", 1), Host("n", "a", 2), Host("m", "a", 9))
    assert list(display_names(same).values()) == ["a@n:1", "b@n:1", "n:2", "m"]


def test_names_fold() -> None:
    assert fold_names(["gpu01", "gpu02", "gpu04", "login"]) == "gpu[01-02,04],login"
    assert fold_names(["gpu01"]) == "gpu01"
    assert fold_names(["10.0.0.2", "10.0.0.3", "10.0.1.3"]) == "10.0.0.[2-3],10.0.1.3"
    assert fold_names(["127.0.0.2", "127.0.0.3:22"]) == "127.0.0.2,127.0.0.3:22"
    assert fold_names(["r1n1", "r1n2", "r2n1", "r2n2"]) == "r[1-2]n[1-2]"


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=st.sampled_from("ag0129[]-:,@/.#!&^ \n\t;$*"), max_size=30) | st.text())
def test_any_text_is_an_inventory_or_a_clear_error(text: str) -> None:
    try:
        inventory = parse_inventory(text, source="h")
    except InputError as error:
        assert error.message  # noqa: PT017 (either outcome is right)
    else:
        assert inventory.hosts
        fold_names(display_names(inventory.hosts).values())
