"""Nodes hand packages on to each other, so that this machine sends each of them once or twice.

The node that lacks something fetches it, by its own ssh and with what its user may log in with;
what the other one's host key is, it is told. `envsync.waves` decides who goes to whom. Where
that does not work, this machine sends instead, and says so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from envsync import scripts
from envsync.deliver import Supplies, files_of, upload
from envsync.errors import CommandTimeoutError, HostError, LinkLostError
from envsync.events import Noted, Phase
from envsync.findings import Supplied
from envsync.model import Host
from envsync.node import Node
from envsync.parcels import (
    Parcel,
    Place,
    Shipment,
    Stock,
    ask,
    offline,
    parse_stock,
    parse_wrong,
    sent,
    shipment,
)
from envsync.plan import Action, Step
from envsync.ports import Command, Completed, Handed, Peer, Reached
from envsync.redact import redact
from envsync.runner import Fleet
from envsync.waves import State, Transfer, plan_wave

PATIENCE = 60.0
"""Seconds for a login and all that is no transfer."""
FAST = 5_000_000
"""Bytes a second below which a node is too slow to hand on: another one may be faster."""


@dataclass(frozen=True)
class Site:
    """A node among those that hand on."""

    step: Step
    parcels: tuple[Parcel, ...]
    stock: Stock
    peer: Peer | None
    """How others reach it; None: they must not, since its host key is not known."""
    made: Shipment
    """What it lacked in the beginning."""

    @property
    def place(self) -> Place:
        return Place.of(self.step)

    @property
    def lacks(self) -> Mapping[str, int]:
        """Bytes to come, by the hash of each file."""
        lacking = shipment(self.parcels, self.stock).parcels
        return {parcel.sha256: parcel.size - there for parcel, there in lacking}

    @property
    def holds(self) -> frozenset[str]:
        found = (each.sha256 for each in self.parcels if each.name in self.stock.holds)
        return frozenset(found if self.peer else ())

    def part(self, files: Collection[str]) -> Shipment:
        """What is to come of these."""
        return shipment([each for each in self.parcels if each.sha256 in files], self.stock)

    def after(self, made: Shipment) -> Site:
        """When that has arrived."""
        names = [parcel.name for parcel, _ in made.parcels]
        return replace(self, stock=self.stock.with_all(names))

    def give(self, made: Shipment) -> Command:
        """Print what another node is to get, which may know a file by another address."""
        own = {each.sha256: each for each in self.parcels}
        words: list[str] = []
        for parcel, there in made.parcels:
            if there < parcel.size:
                mine = own[parcel.sha256]
                cache = self.stock.holds[mine.name]
                words += [cache, mine.url or "-", mine.name, str(mine.size), str(there)]
        return Command(
            scripts.load("parcel.sh") + scripts.load("give.sh"),
            (self.stock.layout, self.place.wheels, *words),
            stdin=b"",
            timeout=limit(made.size),
        )


def limit(size: int) -> float:
    """Seconds that a node has to hand on so many bytes."""
    return PATIENCE + size / FAST


@dataclass(frozen=True)
class Carried:
    """What came of a transfer."""

    site: Site
    failed: bool = False
    """The giver could not hand on, or not all."""


def hand_round(
    fleet: Fleet, steps: Mapping[Host, Step], others: Sequence[Step], supplies: Supplies
) -> Mapping[Host, Step]:
    """Bring those that build what they lack; the steps to go on with, which build from that.

    `others` may have something to give. A host that fails is left out.
    """
    building = {host: step for host, step in steps.items() if step.action is Action.BUILD}
    idle = [*(step for step in steps.values() if step.host not in building), *others]
    # They are asked, which takes a start of conda: no more than would do.
    giving = {step.host: step for step in idle if _is_known(step, supplies)}
    giving = dict(list(giving.items())[: len(building)])

    def look(node: Node) -> Site | None:
        if node.host in building:
            return _receiver(node, building[node.host], supplies)
        return _giver(node, giving[node.host], supplies)

    found = fleet.each([*building, *giving], look)
    sites = {host: site for host, site in found.items() if site}
    ready = _circulate(fleet, sites, [host for host in building if host in sites])
    for site in ready.values():
        fleet.emit(Noted(site.step.host, f"got {sent(site.parcels, site.made)}"))
    return {
        host: replace(step, recipe=offline(step.recipe, ready[host].place, ready[host].parcels))
        if host in building
        else step
        for host, step in steps.items()
        if host in ready or host not in building
    }


def _is_known(step: Step, supplies: Supplies) -> bool:
    return step.recipe.locked is not None and step.recipe.locked.platform in supplies


def _receiver(node: Node, step: Step, supplies: Supplies) -> Site:
    """What a node has and lacks. Raises HostError."""
    parcels = files_of(step, supplies)
    stock = _ask(node, step, parcels)
    return Site(step, parcels, stock, peer(node.host, node.reached), shipment(parcels, stock))


def _giver(node: Node, step: Step, supplies: Supplies) -> Site | None:
    """What a node has that needs nothing; None where it cannot say."""
    parcels = files_of(step, supplies)
    try:
        stock = _ask(node, step, parcels)
    except LinkLostError:
        raise
    except HostError:
        return None
    stock = replace(stock, lacks={})
    return Site(step, parcels, stock, peer(node.host, node.reached), Shipment(()))


def _ask(node: Node, step: Step, parcels: Sequence[Parcel]) -> Stock:
    command = ask(step.conda, Place.of(step), parcels, holds=True)
    return parse_stock(node.run(Phase.UPLOAD, command))


def _circulate(
    fleet: Fleet, sites: dict[Host, Site], receivers: Sequence[Host]
) -> Mapping[Host, Site]:
    """Wave by wave, until nobody lacks anything; how the receivers stand that did not fail."""
    failed: frozenset[tuple[Host, Host]] = frozenset()
    worked = told = False
    while True:
        lacks = {host: sites[host].lacks for host in receivers if host in sites}
        holds = {host: site.holds for host, site in sites.items()}
        state = State(lacks, holds, failed, worked)
        wave = {each.receiver: each for each in plan_wave(state)}
        if not wave:
            return {host: sites[host] for host in lacks}
        if state.hopeless and not told:
            told = True
            for host in wave:
                fleet.emit(
                    Noted(
                        host,
                        "nodes cannot hand on to each other: it got everything from this machine",
                    )
                )

        def carry(node: Node) -> Carried:
            transfer = wave[node.host]  # noqa: B023 (carried out before the next one is planned)
            if transfer.giver is None:
                return _send(node, sites[node.host], transfer)
            return _fetch(node, sites[node.host], sites[transfer.giver], transfer)

        done = fleet.each(wave, carry, patient=True)
        for host, transfer in wave.items():
            if host not in done:
                # Where the connection is lost, others may lose theirs, too.
                del sites[host]
                continue
            sites[host] = done[host].site
            if transfer.giver and done[host].failed:
                failed |= {(transfer.giver, host)}
            worked |= transfer.giver is not None and not done[host].failed


def _send(node: Node, site: Site, transfer: Transfer) -> Carried:
    """From this machine. Raises HostError."""
    made = site.part(transfer.files)
    last = len(made.parcels) == len(site.stock.lacks)
    upload(node, site.place, site.stock, made, last=last)
    return Carried(site.after(made))


def _fetch(node: Node, site: Site, giver: Site, transfer: Transfer) -> Carried:
    """From another node; whatever goes wrong, there are others that have it."""
    assert giver.peer is not None  # noqa: S101 (else it holds nothing, as far as others know)
    made = site.part(transfer.files)
    last = len(made.parcels) == len(site.stock.lacks)
    command = made.send(site.place, site.stock, last=last)
    handed = Handed(giver.give(made), giver.peer)
    try:
        done = node.run(Phase.UPLOAD, replace(command, stdin=handed, timeout=limit(made.size)))
        trouble = _trouble(done)
    except CommandTimeoutError:
        trouble = f"it took longer than {limit(made.size):.0f} s"
    if not trouble:
        node.emit(Supplied(node.host, giver.step.host, made.size))
        return Carried(site.after(made))
    node.emit(Noted(node.host, f"{giver.step.host} could not hand on to it: {trouble}"))
    stands = replace(site, stock=_ask(node, site.step, site.parcels))
    if came := sum(site.lacks.values()) - sum(stands.lacks.values()):
        node.emit(Supplied(node.host, giver.step.host, max(0, came)))
    return Carried(stands, failed=True)


def _trouble(done: Completed) -> str:
    """Why a node was not handed what it was to; empty if all is well."""
    if not done.exit_code:
        wrong = parse_wrong(done)
        return f"{', '.join(wrong)} did not arrive as it should be" if wrong else ""
    # What both sides' scripts say comes after what ssh says, if they say anything.
    lines = [line.strip() for line in done.log.splitlines()]
    said = [line for line in lines if line and not line.startswith("envsync-")]
    return redact(said[-1]) if said else f"exit code {done.exit_code}"


def peer(host: Host, reached: Reached) -> Peer | None:
    """How other nodes reach a host; None where it is not known which key it has.

    By its name in the inventory, as their own ssh understands it; else as this machine does, if
    that goes there directly.
    """
    if not reached.public_key:
        return None
    address, _, port = reached.address.rpartition(":")
    named = (reached.user, host.target, str(host.port or ""))
    direct = [] if reached.through else [(reached.user, address, port)]
    return Peer(tuple(dict.fromkeys([named, *direct])), reached.public_key)
