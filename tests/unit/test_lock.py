"""The lock's text: the same for the same lock, and nothing but a lock is read as one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envsync.errors import InputError
from envsync.lock import Lock, LockedPackage, Section, digest, format_lock, parse_lock
from envsync.model import Package, Platform

A, B = "a" * 32, "b" * 64
LINUX = Platform("linux-64", "12.4", "2.36", "conda")
PYTHON = LockedPackage("https://c.test/linux-64/python-3.11.7-h_0.conda", A, B, 31_000_000)
SECTION = Section(
    LINUX,
    "conda 24.7.1",
    (PYTHON, LockedPackage("file:///a%20b/noarch/numpy-base-1.26.4-py_0.tar.bz2", A)),
    (f"einops==0.8.0 --hash=sha256:{B}", f"x @ https://w.test/x.whl --hash=sha256:{B}"),
    ("flash @ git+https://g.test/flash@0123abc",),
)
LOCK = Lock((SECTION,), (("environment.yml", digest(b"name: x\n")),))


def test_text_comes_back_as_it_went() -> None:
    assert parse_lock(format_lock(LOCK).encode(), "environment.lock") == LOCK


def test_lock_that_was_made_without_sizes_is_read() -> None:
    old = format_lock(LOCK).replace(" size:31000000", "")
    assert parse_lock(old.encode(), "environment.lock").sections[0].conda[0].size == 0


def test_one_package_a_line_and_order_kept() -> None:
    lines = format_lock(LOCK).splitlines()
    assert f"  - {PYTHON.url}#{A} sha256:{B} size:31000000" in lines
    assert sum("numpy-base" in line for line in lines) == 1


def test_what_a_node_holds_that_installed_it() -> None:
    assert SECTION.packages == (
        Package("conda", "python", "3.11.7", "h_0", digest=A),
        Package("conda", "numpy-base", "1.26.4", "py_0", digest=A),
        Package("pip", "einops", "0.8.0", channel="pypi"),
        Package("pip", "x", "?", channel="pypi", origin="https://w.test/x.whl"),
        Package("pip", "flash", "?", channel="pypi", origin="?"),
    )


def test_sections_have_an_order_of_their_own_whatever_was_solved_first() -> None:
    other = replace(SECTION, platform=Platform("linux-64", "", "2.36", "conda"))
    assert Lock(()).extended([SECTION, other]) == Lock(()).extended([other, SECTION])
    again = replace(SECTION, solver="conda 25.1")
    assert LOCK.extended([again]).sections == (again,)


@pytest.mark.parametrize(
    ("platform", "node", "covers"),
    [
        (LINUX, LINUX, True),
        (LINUX, replace(LINUX, cuda="12.6"), False),
        (LINUX, replace(LINUX, flavour="mamba"), False),
        (Platform("linux-64"), LINUX, True),
        (Platform("osx-arm64"), LINUX, False),
        (Platform("linux-64", ""), LINUX, False),
    ],
)
def test_which_nodes_a_section_is_for(platform: Platform, node: Platform, *, covers: bool) -> None:
    assert platform.covers(node) is covers


def test_lock_of_a_changed_or_missing_file_says_why_it_is_not_used() -> None:
    assert LOCK.stale({"environment.yml": b"name: x\n"}) == ""
    assert "environment.yml has changed" in LOCK.stale({"environment.yml": b"name: y\n"})
    assert "made with environment.yml" in LOCK.stale({})
    assert Lock((SECTION,)).stale({"anything": b""}) == ""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("envsync-lock: 1", "envsync-lock: 2", "version 2"),
        ("- subdir: linux-64\n", "- cuda: '1'\n", "no `subdir:`"),
        (f"#{A} sha256:{B}", "", "its hash"),
        (f"  - {PYTHON.url}", "  - --upgrade", "is not the address"),
        ("python-3.11.7-h_0", "python", "not the address of a conda package"),
        ("python-3.11.7", "..%2F..%2Fetc%2Fx-3.11.7", "not the address of a conda package"),
        ("python-3.11.7", "%0Apython-3.11.7", "not the address of a conda package"),
        ("python-3.11.7", "%1b[2Jpython-3.11.7", "not the address of a conda package"),
        ("linux-64/python", "%2e%2E/python", "not the address of a conda package"),
        ("einops==0.8.0 --hash", "-r x --hash", "not a locked requirement"),
        (f"einops==0.8.0 --hash=sha256:{B}", "einops==0.8.0", "not a locked requirement"),
        ("flash @ git+", "-e git+", "not a locked requirement"),
        ("sections:", "section:", "a list is missing"),
    ],
)
def test_anything_else_is_refused_with_its_line(old: str, new: str, said: str) -> None:
    text = format_lock(LOCK)
    assert old in text
    with pytest.raises(InputError, match=said) as caught:
        parse_lock(text.replace(old, new, 1).encode(), "environment.lock")
    assert caught.value.file == "environment.lock"
    assert caught.value.hint
    if new and new.strip("- \n") in text.replace(old, new, 1):
        assert caught.value.line > 0 or said == "a list is missing"


@pytest.mark.parametrize("text", ["", "x", "- a\n", "a: b\n"])
def test_what_is_no_lock_at_all(text: str) -> None:
    with pytest.raises(InputError):
        parse_lock(text.encode(), "environment.lock")
