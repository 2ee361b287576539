"""What a solver came to, read from the answer of a canary."""

from __future__ import annotations

import json
from typing import Any

import pytest

from envsync.errors import HostError
from envsync.facts import Facts
from envsync.lock import Lock, LockedPackage, Section, format_lock, parse_lock
from envsync.luggage import Luggage
from envsync.model import Package, Platform
from envsync.ports import Completed
from envsync.solution import Solution, parse_hashes, parse_solution

RECORDS = """\
@@conda
numpy-1.26.4-0.json:
python-3.11.7-0.json:
zlib-1.3-0.json:
numpy-1.26.4-0.json:  "name": "numpy",
numpy-1.26.4-0.json:  "version": "1.26.4",
numpy-1.26.4-0.json:  "md5": "aa",
numpy-1.26.4-0.json:  "url": "https://u:pw@c.test/t/tk-1/noarch/numpy-1.26.4-0.conda"
python-3.11.7-0.json:  "name": "python",
python-3.11.7-0.json:  "version": "3.11.7",
python-3.11.7-0.json:  "sha256": "bb",
python-3.11.7-0.json:  "url": "https://c.test/linux-64/python-3.11.7-0.conda"
zlib-1.3-0.json:  "name": "zlib",
zlib-1.3-0.json:  "version": "1.3",
zlib-1.3-0.json:  "md5": "cc",
zlib-1.3-0.json:  "url": "https://c.test/linux-64/zlib-1.3-0.conda"
@@depends
numpy-1.26.4-0.json:    "python >=3.11,<3.12",
python-3.11.7-0.json:    "zlib"
python-3.11.7-0.json:    "__glibc >=2.17"
@@sizes
/a b:1/conda-meta/python-3.11.7-0.json:  "size": 31000000,
/a b:1/conda-meta/zlib-1.3-0.json:    "size": 99
"""
PIP = (
    Package("pip", "einops", "0.8.0"),
    Package("pip", "flash", "2.0"),
    Package("pip", "here", "1.0"),
)


def facts(*pip: Package) -> Facts:
    return Facts("/p", (), pip, ())


def installed(name: str, origin: dict[str, Any] | None = None) -> dict[str, Any]:
    item: dict[str, Any] = {"metadata": {"name": name, "version": "1"}}
    return item | ({"direct_url": origin} if origin else {})


def answer(*items: dict[str, Any], records: str = RECORDS) -> Completed:
    inspected = json.dumps({"installed": list(items)}, indent=1)
    return Completed(0, f"{records}@@pip\n{inspected}\n@@end 0\n".encode())


FLASH = installed(
    "Flash",
    {
        "url": "https://g.test/flash",
        "vcs_info": {"vcs": "git", "commit_id": "0123abc"},
        "subdirectory": "py",
    },
)


def test_packages_in_linking_order_without_credentials() -> None:
    solution = parse_solution(answer(), facts())
    assert solution == Solution(
        (
            LockedPackage("https://c.test/linux-64/zlib-1.3-0.conda", "cc", size=99),
            LockedPackage(
                "https://c.test/linux-64/python-3.11.7-0.conda", "", "bb", size=31_000_000
            ),
            LockedPackage("https://c.test/noarch/numpy-1.26.4-0.conda", "aa"),
        ),
        (),
        (),
    )


def test_pip_by_version_by_address_and_by_commit() -> None:
    there = installed("here", {"url": "https://u:p@w.test/here.whl", "archive_info": {}})
    solution = parse_solution(answer(installed("einops"), FLASH, there), facts(*PIP))
    assert solution.pip == ("einops==0.8.0", "here @ https://w.test/here.whl")
    assert solution.direct == ("flash @ git+https://g.test/flash@0123abc#subdirectory=py",)


def test_what_was_sent_along_is_locked_by_its_digest() -> None:
    sha256 = "0" * 64
    along = Luggage(
        b"tar", "env", "environment.yml", digests=(("../my src", sha256), ("h.whl", sha256))
    )
    place = "file:///envs/.envsync/x/solving.files"
    tree = installed("Flash", {"url": f"{place}/my%20src", "dir_info": {"editable": True}})
    file = installed("here", {"url": f"{place}/env/h.whl", "archive_info": {}})
    solution = parse_solution(answer(installed("einops"), tree, file), facts(*PIP), along)
    assert solution.pip == ("einops==0.8.0",)
    assert solution.direct == (f"flash @ file:../my%20src#sha256={sha256}&editable",)
    assert solution.archives == (f"here @ file:./h.whl --hash=sha256:{sha256}",)
    # Such lines can be read back, and another tree is another generation.
    section = Section(Platform("linux-64"), "", (), solution.archives, solution.direct)
    lock = Lock((section,))
    assert parse_lock(format_lock(lock).encode(), "environment.lock") == lock


def test_folder_that_was_not_sent_cannot_be_locked() -> None:
    tree = installed("here", {"url": "file:///home/me/here", "dir_info": {}})
    with pytest.raises(HostError, match="from the folder"):
        parse_solution(answer(tree), facts(PIP[2]), Luggage(b"tar", ".", "e.yml"))


def test_dependencies_in_a_circle_do_not_matter() -> None:
    circle = RECORDS.replace("@@sizes", 'zlib-1.3-0.json:    "python"\n@@sizes')
    solution = parse_solution(answer(records=circle), facts())
    assert [each.package.name for each in solution.conda] == ["python", "numpy", "zlib"]


def lacking(key: str) -> str:
    return "".join(
        line
        for line in RECORDS.splitlines(keepends=True)
        if not (line.startswith("zlib") and f'"{key}"' in line)
    )


@pytest.mark.parametrize(
    ("done", "said"),
    [
        (Completed(4, b"", b"gone"), "exit code 4"),
        (answer(records=lacking("url")), "no address on record for zlib"),
        (answer(records=lacking("md5")), "no hash on record for zlib"),
        (answer(installed("here", {"url": "file:///x", "dir_info": {}})), "from the folder"),
        (Completed(0, f"{RECORDS}@@pip\nunknown command\n@@end 1\n".encode()), "pip 22.2"),
    ],
)
def test_what_cannot_be_locked_is_named(done: Completed, said: str) -> None:
    with pytest.raises(HostError, match=said) as caught:
        parse_solution(done, facts(PIP[2]))
    assert caught.value.hint


def report(**hashes: str) -> Completed:
    install = [
        {
            "metadata": {"name": name},
            "download_info": {"archive_info": {"hashes": {"sha256": value} if value else {}}},
        }
        for name, value in hashes.items()
    ]
    return Completed(0, json.dumps({"install": install}).encode())


def test_hashes_are_those_of_the_files_that_pip_would_take() -> None:
    lines = ("einops==0.8.0", "here @ https://w.test/here.whl")
    assert parse_hashes(report(Einops="aa", here="bb"), lines) == (
        "einops==0.8.0 --hash=sha256:aa",
        "here @ https://w.test/here.whl --hash=sha256:bb",
    )
    with pytest.raises(HostError, match="no hash for einops"):
        parse_hashes(report(Einops="", here="bb"), lines)
    with pytest.raises(HostError, match=r"pip 22\.2"):
        parse_hashes(Completed(0, b"no such option: --report"), lines)
