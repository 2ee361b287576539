"""A small HTTP proxy that wants a login, and certificates of an authority of one's own."""

from __future__ import annotations

import base64
import contextlib
import ipaddress
import select
import socket
import ssl
import threading
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Proxy:
    """Opens tunnels (CONNECT) on loopback for whoever has the login."""

    def __init__(self, login: str) -> None:
        self.tunnels: list[str] = []
        """Where to, of each tunnel."""
        self.refused = 0
        self.wants = f"Basic {base64.b64encode(login.encode()).decode()}"
        proxy = self

        class Handler(_Tunnel):
            owner = proxy

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Tunnel(BaseHTTPRequestHandler):
    owner: Proxy

    def do_CONNECT(self) -> None:
        if self.headers.get("Proxy-Authorization") != self.owner.wants:
            self.owner.refused += 1
            self.send_error(407)
            return
        host, _, port = self.path.rpartition(":")
        self.owner.tunnels.append(self.path)
        with socket.create_connection((host, int(port)), 10) as there:
            self.send_response(200)
            self.end_headers()
            with contextlib.suppress(ConnectionError):  # either end may go without a word
                _carry({self.connection: there, there: self.connection})

    def log_message(self, *_: Any) -> None:
        """Say nothing on standard error."""


def _carry(ends: Mapping[socket.socket, socket.socket]) -> None:
    while True:
        for ready in select.select(list(ends), [], [], 60)[0]:
            data = ready.recv(65536)
            if not data:
                return
            ends[ready].sendall(data)


def authority(folder: Path, address: str) -> tuple[Path, ssl.SSLContext]:
    """The certificate of a new authority, and a server's context with one that it has signed."""
    ca_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    ca_name, name = (
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, each)]) for each in ("Ours", address)
    )
    now = datetime.now(UTC)

    def builder(subject: x509.Name, of: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        made = x509.CertificateBuilder().subject_name(subject).issuer_name(ca_name)
        made = made.public_key(of.public_key()).serial_number(x509.random_serial_number())
        return made.not_valid_before(now - timedelta(days=1)).not_valid_after(
            now + timedelta(days=1)
        )

    usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
    identifier = x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key())
    ca = (
        builder(ca_name, ca_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(identifier, critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
    issuer = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier)
    signed = (
        builder(name, key)
        .add_extension(names, critical=False)
        .add_extension(issuer, critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    folder.mkdir(parents=True, exist_ok=True)
    pem = serialization.Encoding.PEM
    (folder / "ca.pem").write_bytes(ca.public_bytes(pem))
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "server.pem").write_bytes(secret + signed.public_bytes(pem))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "server.pem")
    return folder / "ca.pem", context
