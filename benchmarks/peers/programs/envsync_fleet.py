"""envsync's own transport, as its commands use it: a Fleet, one connection and one exec a node."""

import json
import os
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
work = Command(job["script"], stdin=Path(job["upload"]).read_bytes())


def tell(event: Event) -> None:
    """What failed, and why."""
    if isinstance(event, Failed):
        print(event, file=sys.stderr)


with Fleet(SshTransport(options), tell, Limits(job["at_once"])) as fleet:
    done = fleet.each(hosts, lambda node: node.must(Phase.OBSERVE, work), last=True)
print("".join(each.text for each in done.values()), flush=True)
os._exit(len(done) != len(hosts))  # as the command itself ends (envsync/__main__.py)
