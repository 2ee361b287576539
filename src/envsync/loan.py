"""What a program on a node is lent for as long as it runs, so that it reaches channels and indexes.

`scripts/lend.sh` takes it. It travels with the script, on standard input: never on a command line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

CERTIFICATES = "ca.pem"
"""The suffix of the certificates, which lie beside the prefix: they may be too many to lend."""


@dataclass(frozen=True)
class Loan:
    """Logins, proxies and how to read addresses; empty where a node needs none of it."""

    netrc: str = field(default="", repr=False)
    """Lines of a netrc file, which conda, mamba, micromamba and pip read (`NETRC`)."""
    back: tuple[tuple[str, str], ...] = ()
    """Addresses that were asked in place of others, the longest first, each with the other."""
    proxy: str = field(default="", repr=False)
    no_proxy: str = ""
    override: bool = False
    """Also where the node has settings of its own."""
    index: str = field(default="", repr=False)
    """What pip asks where nothing names an index."""

    @property
    def args(self) -> Sequence[str]:
        """For `lend`: always as many."""
        pairs = "".join(f"{mirror}\t{original}\n" for mirror, original in self.back)
        override = "override" if self.override else ""
        return (self.netrc, self.proxy, self.no_proxy, override, self.index, pairs)


NOTHING = Loan()
