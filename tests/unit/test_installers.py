"""What an installer says of itself, what its publisher says of it, and what becomes of settings."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from envsync.errors import InputError
from envsync.installers import (
    PUBLISHERS,
    Flavour,
    check_channels,
    check_prefix,
    condarc,
    consented,
    identify,
    published_sum,
)

SUM = "ab" * 32
OTHER = "cd" * 32
# The form of the page of repo.anaconda.com/miniconda, with made-up files.
TABLE = f"""
<table><tr><th>Filename</th><th>Size</th><th>Last Modified</th><th>SHA256</th></tr>
<tr><td><a href="Miniconda3-latest-Linux-x86_64.sh">Miniconda3-latest-Linux-x86_64.sh</a></td>
<td class="s">150M</td><td>2026-01-01</td><td>{SUM}</td></tr>
<tr><td><a href="Miniconda3-latest-Linux-x86.sh">Miniconda3-latest-Linux-x86.sh</a></td>
<td class="s">62M</td><td>2018-01-01</td><td>{OTHER}</td></tr></table>
"""


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Miniconda3-latest-Linux-x86_64.sh", SUM),
        ("Miniconda3-latest-Linux-x86.sh", OTHER),
        ("Miniconda3-latest-Linux-aarch64.sh", ""),
        ("latest-Linux-x86.sh", ""),
    ],
)
def test_sum_in_a_table(name: str, found: str) -> None:
    assert published_sum(TABLE, name, table=True) == found


@pytest.mark.parametrize("text", [f"{SUM}  x.sh\n", f"{SUM.upper()}\n", f"SHA256 (x.sh) = {SUM}"])
def test_sum_in_a_file(text: str) -> None:
    assert published_sum(text, "x.sh", table=False) == SUM
    assert published_sum("<html>not found</html>", "x.sh", table=False) == ""


def test_header_says_platform_and_flavour() -> None:
    head = (
        b"#!/bin/sh\n#\n# NAME:  Miniforge3\n# VER:   26.3.2-0\n# PLAT:  linux-aarch64\n# MD5: 1\n"
    )
    found = identify(Path("x.sh"), head, SUM, 9)
    assert (found.flavour, found.subdir, found.kind) == (
        Flavour.MINIFORGE,
        "linux-aarch64",
        "shell",
    )
    assert found.label == "Miniforge3 26.3.2-0"
    for name in (b"Miniconda3", b"Anaconda3"):
        assert identify(Path("x"), head.replace(b"Miniforge3", name), SUM, 9).flavour == "miniconda"


@pytest.mark.parametrize(
    ("machine", "subdir"), [(62, "linux-64"), (183, "linux-aarch64"), (21, "linux-ppc64le")]
)
def test_program_says_its_machine(machine: int, subdir: str) -> None:
    head = b"\x7fELF\x02\x01\x01" + bytes(11) + machine.to_bytes(2, "little")
    found = identify(Path("micromamba"), head, SUM, 9)
    assert (found.flavour, found.subdir, found.kind) == (Flavour.MICROMAMBA, subdir, "program")


@pytest.mark.parametrize(
    "head", [b"", b"<html>", b"#!/bin/sh\necho hello\n", b"\x7fELF" + bytes(30), b"BZh91AY&SY"]
)
def test_what_is_no_installer(head: bytes) -> None:
    with pytest.raises(InputError):
        identify(Path("x"), head, SUM, 9)


def test_names_of_published_files() -> None:
    names = {flavour: each.file("linux-64") for flavour, each in PUBLISHERS.items()}
    assert names == {
        "miniforge": "Miniforge3-Linux-x86_64.sh",
        "miniconda": "Miniconda3-latest-Linux-x86_64.sh",
        "micromamba": "micromamba-linux-64",
    }
    assert PUBLISHERS[Flavour.MINIFORGE].file("osx-arm64") == "Miniforge3-MacOSX-arm64.sh"
    with pytest.raises(InputError, match="nobody publishes"):
        PUBLISHERS[Flavour.MINIFORGE].file("linux-32")


def test_terms_are_accepted_by_the_user_alone() -> None:
    with pytest.raises(InputError, match="yours"):
        consented(Flavour.MINICONDA, accepted=False)
    consented(Flavour.MINICONDA, accepted=True)
    consented(Flavour.MINIFORGE, accepted=False)


def test_settings_of_the_installer_stay_and_channels_are_replaced() -> None:
    before = "channels:\n  - conda-forge\nsolver: libmamba\n"
    assert yaml.safe_load(condarc(before, [])) == {
        "channels": ["conda-forge"],
        "solver": "libmamba",
        "auto_activate_base": False,
    }
    mirror = ["https://mirror.example/conda-forge"]
    assert yaml.safe_load(condarc(before, mirror))["channels"] == mirror
    assert yaml.safe_load(condarc("", ())) == {"auto_activate_base": False}
    for broken in ("- a\n", "a: [", "just words", "a: " + "[" * 20_000):
        with pytest.raises(ValueError, match="cannot be read"):
            condarc(broken, ())


@pytest.mark.parametrize(
    "channel", ["https://me:secret@host/c", "https://host/t/secret/c", "", "a\nssl_verify: false"]
)
def test_channels_that_may_not_stand_in_a_condarc(channel: str) -> None:
    with pytest.raises(InputError) as caught:
        check_channels([channel])
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "prefix", ["conda", "~", "~/", "/", "/a b", "/a/../b", "~jo/x", "", "/a\nb"]
)
def test_prefixes_that_are_none(prefix: str) -> None:
    with pytest.raises(InputError, match="--prefix"):
        check_prefix(prefix)


@pytest.mark.parametrize("prefix", ["~/conda", "/opt/conda", "/scratch/jo/miniforge3/"])
def test_prefixes(prefix: str) -> None:
    check_prefix(prefix)
