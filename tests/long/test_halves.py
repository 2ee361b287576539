"""What a conda that was killed leaves of a package in the cache: the next push is right anyway.

A package is unpacked in the order of its archive, so there is a last file, and it may be cut off.
"""

from __future__ import annotations

import itertools
import shutil
import tarfile
from pathlib import Path

import pytest

from cluster.conftest import Maker
from cluster.lab import Cluster

CUT = ("numlike-1.26.4-demo_0", "tiny-1.0-demo_0")


def members(cluster: Cluster, stem: str) -> dict[str, bytes]:
    """The files of a package, in the order in which they are unpacked."""
    found = {}
    with tarfile.open(cluster.lab.channel.folder / "noarch" / f"{stem}.tar.bz2") as archive:
        for each in filter(tarfile.TarInfo.isfile, archive):
            file = archive.extractfile(each)
            assert file is not None
            found[each.name] = file.read()
    return found


def unpack_up_to(last: str, files: dict[str, bytes], folder: Path) -> None:
    """Leave what there is of a package when its unpacking ends in the middle of that file."""
    shutil.rmtree(folder)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if name == last:
            (folder / name).write_bytes(content[: len(content) // 2])
            return
        (folder / name).write_bytes(content)


@pytest.mark.timeout(300)
def test_halves_of_packages_are_unpacked_anew(make_cluster: Maker) -> None:
    cluster = make_cluster(1)
    (node,) = cluster.nodes
    first, second = (members(cluster, stem) for stem in CUT)
    assert next(iter(first)) == "info/index.json", "conda takes a package for unpacked by this one"
    begun = [len(node.conda_starts)]
    # What conda makes of them: a warning and code 0; a report of its own fault, and again; an
    # error; a report that hides an error.
    cuts = [
        (list(first)[-1], ""),
        ("info/paths.json", ""),
        ("info/link.json", ""),
        ("site-packages/numlike/__init__.py", ""),
        ("info/paths.json", "site-packages/tiny.py"),
    ]
    for number, lasts in enumerate([("", ""), *cuts]):
        for last, files, stem in zip(lasts, (first, second), CUT, strict=True):
            if last:
                unpack_up_to(last, files, node.root / "pkgs" / stem)
        cluster.write_environment("numlike=1.26", "tiny")
        with (cluster.folder / "environment.yml").open("a") as file:
            file.write(f"variables:\n  NUMBER: 'number {number}'\n")
        done = cluster.run("push", "hosts.txt")
        assert done.code == 0, f"cut off in {lasts}\n{done.out}{done.err}"
        begun.append(len(node.conda_starts))
        for name, content in (first | second).items():
            if name.startswith("site-packages/"):
                there = node.envs / "train" / "lib" / "python3.11" / name
                assert there.read_bytes() == content, f"cut off in {lasts}: {name}"
    # Else nothing was cut off in conda's eyes, and the test is of no use: each cut costs a start
    # of conda more than the first push, the last one two.
    whole, *others = (after - before for before, after in itertools.pairwise(begun))
    assert [count - whole for count in others] == [1, 1, 1, 1, 2]
