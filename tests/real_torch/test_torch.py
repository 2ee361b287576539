"""verify on three nodes with a real torch: what it says and computes, and whether they meet."""

from __future__ import annotations

import contextlib
import html
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.lab import Cluster, Node, free_port

BY_HAND = """
import json, numpy, torch, torch.distributed as d
b = torch.backends
print(json.dumps({
    "version": torch.__version__, "git": torch.version.git_version, "debug": torch.version.debug,
    "cxx11_abi": torch.compiled_with_cxx11_abi(), "cuda": torch.version.cuda or "",
    "hip": torch.version.hip or "", "cudnn": b.cudnn.version() or "",
    "mkl": b.mkl.is_available(), "mkldnn": b.mkldnn.is_available(),
    "openmp": b.openmp.is_available(), "threads": torch.get_num_threads(),
    "interop_threads": torch.get_num_interop_threads(), "available": torch.cuda.is_available(),
    "numpy": {"version": numpy.__version__, "failed": ""}, "torchvision": None, "torchaudio": None,
    "backends": [n for n in ("gloo", "nccl", "mpi") if getattr(d, "is_%s_available" % n)()],
}))
"""


def verified(nodes: Cluster, *words: str, code: int = 0) -> Any:
    done = nodes.run("verify", *words, "--json")
    assert done.code == code, done.out[-3000:] + done.err
    return done.json["result"]


def meeting(*words: str) -> list[str]:
    return ["--collective", "gloo", "--port", str(free_port()), *words]


def findings(result: Any, what: str) -> dict[str, str]:
    """Host to what is wrong with it."""
    return {each["host"]: each["message"] for each in result["findings"] if each["what"] == what}


@contextlib.contextmanager
def activated(node: Node, text: str) -> Iterator[None]:
    """Something that happens on this node whenever the environment is activated."""
    prefix = (node.envs / "train").resolve()
    hook = prefix / "etc" / "conda" / "activate.d" / "zz-test.sh"
    hook.parent.mkdir(parents=True, exist_ok=True)
    hook.write_text(text)
    yield
    hook.unlink()


def ranks_of(node: Node) -> list[int]:
    """The processes on a node that take part in an all-reduce."""
    found = []
    for pid in node.commands():
        with contextlib.suppress(OSError):
            if b"take_part(" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def is_python(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return "python" in Path(f"/proc/{pid}/exe").resolve().name
    return False


def test_probes_say_what_torch_says_itself(nodes: Cluster) -> None:
    result = verified(nodes)
    for node, host in zip(nodes.nodes, result["hosts"], strict=True):
        python = node.envs / "train" / "bin" / "python"
        words = ["ssh", "-i", str(node.lab.key), "-p", str(node.port), "-o", "BatchMode=yes"]
        words += ["-o", f"UserKnownHostsFile={nodes.folder / 'known_hosts'}", node.address]
        done = subprocess.run(
            [*words, f"{python} -"], input=BY_HAND, text=True, capture_output=True, check=True
        )
        by_hand = json.loads(done.stdout)
        said = host["facts"]["wide"]["torch"]
        assert {name: said[name] for name in by_hand} == by_hand
        assert said["git"] == "cf30153c4c131c8164ee7798e5022d810682e2cb"
        assert host["facts"]["wide"]["failures"] == []
        loaded = dict(host["facts"]["wide"]["runtimes"]["loaded"])
        assert [Path(file).name for file in loaded["openmp"]] == ["libgomp.so.1"]
        assert any("openblas" in file for file in loaded["blas"]), loaded


def test_equal_nodes_compute_equal_bits(nodes: Cluster) -> None:
    result = verified(nodes, "--numeric")
    assert findings(result, "numeric") == {}
    assert result["checks"] == ["numeric: all 28 operations give the same bits on 3 nodes"]
    one, *others = (each["operations"] for each in result["numeric"].values())
    assert all(each == one for each in others)


@pytest.mark.parametrize(
    ("setting", "said", "operations"),
    [
        ("export OMP_NUM_THREADS=1", "OMP_NUM_THREADS is 1, on most nodes not set", "sum fp32"),
        ("export MKL_CBWR=COMPATIBLE", "MKL_CBWR is COMPATIBLE", "matmul fp32 cpu"),
    ],
)
def test_node_that_computes_other_bits_is_named_with_the_reason(
    nodes: Cluster, setting: str, said: str, operations: str
) -> None:
    with activated(nodes.nodes[1], setting + "\n"):
        result = verified(nodes, "--numeric", code=1)
    found = findings(result, "numeric")
    assert list(found) == [nodes.nodes[1].host]
    (message,) = found.values()
    assert said in message
    assert operations in message
    assert "28 operations" in message


def test_flag_that_differs_is_told_although_the_bits_are_equal(nodes: Cluster) -> None:
    node = nodes.nodes[2]
    (site,) = (node.envs / "train").resolve().glob("lib/python3*/site-packages")
    custom = site / "sitecustomize.py"
    custom.write_text(
        # In every Python of the node it would import torch, which takes its time.
        "import sys\nif any('numeric_facts' in word for word in sys.orig_argv):\n"
        "    import torch\n    torch.use_deterministic_algorithms(True, warn_only=True)\n"
    )
    try:
        result = verified(nodes, "--numeric")
    finally:
        custom.unlink()
    told = [each for each in result["remarks"] if each["what"] == "numeric"]
    assert [each["host"] for each in told] == [node.host]
    assert told[0]["message"].startswith("deterministic algorithms is yes, on most nodes no")


def test_all_reduce_over_three_nodes_is_right_and_leaves_nothing_behind(
    nodes: Cluster, tmp_path: Path
) -> None:
    report = tmp_path / "report.md"
    # Two at once, and three ranks that wait for each other.
    result = verified(nodes, *meeting("-j", "2", "--report", str(report)))
    assert findings(result, "collective") == {}
    ranks = result["collective"]["ranks"]
    assert list(ranks) == [node.host for node in nodes.nodes]
    assert all(each["ok"] and each["link_bandwidth"] > 1e6 for each in ranks.values())
    (said,) = result["checks"]
    assert said.startswith("collective: the all-reduce over gloo is right on 3 ranks, ")
    assert said in html.unescape(report.read_text())
    assert [pid for node in nodes.nodes for pid in ranks_of(node)] == []


def test_rank_that_is_stopped_on_its_way_is_named_and_ended(nodes: Cluster) -> None:
    last = nodes.nodes[2]
    stopped: list[int] = []

    def stop() -> None:
        until = time.monotonic() + 60
        while not stopped and time.monotonic() < until:
            for pid in filter(is_python, ranks_of(last)):
                # The one that looks first has no rank in its arguments.
                if b"\0gloo\0" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(pid, signal.SIGSTOP)
                    stopped.append(pid)
            time.sleep(0.002)

    watch = threading.Thread(target=stop)
    watch.start()
    result = verified(nodes, *meeting("--wait", "10"), code=1)
    watch.join()
    assert stopped
    found = findings(result, "collective")
    assert found == {last.host: "rank 2 did not arrive within 10 s; 2 ranks waited for it"}
    for _ in range(100):
        if not ranks_of(last):
            break
        time.sleep(0.2)
    assert ranks_of(last) == []


def test_node_that_does_not_answer_is_told_and_the_others_meet(nodes: Cluster) -> None:
    nodes.nodes[2].stop()
    try:
        result = verified(nodes, *meeting(), code=1)
    finally:
        nodes.nodes[2].start()
    assert result["hosts"][2]["failure"]["cause"] == "refused"
    assert len(result["collective"]["ranks"]) == 2
    assert all(each["ok"] for each in result["collective"]["ranks"].values())


def test_what_is_wrong_with_port_and_interface_is_said_at_once(nodes: Cluster) -> None:
    first = nodes.nodes[0].host
    port = nodes.nodes[0].port  # its own sshd listens there, on another address
    taken = findings(
        verified(nodes, "--collective", "gloo", "--port", str(port), code=1), "collective"
    )
    assert taken == {
        first: f"it takes no part in the all-reduce: port {port} cannot be opened on it: in use"
    }
    none = findings(verified(nodes, *meeting("--interface", "no0"), code=1), "collective")
    assert list(none) == [node.host for node in nodes.nodes]
    assert all("it has no network interface no0, but lo" in each for each in none.values())


@pytest.mark.root
def test_firewall_that_drops_is_said(nodes: Cluster) -> None:
    words = meeting("--wait", "8")
    rule = ["-p", "tcp", "-d", nodes.nodes[0].address, "--dport", words[3], "-j", "DROP"]
    subprocess.run(["iptables", "-w", "-I", "INPUT", *rule], check=True)
    try:
        result = verified(nodes, *words, code=1)
    finally:
        subprocess.run(["iptables", "-w", "-D", "INPUT", *rule], check=True)
    found = findings(result, "collective")
    assert list(found) == [node.host for node in nodes.nodes[1:]]
    assert all("does not answer: something drops what is sent" in each for each in found.values())
