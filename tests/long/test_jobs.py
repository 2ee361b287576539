"""A job keeps the generation it started in, whatever becomes current meanwhile."""

from __future__ import annotations

import subprocess

from cluster.conftest import Maker
from cluster.lab import CLEAN_PATH, Cluster, Node

JOB = """\
eval "$("$1" shell.posix hook)"
conda activate train || exit 1
echo "$CONDA_PREFIX"
python -c 'import sys; print(sys.prefix, flush=True)
input(); import numlike; print(numlike.__version__)'
conda deactivate
command -v python || echo no python any more
"""


def push(cluster: Cluster, version: str) -> str:
    cluster.write_environment(f"numlike={version}")
    assert cluster.run("push", "hosts.txt").code == 0
    return str((cluster.nodes[0].envs / "train").resolve())


def started(node: Node) -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["bash", "-c", JOB, "job", str(node.root / "bin" / "conda")],
        env={"HOME": str(node.home), "PATH": CLEAN_PATH},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_import_after_a_switch_gets_the_old_copy(make_cluster: Maker) -> None:
    cluster = make_cluster(1)
    old = push(cluster, "1.25")
    with started(cluster.nodes[0]) as job:
        assert job.stdout is not None
        assert job.stdout.readline().strip() == old
        assert job.stdout.readline().strip() == old
        new = push(cluster, "1.26")
        assert new != old
        out, _ = job.communicate("go\n", timeout=30)
    assert out.split("\n")[0] == "1.25.0"
    assert old not in out
    with started(cluster.nodes[0]) as fresh:
        out, _ = fresh.communicate("go\n", timeout=30)
    assert out.split("\n")[:3] == [new, new, "1.26.4"]
