"""parallel-ssh: its native client (libssh2 under gevent), one command a node.

It has no setting for known_hosts, and no end-of-file for a command's standard input in public:
the upload travels in the command's words.
"""

import json
import sys
from pathlib import Path

from pssh.clients import ParallelSSHClient

job = json.loads(Path(sys.argv[1]).read_text())
client = ParallelSSHClient(
    job["addresses"],
    port=job["port"],
    user=job["user"],
    pkey=job["key"],
    allow_agent=False,
    identity_auth=False,
    pool_size=job["at_once"],
)
outputs = client.run_command(job["inline_script"])
client.join(outputs)
for output in outputs:
    print("\n".join(output.stdout))
sys.exit(any(output.exit_code for output in outputs))
