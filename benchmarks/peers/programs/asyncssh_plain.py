"""asyncssh as its documentation shows it: files by name, default algorithms."""

import asyncio
import json
import sys
from pathlib import Path

import asyncssh

job = json.loads(Path(sys.argv[1]).read_text())
upload = Path(job["upload"]).read_bytes()


async def work(address: str, gate: asyncio.Semaphore) -> str:
    """Everything that is done on one node."""
    async with (
        gate,
        asyncssh.connect(
            address,
            job["port"],
            username=job["user"],
            client_keys=[job["key"]],
            known_hosts=job["known_hosts"],
        ) as connection,
    ):
        done = await connection.run(job["script"], input=upload, encoding=None, check=True)
        return bytes(done.stdout).decode()


async def main() -> None:
    """All nodes, some at once."""
    gate = asyncio.Semaphore(job["at_once"])
    print("".join(await asyncio.gather(*(work(each, gate) for each in job["addresses"]))))


asyncio.run(main())
