"""Node sets as ClusterShell and Slurm write them, groups of groups.conf among them."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from envsync.errors import InputError
from envsync.inventory.nodeset import hosts_of
from envsync.inventory.reading import MOST_HOSTS


def wrong(message: str, hint: str = "") -> InputError:
    return InputError(message, hint=hint)


def names(word: str) -> list[str]:
    return [host.name for host in hosts_of(word, MOST_HOSTS, wrong)]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("gpu[1-4]!gpu2", ["gpu1", "gpu3", "gpu4"]),
        ("gpu[1-4]!gpu[2-3],a1", ["a1", "gpu1", "gpu4"]),
        ("gpu[1-4]&gpu[3-9]", ["gpu3", "gpu4"]),
        ("gpu[1-2]^gpu[2-3]", ["gpu1", "gpu3"]),
        ("rack[1-2]n[09-10]", ["rack1n09", "rack1n10", "rack2n09", "rack2n10"]),
        ("tux[1-2],login", ["tux1", "tux2", "login"]),
        ("n[001-003/2]", ["n001", "n003"]),
        ("dgx-[1,3].local", ["dgx-1.local", "dgx-3.local"]),
    ],
)
def test_sets(word: str, expected: list[str]) -> None:
    assert names(word) == expected


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("gpu[1-4]!", "not a node set"),
        ("!gpu1", "not a node set"),
        ("root@gpu[1-4]!gpu1", "user or a port"),
        ("gpu[1-4]!gpu1:2222", "user or a port"),
        ("gpu1!gpu1", "stands for no host"),
        ("@", "not a group"),
        ("@$(id)", "not a group"),
        ("@a;b", "not a group"),
        ("gpu[1-9999999]!gpu1", "more than 65536"),
    ],
)
def test_what_is_no_set_is_refused(word: str, says: str) -> None:
    started = time.monotonic()
    with pytest.raises(InputError, match=says) as caught:
        names(word)
    assert caught.value.hint or "more than" in says or "no host" in says
    assert time.monotonic() - started < 8


GROUPS = """
import sys
from pathlib import Path
from envsync.errors import InputError
from envsync.inventory import parse_inventory
try:
    print(*(host.name for host in parse_inventory(sys.argv[1], source="h").hosts))
except InputError as error:
    print(error, "|", error.hint)
"""


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("@gpu", "gpu1 gpu2 gpu3"),
        ("@gpu!@broken", "gpu1 gpu3"),
        ("@racks:r1", "gpu1 login1"),
        ("@gpu,login1", "gpu1 gpu2 gpu3 login1"),
        ("@nobody", "h:1: @nobody stands for no host | `nodeset -LL` shows the groups"),
        ("@nowhere:gpu", "h:1: '@nowhere:gpu' is not a node set"),
    ],
)
def test_groups_of_clustershell(tmp_path: Path, word: str, expected: str) -> None:
    (tmp_path / "groups.conf").write_text("[Main]\ndefault: site\nautodir: $CFGDIR/groups.d\n")
    (tmp_path / "groups.d").mkdir()
    (tmp_path / "groups.d" / "site.yaml").write_text(
        "site:\n  gpu: gpu[1-3]\n  broken: gpu2\nracks:\n  r1: gpu1,login1\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", GROUPS, word],
        env={"CLUSTERSHELL_CFGDIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip().startswith(expected)
    assert not done.stderr
