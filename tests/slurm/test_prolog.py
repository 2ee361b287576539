"""The prolog of examples/, run by a real slurmd before a job starts."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import envsync
from slurm.slurmlab import Slurm

PROLOG = Path(__file__).parents[2] / "examples" / "slurm" / "prolog.sh"
_PROGRAM = """\
#!{python}
import sys
sys.path.insert(0, {source!r})
from envsync.__main__ import main
sys.exit(main())
"""


@pytest.fixture
def prolog(slurm: Slurm, tmp_path: Path) -> Iterator[Path]:
    """An environment on all nodes, and slurmds that look at it; the file of the prologs' times."""
    project = slurm.project(tmp_path / "project")
    project.write_environment("numlike=1.26", name="watched", locked=False)
    done = project.run("push", "slurm:gpu", "--json")
    assert done.code == 0, done.err
    # Not by PYTHONPATH: that is a finding of its own.
    source = str(Path(envsync.__file__).parents[1])
    program = slurm.write_program("envsync", _PROGRAM.format(python=sys.executable, source=source))
    (slurm.folder / "prolog.conf").write_text(
        f"ENVSYNC={program}\nENVSYNC_FILE={project.folder}/environment.yml\n"
    )
    file = slurm.write_program("prolog", PROLOG.read_text())
    yield slurm.folder / "prolog.log"
    file.unlink()


def test_node_that_drifted_is_drained_before_its_job_starts(slurm: Slurm, prolog: Path) -> None:
    done = subprocess.run(
        ["srun", "--nodelist=n1", "--nodes=1", "true"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    first, _, children = prolog.read_text().splitlines()[:3]
    node, code, milliseconds = first.split()
    assert (node, code) == ("n1", "0")
    worked = sum(map(_seconds, children.split()))
    print(f"prolog on a node that is as it should be: {milliseconds} ms, {worked:.2f} s of CPU")
    assert worked < 2  # what it takes on a machine that has nothing else to do

    slurm.pip_install("n3", "watched", "einlike==0.8.0")
    job = slurm.batch("true", "--nodelist=n3")
    try:
        for _ in range(300):
            if slurm.state("n3").startswith(("drain", "drng")):
                break
            time.sleep(0.1)
        assert slurm.state("n3").partition(" ")[2].startswith("envsync: "), slurm.state("n3")
        assert slurm.state("n1").startswith("idle")
    finally:
        subprocess.run(["scancel", job], check=True)


def _seconds(text: str) -> float:
    """Of `0m1.25s`, as the shell's `times` prints it."""
    minutes, _, seconds = text.rstrip("s").partition("m")
    return 60 * int(minutes) + float(seconds)
