"""The nodes, as pyinfra reads them."""

import json
import os
from pathlib import Path

job = json.loads(Path(os.environ["FANOUT_JOB"]).read_text())
nodes = (
    job["addresses"],
    {
        "ssh_port": job["port"],
        "ssh_user": job["user"],
        "ssh_key": job["key"],
        "ssh_known_hosts_file": job["known_hosts"],
        "ssh_strict_host_key_checking": "yes",
        "ssh_allow_agent": False,
        "ssh_look_for_keys": False,
    },
)
