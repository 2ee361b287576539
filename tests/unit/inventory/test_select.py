"""--limit, --exclude and --failed: which hosts are left."""

from __future__ import annotations

from pathlib import Path

import pytest

from envsync.errors import InputError
from envsync.inventory import Choice, parse_inventory, select
from envsync.model import Host

INVENTORY = parse_inventory(
    "[gpu]\ngpu[01:04]\nlogin1.cluster ansible_user=ops ansible_port=2222\n[cpu]\ncpu1\n",
    source="h",
)


def left(*limit: str, exclude: tuple[str, ...] = ()) -> list[str]:
    return [host.name for host in select(INVENTORY, Choice(limit, exclude)).hosts]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("gpu01",), ["gpu01"]),
        (("gpu[02-03]",), ["gpu02", "gpu03"]),
        (("gpu*",), ["gpu01", "gpu02", "gpu03", "gpu04"]),
        (("login1",), ["login1.cluster"]),
        (("ops@login1.cluster:2222",), ["login1.cluster"]),
        (("cpu",), ["cpu1"]),
        (("@cpu", "gpu0[1-2]"), ["gpu01", "gpu02", "cpu1"]),
        (("gpu[01-04]!gpu02",), ["gpu01", "gpu03", "gpu04"]),
        (("gpu01,cpu?",), ["gpu01", "cpu1"]),
    ],
)
def test_limit(words: tuple[str, ...], names: list[str]) -> None:
    assert left(*words) == names


def test_exclude_wins() -> None:
    assert left("gpu*", exclude=("gpu02", "gpu04")) == ["gpu01", "gpu03"]
    assert left(exclude=("cpu",)) == ["gpu01", "gpu02", "gpu03", "gpu04", "login1.cluster"]


def test_words_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "some").write_text("# ours\ngpu01\n\ngpu0[3-4]\n")
    assert left(f"^{tmp_path}/some") == ["gpu01", "gpu03", "gpu04"]
    with pytest.raises(InputError, match="cannot be read"):
        left(f"^{tmp_path}/other")


def test_failed_ones_in_the_order_of_the_inventory() -> None:
    failed = (Host("gpu03"), Host("gpu01"), Host("gone"))
    chosen = select(INVENTORY, Choice(failed=failed)).hosts
    assert [host.name for host in chosen] == ["gpu01", "gpu03"]


@pytest.mark.parametrize(
    ("choice", "says"),
    [
        (Choice(("gpu09",)), "'gpu09' is none"),
        (Choice((), ("gpu9*",)), "'gpu9[*]' is none"),
        (Choice(("",)), "empty"),
        (Choice(("a;b",)), "not a host name"),
        (Choice(("gpu01",), ("gpu*",)), "no host is left"),
        (Choice(failed=()), "no host is left"),
    ],
)
def test_slip_is_an_error(choice: Choice, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        select(INVENTORY, choice)
    assert caught.value.hint
