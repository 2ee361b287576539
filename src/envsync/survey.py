"""What a connected node is asked about itself; each answer is an event as well."""

from __future__ import annotations

import time

from envsync import observation
from envsync.events import Phase
from envsync.facts import Facts
from envsync.findings import Observed, Probed
from envsync.node import Node
from envsync.observation import Observation
from envsync.probes import facts


def observe(node: Node, name: str) -> Observation:
    """What the node has of the environment `name`, before anything is done."""
    seen = observation.parse(node.run(Phase.OBSERVE, observation.observe(name)))
    node.emit(Observed(node.host, seen))
    return seen


def probe(node: Node, prefix: str, *, wide: bool = False) -> Facts:
    """What `prefix` holds. Raises HostError where there is none.

    With `wide` the wider facts as well, which takes longer.
    """
    command = facts.wide_probe(prefix) if wide else facts.probe(prefix)
    asked = time.time()
    found = facts.parse(node.run(Phase.PROBE, command), asked)
    node.emit(Probed(node.host, found))
    return found
