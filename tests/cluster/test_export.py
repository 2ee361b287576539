"""export on real nodes: what comes out makes the same environment elsewhere."""

from __future__ import annotations

import subprocess

from cluster.conftest import Maker
from cluster.lab import CLEAN_PATH, Cluster, Node


def conda_list(node: Node) -> str:
    done = subprocess.run(
        [str(node.root / "bin" / "conda"), "list", "-n", "train"],
        env={"HOME": str(node.home), "PATH": CLEAN_PATH},
        check=True,
        capture_output=True,
        text=True,
    )
    return "".join(line for line in done.stdout.splitlines(keepends=True) if line[0] != "#")


def test_round_trip(make_cluster: Maker) -> None:
    cluster = make_cluster(2)
    one, two = cluster.nodes
    cluster.write_environment("numlike=1.26", "tiny", pip=["einlike==0.8.0"])
    cluster.write_hosts([one.host])
    assert cluster.run("push", "hosts.txt").code == 0
    done = cluster.run("export", one.host, "-o", "out.yml")
    assert done.code == 0, done.out + done.err
    assert cluster.run("export", one.host, "-o", "out.yml").code == 2
    lint = cluster.run("lint", "out.yml")
    assert lint.code == 0, lint.out
    pushed = cluster.run("push", two.host, "-f", "out.yml")
    assert pushed.code == 0, pushed.out + pushed.err
    cluster.write_hosts([one.host, two.host])
    diff = cluster.run("diff", one.host, two.host, "--hosts", "hosts.txt", "-n", "train")
    assert diff.code == 0, diff.out + diff.err
    assert conda_list(one) == conda_list(two)


def test_forms(pushed: Cluster) -> None:
    host = pushed.nodes[0].host
    explicit = pushed.run("export", host, "--explicit")
    assert "@EXPLICIT\n" in explicit.out
    assert "numlike-1.26.4" in explicit.out
    assert "#   einlike==0.8.0" in explicit.out
    asked = pushed.run("export", host, "--from-history").out
    assert "  - numlike=1.26\n" in asked
    record = pushed.run("export", host, "--json").json["result"]["export"]
    assert "einlike==0.8.0" in record["pip"]
    assert record["text"].startswith("name: train\nchannels:\n")


def test_an_environment_that_envsync_did_not_make(make_cluster: Maker) -> None:
    cluster = make_cluster(1)
    node = cluster.nodes[0]
    conda = [str(node.root / "bin" / "conda")]
    env = {"HOME": str(node.home), "PATH": CLEAN_PATH}
    for words in (
        ["create", "-y", "-q", "-n", "plain", "python=3", "pip", "tiny"],
        ["env", "config", "vars", "set", "-n", "plain", "OMP_NUM_THREADS=4", "HF_TOKEN=hunter2"],
    ):
        subprocess.run([*conda, *words], env=env, check=True, capture_output=True)
    wheel = next(cluster.lab.wheels.glob("einlike-*.whl"))
    node.pip_install("plain", "--no-deps", str(wheel))
    pip = node.home / ".config" / "pip" / "pip.conf"
    pip.write_text("[global]\nindex-url = https://me:hunter2@h.test/simple\n")
    node.pip_install("plain", "--no-deps", "--no-index", f"-f{cluster.lab.wheels}", "numlike")
    words = ("export", node.host, "--hosts", "hosts.txt", "-n", "plain", "--from-history")
    done = cluster.run(*words)
    assert done.code == 0, done.err
    assert "hunter2" not in done.out + done.err
    asked = done.out.partition("dependencies:\n")[2].partition("  - pip:\n")[0]
    assert sorted(asked.splitlines()) == ["  - pip", "  - python=3", "  - tiny"]
    assert "      - --index-url https://h.test/simple\n      - numlike==2.1.0\n" in done.out
    assert "# einlike 0.8.0 cannot be exported: installed from file:" in done.out
    assert 'variables:\n  OMP_NUM_THREADS: "4"\n' in done.out
    assert cluster.run("export", node.host, "--hosts", "hosts.txt", "-n", "none").code == 1
