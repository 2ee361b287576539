"""Fabric: a Connection a node in a thread pool, `put` for the upload, `run` for the commands."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import paramiko
from fabric import Config, Connection

job = json.loads(Path(sys.argv[1]).read_text())
before, _, after = job["script"].partition("cat >$HOME/up-$3 && ")
settings = Config(
    overrides={"load_ssh_configs": False, "run": {"hide": True, "in_stream": False}},
)


def work(address: str, own: Config) -> str:
    """Everything that is done on one node."""
    with Connection(
        address,
        user=job["user"],
        port=job["port"],
        config=own,
        connect_kwargs={
            "key_filename": job["key"],
            "allow_agent": False,
            "look_for_keys": False,
        },
    ) as node:
        node.client.load_host_keys(job["known_hosts"])
        node.client.set_missing_host_key_policy(paramiko.RejectPolicy())
        home = node.run("echo $HOME").stdout.strip()
        node.put(job["upload"], f"{home}/up-{address}")
        return node.run(before + after).stdout


with ThreadPoolExecutor(job["at_once"]) as pool:
    # Connections that share settings disturb each other: threads change them while one iterates.
    each = [settings.clone() for _ in job["addresses"]]
    print("".join(pool.map(work, job["addresses"], each)))
