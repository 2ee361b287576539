"""Whether a lock fits on a node: what is certain, what is likely, and what nobody can know."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from envsync.flavours import Conda
from envsync.lock import LockedPackage, Section
from envsync.model import Host, Platform
from envsync.observation import Observation
from envsync.plan import Action, make_plan
from envsync.ports import Completed
from envsync.recipe import Recipe
from envsync.room import ask_cache, parse_cached, remark, shortage
from envsync.transport.local import LocalTransport

MIB = 2**20
BIG = LockedPackage("https://c.test/linux-64/big-1.0-0.conda", "a" * 32, size=100 * MIB)
SMALL = LockedPackage("https://c.test/linux-64/small-1.0-0.tar.bz2", "b" * 32, size=10 * MIB)
UNSIZED = LockedPackage("https://c.test/linux-64/old-1.0-0.conda", "c" * 32)
SECTION = Section(
    Platform("linux-64"), "", (BIG, SMALL, UNSIZED), (f"x==1 --hash=sha256:{'d' * 64}",)
)
CONDA = Conda("/r/bin/conda", "/r")
SEEN = Observation("/h", "a", "n", "linux-64", (), CONDA, "/r/envs", free_bytes=0)
BOTH = frozenset({"big-1.0-0", "small-1.0-0"})


@pytest.mark.parametrize(
    ("free", "cached", "refused", "told"),
    [
        (550, frozenset(), False, False),
        (549, frozenset(), False, True),
        (110, frozenset(), False, True),
        (109, frozenset(), True, True),
        (109, None, False, True),
        (10, frozenset({"big-1.0-0"}), False, True),
        (9, frozenset({"big-1.0-0"}), True, True),
        (50, frozenset({"big-1.0-0"}), False, False),
        (9, BOTH, False, False),
        (None, frozenset(), False, False),
    ],
)
def test_certain_shortage_is_refused_and_a_likely_one_told(
    free: int | None, cached: frozenset[str] | None, *, refused: bool, told: bool
) -> None:
    seen = replace(SEEN, free_bytes=None if free is None else free * MIB, cached=cached)
    assert bool(shortage(seen, SECTION)) is refused
    assert bool(remark(seen, SECTION)) is told


@pytest.mark.parametrize(("inodes", "refused"), [(None, False), (6, False), (5, True), (0, True)])
def test_each_package_takes_a_few_files_whatever_is_cached(
    inodes: int | None, *, refused: bool
) -> None:
    seen = replace(SEEN, free_bytes=10**12, free_inodes=inodes, cached=BOTH)
    assert bool(shortage(seen, SECTION)) is refused


def test_lock_without_sizes_refuses_nobody() -> None:
    section = replace(SECTION, conda=(UNSIZED,))
    seen = replace(SEEN, cached=frozenset())
    assert (shortage(seen, section), remark(seen, section)) == ("", "")


def test_only_a_host_that_has_to_build_is_judged_for_room() -> None:
    host = Host("n")
    recipes = {host: Recipe("abc", {}, SECTION)}
    tight = replace(SEEN, free_bytes=20 * MIB, cached=frozenset())
    (no,) = make_plan("x", recipes, {host: tight}).refusals
    assert (no.cause, "110.0 MiB" in no.message, bool(no.hint)) == ("disk-full", True, True)
    (step,) = make_plan("x", recipes, {host: replace(tight, sealed=("abc",))}).steps
    assert (step.action, step.remark) == (Action.SWITCH, "")
    (step,) = make_plan("x", recipes, {host: replace(tight, cached=None)}).steps
    assert (step.action, "may take 550.0 MiB" in step.remark) == (Action.BUILD, True)


def test_cache_is_asked_by_folder_names_and_may_not_answer() -> None:
    command = ask_cache(CONDA, SECTION)
    assert command.stdin == b"big-1.0-0\nsmall-1.0-0\nold-1.0-0\n"
    assert command.args == ("/r/bin/conda", "info", "--json")
    assert parse_cached(Completed(0, b"big-1.0-0\n")) == {"big-1.0-0"}
    assert parse_cached(Completed(0, b"")) == frozenset()
    assert parse_cached(Completed(1, b"")) is None


def test_every_cache_that_conda_names_is_looked_into(tmp_path: Path) -> None:
    exe = tmp_path / "it's a root" / "bin" / "conda"
    exe.parent.mkdir(parents=True)
    caches = [tmp_path / "one", tmp_path / "two caches"]
    (caches[1] / "big-1.0-0").mkdir(parents=True)
    caches[0].mkdir()
    (caches[0] / "small-1.0-0.tar.bz2").touch()
    answer = json.dumps({"pkgs_dirs": [str(cache) for cache in caches]}, indent=2)
    exe.write_text(f"#!/bin/sh\ncat <<'E'\n{answer}\nE\n")
    exe.chmod(0o755)
    connection = LocalTransport().connect(Host("here"))
    command = ask_cache(Conda(str(exe), str(tmp_path)), SECTION)
    assert parse_cached(connection.run(command)) == {"big-1.0-0"}
    exe.write_text("#!/bin/sh\nexit 1\n")
    assert parse_cached(connection.run(command)) is None
