"""verify of 64 hosts against clush, which runs the same probe file on them; as many at once.

The file is the one command with which verify asks a node for all that it judges. clush reads it
on standard input and gives it to a shell on each node; what it brings back is checked to be 64
whole answers, and of verify that it found 64 nodes alike, in one row.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial

from bench import cluster, compare
from peers.farm import CURVE
from peers.install import install
from peers.measure import Run, measure

from cluster.lab import Cluster
from envsync.probes import facts
from envsync.transport.shell import script_text

NODES, HOSTS_A_NODE = 4, 16
AT_ONCE = 16
LIMIT = 1.5


def main() -> int:
    """The contenders take turns, so that a busy moment of the machine meets all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="runs of which to take medians")
    rounds = parser.parse_args().rounds
    tools = install()
    if "clush" in tools.absent:
        print(tools.absent["clush"])
        return 1
    with cluster(NODES, hosts_a_node=HOSTS_A_NODE) as lab:
        lab.write_environment("numlike=1.26", "tiny", pip=["einlike==0.8.0"])
        first = lab.run("push", "hosts.txt")
        if first.code:
            print(first.out, first.err)
            return 1
        _write_client_files(lab)
        runs = {
            "verify": partial(_verify, lab),
            f"clush {CURVE}": partial(_clush, lab, tools.program("clush"), CURVE),
            "clush default key exchange": partial(_clush, lab, tools.program("clush"), ""),
        }
        figures: dict[str, list[Run]] = {name: [] for name in runs}
        for number in range(rounds + 1):
            for name, run in runs.items():
                done = run()
                if number:  # the first round warms up
                    figures[name].append(done)
                print(f"{name}: {done.wall:.2f} s, client's CPU {done.cpu:.2f} s", flush=True)
    ours = [run.wall for run in figures.pop("verify")]
    ends = [
        compare(f"verify beside {name}", ours, [run.wall for run in theirs], "s", LIMIT)
        for name, theirs in figures.items()
    ]
    print(", ".join(f"{name} {number}" for name, number in sorted(tools.versions.items())))
    return 0 if all(ends) else 1


def _write_client_files(lab: Cluster) -> None:
    """The probe file, the names for clush, and where they lead."""
    prefix = lab.nodes[0].envs / "train"
    script = script_text(facts.wide_probe(str(prefix)))
    # Each node has a home of its own.
    script = script.replace(str(lab.nodes[0].home), '"$HOME"')
    (lab.folder / "probe.sh").write_text(script)
    hosts = [host.rpartition(":") for node in lab.nodes for host in node.hosts]
    (lab.folder / "names").write_text("".join(f"h{number}\n" for number in range(len(hosts))))
    common = (
        f"Host *\nIdentityFile {lab.lab.key}\nIdentitiesOnly yes\nBatchMode yes\n"
        f"UserKnownHostsFile {lab.folder}/known_hosts\nGlobalKnownHostsFile /dev/null\n"
    )
    blocks = "".join(
        f"Host h{number}\nHostName {address}\nPort {port}\n"
        for number, (address, _, port) in enumerate(hosts)
    )
    (lab.folder / "config-").write_text(blocks + common)
    (lab.folder / f"config-{CURVE}").write_text(f"{blocks}{common}KexAlgorithms {CURVE}\n")


def _verify(lab: Cluster) -> Run:
    words = lab.command("verify", "hosts.txt", "-j", str(AT_ONCE))
    done = measure(words, {"PATH": "/usr/bin:/bin", "COLUMNS": "200"}, lab.folder)
    rows = [line for line in done.output.splitlines() if " ok " in line]
    alike = f"{NODES * HOSTS_A_NODE} nodes hold train, all alike."
    if done.code or len(rows) != 1 or alike not in done.output:
        raise SystemExit(f"verify: exit code {done.code}\n{done.output}")
    return done


def _clush(lab: Cluster, program: str, kex: str) -> Run:
    feed = 'exec "$@" <probe.sh'
    line = [program, f"-f{AT_ONCE}", "-S", "--hostfile=names", f"-o-F {lab.folder}/config-{kex}"]
    env = {"PATH": "/usr/bin:/bin", "HOME": str(lab.folder)}
    done = measure(["sh", "-c", feed, "sh", *line, "sh -s"], env, lab.folder)
    whole = sum(": @@end 0" in line for line in done.output.splitlines())
    answers = sum('"probes"' in line for line in done.output.splitlines())
    if done.code or not whole == answers == NODES * HOSTS_A_NODE:
        raise SystemExit(f"clush: exit code {done.code}, {whole} answers\n{done.output[-3000:]}")
    return done


if __name__ == "__main__":
    sys.exit(main())
