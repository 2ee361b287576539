"""The wider facts of verify on real nodes: what reaches into an environment from outside."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cluster.lab import Cluster, Node
from cluster.waiting import wait_until

VERSION = ".".join(map(str, sys.version_info[:2]))
ON_ONE_MACHINE = frozenset({"own name", "shared memory", "unanswered"})
"""Facts of the machine that all nodes of the lab share, whatever it is."""


def findings(result: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """Host, level, cause and subject of each finding that is not about this machine."""
    return [
        (each["host"], each["level"], each["cause"], each["what"])
        for each in (*result["result"]["findings"], *result["result"]["remarks"])
        if each["what"] not in ON_ONE_MACHINE
    ]


def site_packages(node: Node) -> Path:
    found: Sequence[Path] = [*(node.envs / "train" / "lib").glob("python*/site-packages")]
    return found[0]


def hook(node: Node, text: str) -> None:
    """What an activation script of the environment does on this node alone."""
    hooks = (node.envs / "train").resolve() / "etc" / "conda" / "activate.d"
    hooks.mkdir(parents=True, exist_ok=True)
    (hooks / "by-hand.sh").write_text(text + "\n")


def test_sound_nodes_have_no_findings_and_tell_their_facts(cluster: Cluster) -> None:
    asked = time.time()
    done = cluster.run("verify", "--json")
    answered = time.time()
    assert (done.code, findings(done.json)) == (0, [])
    for host in done.json["result"]["hosts"]:
        wide = host["facts"]["wide"]
        assert wide["system"]["kernel"] == os.uname().release
        assert wide["leaks"] == {"paths": [], "libraries": [], "variables": []}
        assert wide["torch"] is None
        assert wide["failures"] == []
        assert -(answered - asked) < wide["clock"]["lowest"] <= 0 <= wide["clock"]["highest"]


def test_only_a_diff_that_shows_them_asks_for_the_wider_facts(cluster: Cluster) -> None:
    one, two = (node.host for node in cluster.nodes)
    for words in (("diff", one, two, "--only", "conda"), ("push", "hosts.txt", "--rebuild")):
        hosts = cluster.run(*words, "--json").json["result"]["hosts"]
        assert [host["facts"]["wide"] for host in hosts] == [None, None]


def test_packages_from_elsewhere_that_hide_the_environments_own(cluster: Cluster) -> None:
    node = cluster.nodes[1]
    site = node.home / ".local" / "lib" / f"python{VERSION}" / "site-packages"
    site.mkdir(parents=True)
    (site / "oddment.py").touch()
    other = node.home / "my code"
    (other / "numlike").mkdir(parents=True)
    (other / "numlike" / "__init__.py").write_text("__version__ = '0.1'\n")
    (other / "numlike-0.1.dist-info").mkdir()
    hook(node, f"export PYTHONPATH='{other}'")
    done = cluster.run("verify", "--json")
    assert done.code == 1
    assert findings(done.json) == [
        (node.host, "error", "unfit", "shadowing"),
        (node.host, "warning", "unfit", "added packages"),
    ]
    shown = cluster.run("verify")
    (line,) = (each for each in shown.out.splitlines() if each.startswith("error"))
    assert line == (
        f"error  {node.address}: numlike 0.1 from {os.path.realpath(other)} (PYTHONPATH) is"
        " imported instead of the environment's"
    )
    assert "of 2 nodes 1 unfit" in shown.out


def test_other_cuda_before_the_environments_own_is_a_warning(cluster: Cluster) -> None:
    node = cluster.nodes[0]
    folder = node.home / "cuda 11" / "lib64"
    folder.mkdir(parents=True)
    (folder / "libcudart.so.11.0").write_bytes(b"no library at all")
    hook(node, f"export LD_LIBRARY_PATH='{folder}' NCCL_DEBUG=INFO NCCL_AUTH_TOKEN=hunter2")
    done = cluster.run("verify", "--json")
    found = findings(done.json)
    assert (node.host, "warning", "unfit", "library path") in found
    assert ("warning", "unlike", "NCCL_DEBUG") in {each[1:] for each in found}
    assert done.code == 0
    assert "hunter2" not in done.out + done.err
    strict = cluster.run("verify", "--fail-on", "warning")
    assert strict.code == 1
    assert f"LD_LIBRARY_PATH leads to libcudart.so.11.0 in {os.path.realpath(folder)}" in strict.out
    assert "2 nodes hold train, all alike; " in strict.out


def test_torch_that_cannot_be_imported_is_one_error_with_its_words(cluster: Cluster) -> None:
    node = cluster.nodes[0]
    torch = site_packages(node) / "torch"
    torch.mkdir()
    (torch / "__init__.py").write_text("raise OSError('libcudart.so.12: cannot open')\n")
    done = cluster.run("verify", "--json")
    assert done.code == 1
    assert findings(done.json) == [(node.host, "error", "unfit", "torch")]
    (found,) = done.json["result"]["findings"]
    assert found["message"] == "torch is broken: OSError: libcudart.so.12: cannot open"
    assert found["reason"]
    assert found["hint"]


def test_torch_that_kills_its_python_leaves_all_other_facts(cluster: Cluster) -> None:
    node = cluster.nodes[0]
    torch = site_packages(node) / "torch"
    torch.mkdir()
    (torch / "__init__.py").write_text(
        "import os\n__version__ = '2.5.1'\nclass cuda:\n    is_available = staticmethod(os.abort)\n"
    )
    result = cluster.run("verify", "--json").json
    (host, _) = result["result"]["hosts"]
    runtime = dict(host["facts"]["runtime"])
    assert runtime["torch"] == "2.5.1"
    assert runtime["cuda available"].startswith("error: it was ended by signal 6")
    assert not host["facts"]["blind"]
    assert (node.host, "error", "unfit", "torch") in findings(result)


def test_diff_of_two_nodes_and_of_what_was_saved_of_one_shows_systems(cluster: Cluster) -> None:
    one, two = (node.host for node in cluster.nodes)
    assert cluster.run("verify", "--report", "before.json").code == 0
    assert cluster.run("diff", one, two).code == 0
    hook(cluster.nodes[1], "export NCCL_DEBUG=INFO; ulimit -n 512")
    done = cluster.run("diff", one, two, "--json")
    assert done.code == 1
    assert [
        (each["group"], each["name"], each["level"], each["values"][two])
        for each in done.json["result"]["rows"]
    ] == [
        ("system", "open files", "info", "512"),
        ("variables", "NCCL_DEBUG", "warning", "INFO"),
    ]
    saved = cluster.run("diff", f"before.json#{two}", two, "--only", "system")
    assert saved.code == 1
    assert "open files" in saved.out
    assert "NCCL_DEBUG" not in saved.out
    every = cluster.run("diff", f"before.json#{one}", f"before.json#{two}", "--all")
    assert every.code == 0
    assert "glibc" in every.out
    assert "hostname" in every.out
    assert "hostname" not in cluster.run("diff", one, two).out


def test_probe_ends_with_the_connection_of_whoever_asked(cluster: Cluster) -> None:
    node = cluster.nodes[0]
    begun = cluster.folder / "begun"
    hook(node, f"touch '{begun}'; sleep 54.321")
    with subprocess.Popen(
        cluster.command("verify"), cwd=cluster.folder, stdout=subprocess.DEVNULL
    ) as verify:
        wait_until(begun.exists)
        verify.kill()
    wait_until(lambda: not _runs(b"sleep\x0054.321\0"), seconds=8)


def _runs(argv: bytes) -> bool:
    lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            lines.append(file.read_bytes())
    return argv in lines
