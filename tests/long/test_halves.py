"""What a conda that was killed leaves of a package in the cache: the next push is right anyway.

A package is unpacked in the order of its archive, so there is a last file, and it may be cut off.
"""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

import pytest

from cluster.conftest import Maker
from cluster.lab import Cluster

STEM = "numlike-1.26.4-demo_0"


def members(cluster: Cluster) -> list[str]:
    """The files of the package, in the order in which they are unpacked."""
    with tarfile.open(cluster.lab.channel.folder / "noarch" / f"{STEM}.tar.bz2") as archive:
        return [each.name for each in archive if each.isfile()]


def unpack_up_to(folder: Path, names: list[str], last: str) -> None:
    """Leave what there is of a package when its unpacking ends in the middle of that file."""
    whole = folder.with_name("whole")
    folder.rename(whole)
    for name in names[: names.index(last) + 1]:
        content = (whole / name).read_bytes()
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content[: len(content) // 2] if name == last else content)
    shutil.rmtree(whole)


@pytest.mark.timeout(300)
def test_halves_of_packages_are_unpacked_anew(make_cluster: Maker) -> None:
    cluster = make_cluster(1)
    (node,) = cluster.nodes
    cluster.write_environment("numlike=1.26")
    assert cluster.run("push", "hosts.txt").code == 0
    names = members(cluster)
    assert names[0] == "info/index.json", "conda takes a package for unpacked by this one"
    # What conda makes of them: two reports of its own fault, an error, a warning and code 0.
    module = "site-packages/numlike/__init__.py"
    for last in ("info/paths.json", "info/link.json", module, names[-1]):
        unpack_up_to(node.root / "pkgs" / STEM, names, last)
        cluster.write_environment("numlike=1.26")
        with (cluster.folder / "environment.yml").open("a") as file:
            file.write(f"variables:\n  LAST: '{last}'\n")
        done = cluster.run("push", "hosts.txt")
        assert done.code == 0, f"cut off in {last}\n{done.out}{done.err}"
        with tarfile.open(cluster.lab.channel.folder / "noarch" / f"{STEM}.tar.bz2") as archive:
            for name in names:
                if name.startswith("site-packages/"):
                    there = node.envs / "train" / "lib" / "python3.11" / name
                    member = archive.extractfile(name)
                    assert member is not None
                    assert there.read_bytes() == member.read(), f"cut off in {last}: {name}"
