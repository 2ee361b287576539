"""The yardstick: paramiko with all that is known to help, and nothing else around it."""

import json
import logging
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import paramiko

job = json.loads(Path(sys.argv[1]).read_text())
logging.getLogger("paramiko").addHandler(logging.NullHandler())
key = paramiko.Ed25519Key.from_private_key_file(job["key"])
known = paramiko.HostKeys(job["known_hosts"])
upload = Path(job["upload"]).read_bytes()


def first(available: tuple[str, ...], wanted: str) -> tuple[str, ...]:
    """What is available, the wanted one first."""
    return tuple(dict.fromkeys([wanted, *available]))


def work(address: str) -> str:
    """Everything that is done on one node."""
    sock = socket.create_connection((address, job["port"]), 10)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    transport = paramiko.Transport(sock)
    options = transport.get_security_options()
    options.kex = first(options.kex, "curve25519-sha256@libssh.org")
    options.ciphers = first(options.ciphers, "aes128-gcm@openssh.com")
    options.key_types = first(options.key_types, "ssh-ed25519")
    transport.start_client(timeout=10)
    offered = transport.get_remote_server_key()
    if not known.check(f"[{address}]:{job['port']}", offered):
        raise SystemExit(f"{address}: unknown host key")
    transport.auth_publickey(job["user"], key)
    channel = transport.open_session()
    channel.exec_command(job["script"])
    channel.sendall(upload)
    channel.shutdown_write()
    answer = channel.makefile().read().decode()
    if channel.recv_exit_status():
        raise SystemExit(f"{address}: failed")
    transport.close()
    return answer


with ThreadPoolExecutor(job["at_once"]) as pool:
    print("".join(pool.map(work, job["addresses"])))
