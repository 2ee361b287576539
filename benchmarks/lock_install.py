"""CPU time of one node: an install from the lock, against `conda env create` of the same file."""

from __future__ import annotations

import resource
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from bench import cluster, compare

from envsync.flavours import Conda
from envsync.generations import Slot
from envsync.lock import parse_lock
from envsync.model import Host
from envsync.ports import Command, Completed
from envsync.recipe import Recipe, locked, unlocked
from envsync.spec import read_environment
from envsync.transport.local import LocalTransport

ROUNDS = 5
LIMIT = 0.5


def cpu_seconds(run: Callable[[], Completed]) -> float:
    """User and system time of everything that `run` started and that ended in it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = run()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.exit_code:
        raise SystemExit(done.log)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Build the same environment both ways, by turns, with a warm package cache."""
    with cluster(1) as lab:
        node = lab.nodes[0]
        lab.write_environment("numlike=1.26", "tiny", pip=["einlike==0.8.0"])
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
