"""resume and log, the verbs: carry a decision out to its end; who switched what on the nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from envsync.commit import Decision, carry_out, not_asked
from envsync.errors import HostError
from envsync.events import Ended, Outcome
from envsync.hold import Ticket, holding
from envsync.model import Host
from envsync.node import Node
from envsync.observation import Switch
from envsync.runner import Fleet
from envsync.survey import observe


def resume(fleet: Fleet, decision: Decision, ticket: Ticket) -> frozenset[Host]:
    """Switch the hosts of a decision that have not switched; those that hold it then."""
    places = {flip.host: flip.slot.envs_dir for flip in decision.flips}
    with holding(fleet, places, decision.name, ticket, blame=not_asked) as held:
        there = Decision(
            decision.name,
            decision.operator,
            tuple(flip for flip in decision.flips if flip.host in held.hosts),
        )
        return carry_out(fleet, there, held.shares)


def histories(fleet: Fleet, hosts: Sequence[Host], name: str) -> Mapping[Host, tuple[Switch, ...]]:
    """What became current on each host, oldest first, as the host itself remembers it."""

    def read(node: Node) -> tuple[Switch, ...]:
        seen = observe(node, name)
        if not seen.history:
            raise HostError(
                "no-environment",
                f"it remembers no switch of {name}",
                hint="`envsync push` makes the environment",
            )
        return seen.history

    found = fleet.each(hosts, read, last=True)
    for host in found:
        fleet.emit(Ended(host, Outcome.PROBED))
    return found
