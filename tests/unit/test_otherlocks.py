"""Locks of conda, conda-lock and pixi, read as our own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from envsync.errors import InputError
from envsync.lock import Lock, Section, format_lock, parse_lock
from envsync.otherlocks import read_other_lock

DATA = Path(__file__).parent / "data"
A, B = "a" * 32, "b" * 64
EXPLICIT = f"""\
# This file may be used to create an environment using:
# platform: linux-64
@EXPLICIT
https://u:p@c.test/t/tk-1/main/linux-64/zlib-1.3-0.conda#{A}

https://c.test/main/noarch/numpy-base-1.26.4-py_0.tar.bz2#sha256:{B}
"""


def read(text: str | bytes, source: str = "x") -> Lock:
    lock = read_other_lock(text.encode() if isinstance(text, str) else text, source)
    assert lock is not None
    assert parse_lock(format_lock(lock).encode(), "x") == lock
    return lock


def names(section: Section) -> list[str]:
    return [each.name for each in section.packages]


def test_explicit_list_in_its_own_order_without_credentials() -> None:
    (section,) = read(EXPLICIT).sections
    assert section.platform.subdir == "linux-64"
    assert [str(each) for each in section.conda] == [
        f"https://c.test/main/linux-64/zlib-1.3-0.conda#{A}",
        f"https://c.test/main/noarch/numpy-base-1.26.4-py_0.tar.bz2 sha256:{B}",
    ]


def test_platform_of_an_explicit_list_without_its_comment() -> None:
    bare = EXPLICIT.replace("# platform: linux-64\n", "")
    assert read(bare).sections[0].platform.subdir == "linux-64"
    noarch = bare.replace("/linux-64/", "/noarch/")
    with pytest.raises(InputError, match="for which platform") as caught:
        read(noarch)
    assert "# platform:" in caught.value.hint


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("https://c.test/main/noarch/x-1-0.conda", "has no hash"),
        (f"https://c.test/main/noarch/x-1-0.conda#{A[1:]}", "has no hash"),
        (f"--override-channels#{A}", "not the address of a conda package"),
        (f"https://c.test/main/noarch/x y-1-0.conda#{A}", "no address"),
        (f"/tmp/x-1-0.conda#{A}", "no address"),
        (f"https://c.test/main/noarch/x.zip#{A}", "not the address of a conda package"),
    ],
)
def test_line_that_is_no_package_is_named(entry: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        read(f"{EXPLICIT}{entry}\n", "list.txt")
    assert (caught.value.file, caught.value.line) == ("list.txt", 7)


def test_file_of_these_tests_is_one_that_conda_lock_reads() -> None:
    code = (
        "import pathlib, sys; from conda_lock.lockfile import parse_conda_lock_file as parse;"
        "print(len(parse(pathlib.Path(sys.argv[1])).package))"
    )
    words = [sys.executable, "-W", "ignore", "-c", code, str(DATA / "conda-lock.yml")]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "6\n"


def test_conda_lock_with_a_section_for_each_platform() -> None:
    file = DATA / "conda-lock.yml"
    linux, mac = read(file.read_bytes()).sections
    assert (linux.platform.subdir, mac.platform.subdir) == ("linux-64", "osx-arm64")
    assert names(linux) == ["python", "numpy", "einops", "flash"]
    assert linux.conda[1].url == (
        "https://conda.anaconda.org/conda-forge/linux-64/numpy-1.26.4-py311h64a7726_0.conda"
    )
    assert linux.pip[0].startswith("einops @ https://files.example.org/")
    assert linux.direct == (
        "flash @ git+https://g.test/flash@0123456789abcdef0123456789abcdef01234567",
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("version: 1\nmeta", "version: 7\nmeta", "of version 7"),
        ("    platform: osx-arm64\n", "    platform: ../../etc\n", "no platform"),
        ("    hash:\n", "    hush:\n", "a mapping is missing"),
        ("https://files.example.org/packages/44/5a/f0b9/", "/home/me/", "other machines"),
        ("https://files.example.org/packages/44/5a/f0b9/", "file:///home/", "other machines"),
        (
            "      md5: 293e0713ae804b5527a673e7605c04fc\n      sha256: a4",
            "      sha256: x4",
            "no hash",
        ),
    ],
)
def test_broken_conda_lock_is_named_with_its_line(old: str, new: str, said: str) -> None:
    text = (DATA / "conda-lock.yml").read_text()
    assert old in text
    with pytest.raises(InputError, match=said) as caught:
        read(text.replace(old, new), "conda-lock.yml")
    assert caught.value.file == "conda-lock.yml"
    assert caught.value.line > 0


def test_pixi_lock_in_the_order_in_which_conda_can_link() -> None:
    (section,) = read((DATA / "pixi.lock").read_bytes()).sections
    assert section.platform.subdir == "linux-64"
    assert names(section) == ["tzdata", "python", "pip", "einops"]
    assert section.conda[0].md5 == "4222072737ccff51314b5ece9c7d6f5a"
    assert section.conda[0].sha256.startswith("5aaa3663")
    (einops,) = section.pip
    assert einops.startswith("einops @ https://files.example.org/packages/44/5a/f0b9/einops-")
    assert einops.endswith(
        " --hash=sha256:9572fb63046264a862693b0a87088af3bdc8c068fde03de63453cbbde245465f"
    )


def test_pixi_lock_that_is_cut_off_is_a_sentence() -> None:
    raw = (DATA / "pixi.lock").read_bytes()
    with pytest.raises(InputError, match="not a pixi"):
        read(raw[: len(raw) // 2], "pixi.lock")


def test_pixi_lock_with_several_environments_and_no_default() -> None:
    text = (DATA / "pixi.lock").read_text()
    block = text[text.index("  default:") : text.index("packages:\n- conda")]
    several = text.replace(block, block.replace("default", "cpu") + block.replace("default", "gpu"))
    with pytest.raises(InputError, match="cpu, gpu"):
        read(several)
    one = text.replace("  default:", "  train:")
    assert names(read(one).sections[0])[0] == "tzdata"


@pytest.mark.parametrize("text", ["", "name: x\ndependencies: [python]\n", "a: [", "\0\xff"])
def test_what_is_none_of_them_is_left_to_others(text: str) -> None:
    assert read_other_lock(text.encode(), "x") is None
