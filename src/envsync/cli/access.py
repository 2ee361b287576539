"""What options say of channels and indexes, with the files and variables of this machine."""

from __future__ import annotations

import os
from collections.abc import Sequence

from envsync.access import Access
from envsync.cli.reaching import Reaching
from envsync.mirrors import Mirrors, read_mirrors
from envsync.network import read_certificates, read_proxy


def mirrors_of(channel_map: Sequence[str]) -> Mirrors:
    """With the values of variables. Raises InputError."""
    return read_mirrors(channel_map).filled(os.environ)


def access_of(reaching: Reaching) -> Access:
    """With the values of variables, and the certificates. Raises InputError."""
    return Access(
        mirrors_of(reaching.channel_map),
        dict(os.environ),
        read_proxy(reaching.proxy, os.environ) if reaching.proxy else "",
        reaching.no_proxy,
        read_certificates(reaching.ca_bundle) if reaching.ca_bundle else b"",
        reaching.override,
    )
