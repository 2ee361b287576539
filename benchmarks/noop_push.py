"""A push that changes nothing, on 64 hosts, against just connecting to them and running `true`.

The peer is a program of a dozen lines over the same transport and fan-out; `ssh` itself, as many
at a time, is shown beside it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench import cluster, compare, seconds

ROUNDS = 5
LIMIT = 1.5

PEER = """
import sys
from pathlib import Path
from envsync.events import Phase
from envsync.inventory import read_inventory
from envsync.ports import Command
from envsync.runner import Fleet
from envsync.transport.connect import SshOptions, SshTransport

hosts = read_inventory(sys.argv[1], sys.stdin).hosts
options = SshOptions(identity_files=(Path(sys.argv[2]),), known_hosts=(Path(sys.argv[3]),))
with Fleet(SshTransport(options), lambda event: None, 32) as fleet:
    done = fleet.each(hosts, lambda node: node.must(Phase.OBSERVE, Command("true")))
sys.exit(len(done) != len(hosts))
"""

SSH = (
    "xargs -P 32 -I{} sh -c 'h={}; ssh -i \"$0\" -o UserKnownHostsFile=\"$1\" -o BatchMode=yes"
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

        def peer() -> None:
            subprocess.run([sys.executable, "-c", PEER, str(hosts), key, known], check=True)

        def ssh() -> None:
            with Path(hosts).open() as names:
                subprocess.run(
                    ["sh", "-c", SSH, key, known], stdin=names, check=True, capture_output=True
                )

        figures: dict[str, list[float]] = {"push": [], "peer": [], "ssh": []}
        for _ in range(ROUNDS):
            figures["push"].append(seconds(push))
            figures["peer"].append(seconds(peer))
            figures["ssh"].append(seconds(ssh))
        quiet = starts == [len(node.conda_starts) for node in lab.nodes]
        print(f"no conda was started: {quiet}")
        compare("ssh, 32 at once, against the peer", figures["ssh"], figures["peer"], "s", 99)
        good = compare("push that changes nothing", figures["push"], figures["peer"], "s", LIMIT)
        return 0 if good and quiet else 1


if __name__ == "__main__":
    sys.exit(main())
