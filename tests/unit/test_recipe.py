"""What a node gets to build from, and what its generation is called."""

from __future__ import annotations

import json
from dataclasses import replace

from envsync.flavours import Conda
from envsync.generations import Slot
from envsync.lock import LockedPackage, Section, parse_lock
from envsync.model import Platform
from envsync.recipe import locked, remembered, requirements, unlocked
from envsync.spec import parse_environment

SPEC = parse_environment(
    b"""name: x
channels: [https://me:pw@c.test/t/tk-1/private, conda-forge]
dependencies:
  - python=3.11
  - pip
  - pip:
    - --extra-index-url https://u:p@pypi.test/simple
    - einops==0.8.0
    - flash @ git+https://tok@g.test/flash@main
variables: {KEY: 'a b; c'}
""",
    "environment.yml",
)
SECTION = Section(
    Platform("linux-64"),
    "conda 24.7.1",
    (
        LockedPackage("https://c.test/private/linux-64/python-3.11.7-0.conda", "a" * 32),
        LockedPackage("https://other.test/noarch/pip-24-0.conda", "", "b" * 64),
    ),
    (f"einops==0.8.0 --hash=sha256:{'c' * 64}",),
    ("flash @ git+https://g.test/flash@0123abc",),
)
SLOT = Slot("/e", "x", "abc")


def text(suffix: str) -> str:
    return locked(SPEC, SECTION).files[suffix].decode()


def test_credentials_are_put_back_for_the_tools_of_the_node() -> None:
    assert text("explicit.txt").splitlines() == [
        "@EXPLICIT",
        f"https://me:pw@c.test/t/tk-1/private/linux-64/python-3.11.7-0.conda#{'a' * 32}",
        f"https://other.test/noarch/pip-24-0.conda#sha256:{'b' * 64}",
    ]
    assert text("pip.txt").splitlines() == [
        "--extra-index-url https://u:p@pypi.test/simple",
        f"einops==0.8.0 --hash=sha256:{'c' * 64}",
    ]
    assert text("direct.txt").splitlines()[1] == "flash @ git+https://tok@g.test/flash@0123abc"


def test_lock_beside_the_prefix_has_none() -> None:
    assert parse_lock(text("lock").encode(), "x").sections == (SECTION,)
    assert not any(secret in text("lock") for secret in ("pw", "tk-1", "tok@"))


def test_variables_are_kept_as_conda_keeps_them() -> None:
    assert json.loads(text("state")) == {"env_vars": {"KEY": "a b; c"}}


def test_id_is_that_of_what_is_installed_and_not_of_the_file() -> None:
    plain = locked(SPEC, SECTION)
    assert locked(replace(SPEC, raw=SPEC.raw + b"# a comment\n"), SECTION) != plain
    assert (
        locked(replace(SPEC, raw=SPEC.raw + b"# a comment\n"), SECTION).generation
        == plain.generation
    )
    for other in (
        locked(SPEC, replace(SECTION, pip=())),
        locked(SPEC, replace(SECTION, conda=SECTION.conda[:1])),
        locked(SPEC, replace(SECTION, direct=("flash @ git+https://g.test/flash@4567def",))),
        locked(replace(SPEC, variables=()), SECTION),
    ):
        assert other.generation != plain.generation
    assert locked(SPEC, replace(SECTION, solver="mamba 2")).generation == plain.generation


def test_nothing_is_sent_that_is_not_needed() -> None:
    bare = replace(SECTION, pip=(), direct=())
    assert set(locked(replace(SPEC, variables=()), bare).files) == {"yml", "lock", "explicit.txt"}
    assert dict(unlocked(SPEC).files) == {"yml": SPEC.raw}


def test_command_is_that_of_the_flavour() -> None:
    recipe = locked(SPEC, SECTION)
    conda, micromamba = Conda("/c/bin/conda", "/c"), Conda("/m/bin/micromamba", "/m")
    assert recipe.argv(conda, SLOT) == (
        "/c/bin/conda", "create", "--yes", "--no-default-packages",
        "--prefix", SLOT.prefix, "--file", f"{SLOT.prefix}.explicit.txt",
    )  # fmt: skip
    assert recipe.argv(micromamba, SLOT)[-1] == f"{SLOT.prefix}.explicit.txt"
    assert "--no-default-packages" not in recipe.argv(micromamba, SLOT)
    assert unlocked(SPEC).argv(conda, SLOT)[1:3] == ("env", "create")


def test_pip_is_asked_with_the_options_of_the_file() -> None:
    assert requirements(SPEC, ["einops==0.8.0"]).splitlines() == [
        "--extra-index-url https://u:p@pypi.test/simple",
        "einops==0.8.0",
    ]


def test_files_with_a_credential_are_replaced_once_they_are_not_needed() -> None:
    text = "name: x\nchannels: [https://u:hunter2@c.test/t/hunter3/x]\ndependencies: [python]\n"
    spec = parse_environment(text.encode(), "environment.yml")
    other = parse_environment(text.replace("hunter", "rotated").encode(), "environment.yml")
    recipe = unlocked(spec)
    assert recipe.files["yml"] == spec.raw
    assert b"hunter" not in recipe.kept["yml"]
    assert recipe.generation == unlocked(other).generation
    again = parse_environment(recipe.kept["yml"], "environment.yml")
    assert unlocked(again).generation == recipe.generation


def test_files_without_a_credential_stay_as_they_are() -> None:
    raw = "name: x\nchannels: [c]\ndependencies: [python]\n".encode("utf-16")
    recipe = unlocked(parse_environment(raw, "environment.yml"))
    assert (recipe.clean, recipe.kept) == ({}, {"yml": raw})


def test_variable_that_holds_a_credential_is_part_of_the_environment() -> None:
    text = "name: x\nchannels: [c]\ndependencies: [python]\nvariables: {P: 'http://u:pw@h'}\n"
    spec = parse_environment(text.encode(), "environment.yml")
    assert remembered(spec) == spec.raw
    assert not unlocked(spec).clean
