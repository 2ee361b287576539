"""What a node lacks of a lock, and what is sent of it."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from envsync import scripts
from envsync.errors import HostError
from envsync.flavours import Conda
from envsync.generations import Slot
from envsync.lock import LockedPackage, Section
from envsync.model import Platform
from envsync.parcels import (
    Parcel,
    Place,
    Stock,
    needs_building,
    offline,
    parse_stock,
    parse_wrong,
    sent,
    shipment,
    wheel_lines,
)
from envsync.ports import Completed, Piece
from envsync.recipe import Recipe
from envsync.wheels import python_of, tags

SHA = "a" * 64
URL = "https://channel.example/noarch/tiny-1.0-0.conda"
PLACE = Place(Slot("/home/a b/envs", "train", "0a1b2c"), "gpu1")
WHEEL = f"name @ https://files.example/name-1-py3-none-any.whl --hash=sha256:{SHA}"


def parcel(name: str, size: int = 10, url: str = "", line: str = "") -> Parcel:
    return Parcel(name, url, Path("/cache") / name, "b" * 32, SHA, size, line)


def section(*pip: str, direct: tuple[str, ...] = ()) -> Section:
    packages = (LockedPackage("https://c.example/linux-64/python-3.11.4-0.conda", md5="b" * 32),)
    return Section(Platform("linux-64"), "", packages, pip, direct)


@pytest.mark.parametrize(
    ("line", "built"),
    [
        (f"name==1.0 --hash=sha256:{SHA}", False),
        (WHEEL, False),
        (f"name @ https://files.example/name-1.tar.gz --hash=sha256:{SHA}", True),
        (f"name @ file:./wheels/name-1-py3-none-any.whl --hash=sha256:{SHA}", False),
        (f"name @ file:./name-1.tar.gz --hash=sha256:{SHA}", True),
    ],
)
def test_what_is_only_a_source_would_be_built(line: str, *, built: bool) -> None:
    assert (needs_building(section(line)) == (line,)) is built


def test_what_has_no_hash_would_be_built() -> None:
    lines = ("a @ git+https://x.example/a@0a1b", f"b @ file:./b#sha256={SHA}&editable")
    assert needs_building(section(direct=lines)) == lines


def test_wheels_beside_the_file_travel_with_it() -> None:
    local = f"a @ file:./wheels/a-1-py3-none-any.whl --hash=sha256:{SHA}"
    assert wheel_lines(section(local, WHEEL)) == (WHEEL,)


def test_only_what_is_lacking_is_sent_and_of_that_the_rest() -> None:
    parcels = [parcel("a.conda", 10, URL), parcel("b.whl", 20), parcel("c.whl", 30)]
    answer = b"layout\tflat\nplace\t/pkgs\nfree_kib\t1000\nlacks\ta.conda\t4\nlacks\tc.whl\t99\n"
    stock = parse_stock(Completed(0, answer))
    made = shipment(parcels, stock)
    assert made.parcels == ((parcels[0], 4), (parcels[2], 0))
    assert made.size == 36
    assert sent(parcels, made) == "0.0 MB in 2 of 3 files, 1 were there"
    command = made.send(PLACE, stock)
    assert command.stdin == (Piece(parcels[0].file, 4, 6), Piece(parcels[2].file, 0, 30))
    assert command.args[1:4] == ("flat", "/pkgs", "/home/a b/envs/.envsync/.train.wheels")
    assert made.only(["a.conda"]).parcels == ((parcels[0], 0),)


@pytest.mark.parametrize(
    ("stock", "cause"),
    [
        (Stock("flat", "", (), {"a.conda": 0}), "read-only-cache"),
        (Stock("flat", "/pkgs", (9, 99), {"a.conda": 0}), "disk-full"),
        (Stock("flat", "/pkgs", (99, 9), {"b.whl": 0}), "disk-full"),
        (Stock("flat", "/pkgs", (19, 19), {"a.conda": 0, "b.whl": 0}), "disk-full"),
    ],
)
def test_what_cannot_be_taken_is_not_sent(stock: Stock, cause: str) -> None:
    with pytest.raises(HostError) as caught:
        shipment([parcel("a.conda", 10, URL), parcel("b.whl", 10)], stock)
    assert caught.value.cause == cause


def test_packages_and_wheels_may_go_to_two_file_systems() -> None:
    parcels = [parcel("a.conda", 10, URL), parcel("b.whl", 90)]
    stock = parse_stock(
        Completed(0, b"place\t/p\nfree_kib\t1\nfree_kib\t2\nlacks\ta.conda\t0\nlacks\tb.whl\t0\n")
    )
    assert stock.free == (1024, 2048)
    assert shipment(parcels, replace(stock, free=(10, 90))).size == 100
    assert parse_stock(Completed(0, b"place\t/p\nfree_kib\t\nfree_kib\t2\n")).free == ()


def test_what_others_could_read_is_said_when_it_is_asked_for() -> None:
    stock = parse_stock(Completed(0, b"place\t/p\nholds\ta.conda\t/read only\nlacks\tb.whl\t5\n"))
    assert stock.holds == {"a.conda": "/read only"}
    after = stock.with_all(["b.whl"])
    assert (after.lacks, after.holds) == ({}, {"a.conda": "/read only", "b.whl": "/p"})


def test_node_that_has_everything_needs_no_cache_to_write_to() -> None:
    made = shipment([parcel("a.conda", 10, URL)], Stock("flat", "", (0, 0), {}))
    assert made.parcels == ()


def test_damaged_files_are_named_by_the_node() -> None:
    assert parse_wrong(Completed(0, b"wrong\ta.conda\nwrong\tb c.whl\n")) == ("a.conda", "b c.whl")


def test_generation_is_built_from_files_and_keeps_what_others_keep() -> None:
    named = f"other==2 --hash=sha256:{SHA}"
    text = f"--index-url https://me@index.example\n{WHEEL}\n{named}\n".encode()
    recipe = Recipe(
        "0a1b2c",
        {"explicit.txt": b"@EXPLICIT\nhttps://me@channel.example\n", "pip.txt": text, "lock": b""},
        section(WHEEL, named),
        clean={"explicit.txt": b"@EXPLICIT\nhttps://channel.example\n"},
    )
    parcels = (
        parcel("tiny-1.0-0.conda", url=URL),
        parcel("name-1-py3-none-any.whl", line=WHEEL),
        parcel("other-2-py3-none-any.whl", line=named),
    )
    made = offline(recipe, PLACE, parcels)
    assert made.generation == recipe.generation
    assert made.files["explicit.txt"].decode() == f"@EXPLICIT\n{URL}#{'b' * 32}\n"
    there = "file:///home/a%20b/envs/.envsync/.train.wheels"
    assert made.files["pip.txt"].decode().splitlines() == [
        "--no-index",
        "--find-links '/home/a b/envs/.envsync/.train.wheels'",
        f"name @ {there}/name-1-py3-none-any.whl --hash=sha256:{SHA}",
        named,
    ]
    origin = "name https://files.example/name-1-py3-none-any.whl\n"
    assert made.files["origin.txt"].decode() == origin
    assert made.kept == recipe.kept
    conda = Conda("/c/bin/conda", "/c")
    assert "--offline" in made.argv(conda, PLACE.slot)
    assert "--offline" not in recipe.argv(conda, PLACE.slot)


def test_parts_of_two_environments_or_nodes_have_two_names() -> None:
    other = Place(Slot("/home/a b/envs", "eval", "0a1b2c"), "gpu1")
    again = Place(Slot("/home/a b/envs", "train", "ffffff"), "gpu1")
    assert PLACE.mark == again.mark
    assert len({PLACE.mark, other.mark, Place(PLACE.slot, "gpu2").mark}) == 3


def test_tags_of_platforms() -> None:
    assert "manylinux_2_17_aarch64" in tags("linux-aarch64")
    assert {"manylinux2014_x86_64", "linux_x86_64"} <= set(tags("linux-64"))
    assert tags("osx-arm64") == ("macosx_30_0_arm64",)
    assert python_of(section()) == "3.11"


CONDA_SAYS = """\
#!/bin/sh
printf '{\\n  "x": "/nowhere",\\n  "%s": [\\n    "%s",\\n    "%s"\\n  ],\\n' "$1" "$2" "$3"
printf '  "micromamba version": "%s"\\n}\\n' "$4"
"""


@pytest.mark.parametrize(
    ("key", "version", "layout"),
    [("pkgs_dirs", "", "flat"), ("package cache", "2.5.0", "flat"),
     ("package cache", "2.6.1", "nested"), ("package cache", "3.0", "nested")],
)  # fmt: skip
def test_stock_and_stow_on_this_machine(
    tmp_path: Path, key: str, version: str, layout: str
) -> None:
    says = tmp_path / "conda"
    says.write_text(CONDA_SAYS)
    says.chmod(0o755)
    cache, wheels = tmp_path / "my pkgs", tmp_path / "wheels"
    raw = b"an archive\n"
    sums = [_sum("md5sum", raw), _sum("sha256sum", raw), str(len(raw))]
    words = [[URL, "tiny-1.0-0.conda", *sums], ["-", "w-1-py3-none-any.whl", *sums]]

    def stock() -> list[str]:
        text = "".join("\t".join(each) + "\n" for each in words)
        done = _run(
            "stock.sh", "mark", str(wheels), "", str(says), key, str(cache), "/usr/none", version,
            stdin=text.encode(),
        )  # fmt: skip
        assert re.search(r"^free_kib\t[1-9]\d*$", done, re.MULTILINE)
        return [line for line in done.splitlines() if not line.startswith("free")]

    def stow(there: int, raw: bytes, last: str = "last") -> str:
        each = [*words[0], str(there), *words[1], "0"]
        return _run("stow.sh", "mark", layout, str(cache), str(wheels), last, *each, stdin=raw)

    head = [f"layout\t{layout}", f"place\t{cache}"]
    lacks = ["lacks\ttiny-1.0-0.conda\t0", "lacks\tw-1-py3-none-any.whl\t0"]
    assert stock() == [*head, *lacks]
    assert not cache.exists()
    assert stow(0, b"an errand\n" + b"!" + raw) == "wrong\ttiny-1.0-0.conda\n"
    assert stock() == [*head, lacks[0]]
    folder = cache / "https/channel.example/noarch" if layout == "nested" else cache
    (folder / ".tiny-1.0-0.conda.mark.part").write_bytes(raw[:4])
    other = cache / ".other-1.0-0.conda.mark.part"
    other.touch()
    assert stow(len(raw), raw, last="") == "wrong\ttiny-1.0-0.conda\n"
    assert other.exists()
    (folder / ".tiny-1.0-0.conda.mark.part").write_bytes(raw[:4])
    assert stock() == [*head, "lacks\ttiny-1.0-0.conda\t4"]
    assert stow(4, raw[4:] + raw) == ""
    assert stock() == head
    assert not other.exists()
    assert (folder / "tiny-1.0-0.conda").read_bytes() == raw
    one, two = ((str(cache), *each[:2], each[4]) for each in words)
    assert (
        _run("give.sh", layout, str(wheels), *one, "3", *two, "0", stdin=b"")
        == (raw[3:] + raw).decode()
    )
    assert (cache / "urls.txt").read_text() == f"{URL}\n"
    # The same file from elsewhere: conda would not take it under this address.
    record = folder / "tiny-1.0-0" / "info" / "repodata_record.json"
    record.parent.mkdir(parents=True)
    record.write_text(f'{{\n  "md5": "{sums[0]}",\n  "url": "https://mirror.example/x"\n}}\n')
    assert stock() == [*head, f"lacks\ttiny-1.0-0.conda\t{len(raw)}"]
    stow(len(raw), raw)
    assert stock() == head
    assert not record.exists()


def _sum(program: str, raw: bytes) -> str:
    done = subprocess.run([program], input=raw, capture_output=True, check=True)
    return done.stdout.decode().split()[0]


def _run(script: str, *words: str, stdin: bytes) -> str:
    text = "".join(map(scripts.load, ("parcel.sh", "room.sh", script)))
    done = subprocess.run(
        ["/bin/sh", "-c", text, "sh", *words], input=stdin, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b""
    return done.stdout.decode()
