"""CPU time of one node: an install from the lock, against `conda env create` of the same file.

The channel has 40 libraries in five versions each that depend on one another, so that there is
something to solve, and an index of 60,000 packages, which a solver has to read. conda-forge's has
seven times as many.
"""

from __future__ import annotations

import json
import resource
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from bench import cluster, compare

from envsync.demo.channel import Channel, pip_package, python_library, python_package
from envsync.flavours import Conda
from envsync.generations import Slot
from envsync.lock import parse_lock
from envsync.model import Host
from envsync.ports import Command, Completed
from envsync.recipe import Recipe, locked, unlocked
from envsync.spec import read_environment
from envsync.transport.local import LocalTransport

ROUNDS = 5
LIBRARIES = 40
INDEXED = 60_000
LIMIT = 0.5


def cpu_seconds(run: Callable[[], Completed]) -> float:
    """User and system time of everything that `run` started and that ended in it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = run()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.exit_code:
        raise SystemExit(done.log)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def fill(channel: Channel) -> None:
    """Libraries of which each wants a range of versions of the three before it."""
    packages = [python_package(), pip_package()]
    for number in range(LIBRARIES):
        for minor in range(5):
            before = range(max(0, number - 3), number)
            depends = tuple(f"lib{other:02} >=1.{max(0, minor - 2)},<1.9" for other in before)
            name = f"lib{number:02}"
            files = {f"{name}/__init__.py": f"version = '1.{minor}'\n"}
            packages.append(python_library(name, f"1.{minor}", files, depends=("python", *depends)))
    channel.add(*packages)
    index = channel.folder / "noarch" / "repodata.json"
    repodata = json.loads(index.read_text())
    (_, sample), *_ = repodata["packages"].items()
    for number in range(INDEXED):
        entry = sample | {"name": f"other{number}", "depends": ["python"]}
        repodata["packages"][f"other{number}-1.0-0.tar.bz2"] = entry
    index.write_text(json.dumps(repodata))


def main() -> int:
    """Build the same environment both ways, by turns, with a warm package cache."""
    with cluster(1) as lab:
        node = lab.nodes[0]
        channel = Channel(node.home / "channel")
        fill(channel)
        wanted = "".join(f"  - lib{number:02}\n" for number in range(0, LIBRARIES, 3))
        (lab.folder / "environment.yml").write_text(
            f"name: train\nchannels:\n  - {channel.url}\n  - nodefaults\n"
            f"dependencies:\n  - python=3\n  - pip\n{wanted}  - pip:\n      - einlike==0.8.0\n"
        )
        made = lab.run("lock", "hosts.txt")
        if made.code:
            print(made.out, made.err)
            return 1
        spec = read_environment(lab.folder / "environment.yml")
        (section,) = parse_lock((lab.folder / "environment.lock").read_bytes(), "lock").sections
        conda = Conda(str(node.root / "bin" / "conda"), str(node.root))
        here = LocalTransport({"HOME": str(node.home), "PATH": "/usr/local/bin:/usr/bin:/bin"})
        connection = here.connect(Host("here"))

        def build(name: str, recipe: Recipe) -> Command:
            slot = Slot(str(node.envs), name, "bench")
            shutil.rmtree(slot.prefix, ignore_errors=True)
            connection.run(slot.put(recipe.files))
            return slot.build(recipe.argv(conda, slot), 600)

        figures: dict[str, list[float]] = {"lock": [], "file": []}
        for _ in range(ROUNDS):
            for name, recipe in (("lock", locked(spec, section)), ("file", unlocked(spec))):
                command = build(name, recipe)
                figures[name].append(cpu_seconds(lambda: connection.run(command)))  # noqa: B023
        same = _packages(node.envs, "lock") == _packages(node.envs, "file")
        print(f"both hold the same packages: {same}")
        good = compare("install from the lock", figures["lock"], figures["file"], "s CPU", LIMIT)
        return 0 if good and same else 1


def _packages(envs: Path, name: str) -> set[str]:
    prefix = Slot(str(envs), name, "bench").prefix
    records = {path.name for path in Path(prefix, "conda-meta").glob("*.json")}
    return records | {path.name for path in Path(prefix).glob("lib/python*/site-packages/*-info")}


if __name__ == "__main__":
    sys.exit(main())
