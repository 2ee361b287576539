"""Takes secrets out of text that will be shown, logged or kept."""

from __future__ import annotations

import re

HIDDEN = "***"

_RULES = (
    # user:password@ or token@ in a URL of any scheme
    (re.compile(r"(\b[a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@'\"]+@"), rf"\1{HIDDEN}@"),
    # /t/TOKEN/ in a channel's address (conda docs, "Viewing and using private channels")
    (re.compile(r"(://[^\s'\"]*?/t/)[^\s/'\"]+"), rf"\1{HIDDEN}"),
    # ?token=... and the like
    (
        re.compile(
            r"([?&](?:access_token|token|key|password|secret|auth)=)[^&\s'\"]+", re.IGNORECASE
        ),
        rf"\1{HIDDEN}",
    ),
)


def redact(text: str) -> str:
    """`text` with every credential in a URL replaced; everything else is left as it is."""
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text
