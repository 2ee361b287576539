"""A big file to each node with envsync's own transport: one exec, the file on standard input."""

import json
import sys
from pathlib import Path

from envsync.events import Event, Failed, Phase
from envsync.limits import Limits
from envsync.model import Host
from envsync.ports import Command
from envsync.runner import Fleet
from envsync.transport.connect import SshOptions, SshTransport

job = json.loads(Path(sys.argv[1]).read_text())
hosts = [Host(address, port=job["port"], user=job["user"]) for address in job["addresses"]]
options = SshOptions((Path(job["key"]),), (Path(job["known_hosts"]),))
script = 'set -- $SSH_CONNECTION; cat >"$HOME/up-$3"'
work = Command(script, stdin=Path(job["upload"]), timeout=600.0)


def tell(event: Event) -> None:
    """What failed, and why."""
    if isinstance(event, Failed):
        print(event, file=sys.stderr)


with Fleet(SshTransport(options), tell, Limits(job["at_once"])) as fleet:
    done = fleet.each(hosts, lambda node: node.must(Phase.UPLOAD, work), last=True)
sys.exit(len(done) != len(hosts))
