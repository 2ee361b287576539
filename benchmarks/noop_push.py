"""A push that changes nothing, on 64 hosts, against just connecting to them and running `true`.

The peer is the program that one writes for that: paramiko's client in 32 threads. Beside it stand
the same over envsync's own transport, and `ssh` itself, as many at once.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from bench import cluster, compare, seconds

ROUNDS = 5
LIMIT = 1.5

PARAMIKO = """
import sys
from concurrent.futures import ThreadPoolExecutor
import paramiko

def true(host):
    name, _, port = host.rpartition(":")
    client = paramiko.SSHClient()
    client.load_host_keys(sys.argv[3])
    client.connect(name, int(port), pkey=key, allow_agent=False, look_for_keys=False)
    code = client.exec_command("true")[1].channel.recv_exit_status()
    client.close()
    return code

key = paramiko.Ed25519Key.from_private_key_file(sys.argv[2])
hosts = open(sys.argv[1]).read().split()
with ThreadPoolExecutor(32) as pool:
    sys.exit(any(pool.map(true, hosts)))
"""

OURS = """
import sys
from pathlib import Path
from envsync.events import Phase
from envsync.inventory import read_inventory
from envsync.ports import Command
from envsync.limits import Limits
from envsync.runner import Fleet
from envsync.transport.connect import SshOptions, SshTransport

hosts = read_inventory(sys.argv[1], sys.stdin).hosts
options = SshOptions(identity_files=(Path(sys.argv[2]),), known_hosts=(Path(sys.argv[3]),))
with Fleet(SshTransport(options), lambda event: None, Limits(32)) as fleet:
    done = fleet.each(hosts, lambda node: node.must(Phase.OBSERVE, Command("true")))
sys.exit(len(done) != len(hosts))
"""

SSH = (
    'xargs -P 32 -I{} sh -c \'h={}; ssh -i "$0" -o UserKnownHostsFile="$1" -o BatchMode=yes'
    ' -p "${h##*:}" "${h%:*}" true\' "$0" "$1"'
)


def main() -> int:
    """Alternate the contenders, so that a busy moment of the machine meets all of them."""
    with cluster(4, hosts_a_node=16) as lab:
        lab.write_environment("numlike=1.26", "tiny", pip=["einlike==0.8.0"])
        first = lab.run("push", "hosts.txt")
        if first.code:
            print(first.out, first.err)
            return 1
        key, known = str(lab.lab.key), str(lab.folder / "known_hosts")
        hosts = lab.folder / "hosts.txt"
        starts = [len(node.conda_starts) for node in lab.nodes]

        def push() -> None:
            subprocess.run(
                lab.command("push", "hosts.txt"), cwd=lab.folder, check=True, capture_output=True
            )

        def program(text: str) -> None:
            words = [sys.executable, "-c", text, str(hosts), key, known]
            subprocess.run(words, check=True)

        def ssh() -> None:
            with Path(hosts).open() as names:
                subprocess.run(
                    ["sh", "-c", SSH, key, known], stdin=names, check=True, capture_output=True
                )

        contenders: dict[str, Callable[[], None]] = {
            "push": push,
            "paramiko": lambda: program(PARAMIKO),
            "own transport": lambda: program(OURS),
            "ssh": ssh,
        }
        figures: dict[str, list[float]] = {name: [] for name in contenders}
        for _ in range(ROUNDS):
            for name, run in contenders.items():
                figures[name].append(seconds(run))
        quiet = starts == [len(node.conda_starts) for node in lab.nodes]
        print(f"no conda was started: {quiet}")
        for name in ("own transport", "ssh"):
            compare(f"{name}, for comparison", figures[name], figures["paramiko"], "s", 99)
        good = compare("push", figures["push"], figures["paramiko"], "s", LIMIT)
        return 0 if good and quiet else 1


if __name__ == "__main__":
    sys.exit(main())
