"""Short names that mean one host, and many hosts as one short text."""

from __future__ import annotations

import pytest

from envsync.errors import InputError
from envsync.hostnames import display_names, fold_names, resolve
from envsync.model import Host

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


def test_short_name_counts_as_a_near_match() -> None:
    with pytest.raises(InputError) as caught:
        resolve([Host("node1.cluster.local"), Host("login.cluster.local")], "noed1")
    assert caught.value.hint == "did you mean node1?"


def test_first_number_of_an_address_is_no_short_name() -> None:
    with pytest.raises(InputError, match="not a host"):
        resolve([Host("10.0.0.7")], "10")


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
    assert fold_names(["gpu1:22", "gpu2:22", "gpu2:44"]) == "gpu[1-2]:22,gpu2:44"
    assert fold_names(["a@gpu1:22", "a@gpu2:22", "n1"]) == "a@gpu[1-2]:22,n1"
    assert fold_names(["10.0.0.2:22", "10.0.0.3:22", "10.0.1.3:22"]) == (
        "10.0.0.[2-3]:22,10.0.1.3:22"
    )
    assert fold_names(["r1n1", "r1n2", "r2n1", "r2n2"]) == "r[1-2]n[1-2]"


def test_names_that_clustershell_cannot_fold_stand_as_they_are() -> None:
    long = "n" + "9" * 101
    assert fold_names([long, "n1"]) == f"{long},n1"
