"""Certificates: whether an authority vouches for a host's key, and which key one is made for.

The form and the rules are those of OpenSSH's PROTOCOL.certkeys.
"""

from __future__ import annotations

import base64
import fnmatch
import time
from pathlib import Path

import paramiko
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import (
    SSHCertificate,
    SSHCertificateType,
    SSHCertPublicKeyTypes,
)

_SUFFIX = "-cert-v01@openssh.com"
ALGORITHMS = tuple(
    f"{name}{_SUFFIX}"
    for name in (
        "ssh-ed25519",
        "ecdsa-sha2-nistp256",
        "ecdsa-sha2-nistp384",
        "ecdsa-sha2-nistp521",
        "rsa-sha2-512",
        "rsa-sha2-256",
    )
)


def plain_type(name: str) -> str:
    """The type of the key in a certificate of that type."""
    return name.removesuffix(_SUFFIX)


def certificate_of(key: paramiko.PKey) -> SSHCertificate | None:
    """What a server sent in place of a bare key; None for a bare key and for nonsense."""
    blob = getattr(key, "public_blob", None)
    if blob is None or _SUFFIX not in blob.key_type:
        return None
    return _parse(f"{blob.key_type} ".encode() + base64.b64encode(blob.key_blob))


def key_of(file: Path) -> bytes:
    """The public key in a `-cert.pub` file; empty if there is none."""
    try:
        certificate = _parse(file.read_bytes())
    except OSError:
        return b""
    return _bare(certificate.public_key()) if certificate else b""


def _parse(text: bytes) -> SSHCertificate | None:
    try:
        found = serialization.load_ssh_public_identity(text)
    except (ValueError, UnsupportedAlgorithm):
        return None
    return found if isinstance(found, SSHCertificate) else None


def _bare(key: SSHCertPublicKeyTypes) -> bytes:
    """A public key as the second word of its `.pub` file holds it."""
    encoding, form = serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    return base64.b64decode(key.public_bytes(encoding, form).split()[1])


def signer(certificate: SSHCertificate) -> bytes:
    """The authority's public key, as known_hosts has it."""
    return _bare(certificate.signature_key())


def flaw(certificate: SSHCertificate, name: str) -> str:
    """Why the certificate does not vouch for the host `name` now; empty if it does."""
    try:
        certificate.verify_cert_signature()
    except (InvalidSignature, UnsupportedAlgorithm, ValueError):
        return "its signature is wrong"
    now = time.time()
    principals = [each.decode("utf-8", "replace") for each in certificate.valid_principals]
    named = not principals or any(fnmatch.fnmatchcase(name, each) for each in principals)
    flaws = {
        "it is a user's, not a host's": certificate.type is not SSHCertificateType.HOST,
        "it has options that are not understood": bool(certificate.critical_options),
        "it is not valid yet (or this machine's clock is behind)": now < certificate.valid_after,
        "it has expired": now >= certificate.valid_before,
        f"it is for {', '.join(principals)}, not for {name}": not named,
    }
    return next((text for text, is_so in flaws.items() if is_so), "")
