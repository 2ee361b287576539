"""What keeps a run within bounds, and what is said of hosts that it leaves out."""

from __future__ import annotations

from dataclasses import dataclass, replace

from envsync.errors import HostError

MOST_AT_ONCE = 1024
"""Hosts: more threads than this help nobody."""
LONGEST = 366 * 86400.0
"""Seconds that anybody may want to wait: clocks and `timeout(1)` have no infinity."""


@dataclass(frozen=True)
class Limits:
    """What keeps a run within bounds."""

    fan_out: int = 32
    """How many hosts at once."""
    waiting: int = 32
    """How many at once where the hosts do the work and we just wait for them."""
    max_failures: int | None = None
    """With more hosts than this that fail in one step, the others are not tried any more."""
    deadline: float | None = None
    """The moment, on the monotonic clock, at which the run is over."""

    def lifted(self) -> Limits:
        """As many hosts at once, but all of them, and to the end."""
        return replace(self, max_failures=None, deadline=None)


def not_tried() -> HostError:
    """For a host that was spared, since others failed before it."""
    return HostError(
        "not-tried",
        "it was not tried: more hosts failed before than --max-failures allows",
        hint="see to the others first",
    )


def out_of_time() -> HostError:
    """For a host that was not done when the whole run had to be."""
    return HostError(
        "deadline",
        "the time for the whole run was over",
        hint="run it again, perhaps with a longer --deadline: finished work is kept",
    )
