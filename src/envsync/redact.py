"""Takes secrets out of text that will be shown, logged or kept, and puts them back for pip.

A terminal's orders are taken out of what is shown as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

HIDDEN = "***"

# One match takes the whole address, so that the time stays linear in the text, which may be
# anything that a node prints. Quotes end an address: text around it stays as it is.
_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]{0,30}://[^\s'\"]+")
# /t/TOKEN/ in a channel's address (conda docs, "Viewing and using private channels")
_CHANNEL_TOKEN = re.compile(r"/t/[^/?#]+")
_QUERY = re.compile(
    r"([?&][\w-]*(?:token|key|password|passwd|secret|auth|credential|signature|sig)=)[^&\s'\"]+",
    re.IGNORECASE,
)


def redact(text: str) -> str:
    """`text` with every credential in a URL replaced; everything else is left as it is."""
    return _QUERY.sub(rf"\1{HIDDEN}", _ADDRESS.sub(_without_credentials, text))


def bare(url: str) -> str:
    """An address without its credentials: what may stand in a file that goes into Git."""
    scheme, separator, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    host = authority.rpartition("@")[2]
    return scheme + separator + host + _CHANNEL_TOKEN.sub("", slash + path, count=1)


def restore(text: str, addresses: Iterable[str]) -> str:
    """`text` with the credentials of those `addresses` that it names without them.

    A reference to a commit or a part (`@main`, `#egg=...`) is no part of an address here.
    """
    plain = {re.sub(r"(?<=[^/:])(@[^/@]*)?([#?].*)?$", "", each) for each in addresses}
    for full in sorted(plain, key=len, reverse=True):
        if bare(full) != full:
            text = text.replace(bare(full), full)
    return text


def _without_credentials(found: re.Match[str]) -> str:
    """user:password@ or token@, in each of the addresses that may hang together by a comma."""
    scheme, *rest = found[0].split("://")
    parts = [scheme]
    for part in rest:
        authority, slash, path = part.partition("/")
        # Up to the last @: passwords with an unescaped one are common.
        host = authority.rpartition("@")[2]
        user = f"{HIDDEN}@" if "@" in authority else ""
        parts.append(user + host + _CHANNEL_TOKEN.sub(f"/t/{HIDDEN}", slash + path))
    return "://".join(parts)


_ORDERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def harmless(text: str) -> str:
    """Without a terminal's orders: C0 but for tab and line feed, DEL, and C1 (ECMA-48)."""
    return _ORDERS.sub("", text)
