"""asyncssh with all that helps it: cheap algorithms, no agent, no config, files read once."""

import asyncio
import json
import sys
from pathlib import Path

import asyncssh

job = json.loads(Path(sys.argv[1]).read_text())
upload = Path(job["upload"]).read_bytes()
options = asyncssh.SSHClientConnectionOptions(
    username=job["user"],
    client_keys=[asyncssh.read_private_key(job["key"])],
    known_hosts=asyncssh.read_known_hosts(job["known_hosts"]),
    agent_path=None,
    config=None,
    kex_algs=["curve25519-sha256"],
    encryption_algs=["aes128-gcm@openssh.com"],
    server_host_key_algs=["ssh-ed25519"],
    compression_algs=None,
    preferred_auth="publickey",
)


async def work(address: str, gate: asyncio.Semaphore) -> str:
    """Everything that is done on one node."""
    async with gate, asyncssh.connect(address, job["port"], options=options) as connection:
        done = await connection.run(job["script"], input=upload, encoding=None, check=True)
        return bytes(done.stdout).decode()


async def main() -> None:
    """All nodes, some at once."""
    gate = asyncio.Semaphore(job["at_once"])
    print("".join(await asyncio.gather(*(work(each, gate) for each in job["addresses"]))))


asyncio.run(main())
