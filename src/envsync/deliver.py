"""Sends nodes what they lack of a lock, over the connection that is there anyway."""

from __future__ import annotations

from collections.abc import Mapping

from envsync.errors import HostError
from envsync.events import Failed, Noted, Phase, Progress
from envsync.findings import Supplied
from envsync.model import Platform
from envsync.node import Node
from envsync.parcels import (
    Parcel,
    Place,
    Shipment,
    Source,
    Stock,
    ask,
    damaged,
    offline,
    parse_stock,
    parse_wrong,
    sent,
    shipment,
)
from envsync.plan import Action, Plan, Step
from envsync.recipe import Recipe
from envsync.runner import Fleet
from envsync.solve import Canaries
from envsync.spec import EnvironmentSpec

Supplies = Mapping[Platform, tuple[Parcel, ...]]
"""The files of each section of a lock."""


def refuse_unsolved(fleet: Fleet, canaries: Canaries) -> None:
    """Say of the hosts whose platform the lock does not know that nothing is solved for them."""
    for platform, hosts in canaries.candidates.items():
        for host in hosts:
            fleet.emit(
                Failed(
                    host,
                    Phase.OBSERVE,
                    "not-locked",
                    f"the lock says nothing of {platform}, and nothing is solved without the"
                    " internet",
                    f"`envsync lock HOSTS` on a host of that platform ({platform.subdir}) that has"
                    " it, then push again",
                )
            )


def gather(fleet: Fleet, plan: Plan, spec: EnvironmentSpec, source: Source) -> Supplies:
    """Fetch to this machine what those who have to build need. Raises InputError."""
    building = [step for step in plan.steps if step.action is Action.BUILD]
    sections = {
        step.recipe.locked.platform: step.recipe.locked for step in building if step.recipe.locked
    }

    def tell(line: str) -> None:
        for step in building:
            fleet.emit(Progress(step.host, Phase.GATHER, line))

    return {platform: source(spec, section, tell) for platform, section in sections.items()}


def deliver(node: Node, step: Step, supplies: Supplies) -> Recipe:
    """Bring the node what it lacks; how it builds from that. Raises HostError."""
    parcels, place = files_of(step, supplies), Place.of(step)
    stock = parse_stock(node.run(Phase.UPLOAD, ask(step.conda, place, parcels)))
    made = shipment(parcels, stock)
    if made.parcels:
        upload(node, place, stock, made)
    node.emit(Noted(node.host, f"sent {sent(parcels, made)}"))
    return offline(step.recipe, place, parcels)


def upload(node: Node, place: Place, stock: Stock, made: Shipment, *, last: bool = True) -> None:
    """Send it; what arrives damaged, once more. Raises HostError.

    Until the `last` time parts of other files stay.
    """
    wrong = parse_wrong(node.must(Phase.UPLOAD, made.send(place, stock, last=last)))
    node.emit(Supplied(node.host, None, made.size))
    if wrong:
        again = made.only(wrong)
        wrong = parse_wrong(node.must(Phase.UPLOAD, again.send(place, stock, last=last)))
        node.emit(Supplied(node.host, None, again.size))
    if wrong:
        raise damaged(wrong)


def say_deliveries(fleet: Fleet, plan: Plan, supplies: Supplies, *, relay: bool) -> None:
    """How much would be sent to each host that has to build; sends nothing.

    With `relay` it would get that, from whomever.
    """
    verb = "get" if relay else "send"
    steps = {step.host: step for step in plan.steps if step.action is Action.BUILD}

    def look(node: Node) -> None:
        step = steps[node.host]
        parcels = files_of(step, supplies)
        stock = parse_stock(node.run(Phase.OBSERVE, ask(step.conda, Place.of(step), parcels)))
        node.emit(Noted(node.host, f"would {verb} {sent(parcels, shipment(parcels, stock))}"))

    fleet.each(steps, look)


def files_of(step: Step, supplies: Supplies) -> tuple[Parcel, ...]:
    """What its host needs. Raises HostError where that was not fetched."""
    if step.recipe.locked is None or step.recipe.locked.platform not in supplies:
        # Between the plan and its turn another push has removed what was there.
        raise HostError(
            "not-gathered",
            "it has to build now, and had not when the push began",
            hint="push again",
        )
    return supplies[step.recipe.locked.platform]
