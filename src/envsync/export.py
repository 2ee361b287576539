"""export, the verb: read one node's environment; nothing is changed there."""

from __future__ import annotations

from envsync.errors import HostError
from envsync.events import Ended, Outcome, Phase
from envsync.model import Host
from envsync.node import Node
from envsync.reference import Reference, parse, reading
from envsync.runner import Fleet
from envsync.sight import Looks, look


def read_reference(fleet: Fleet, host: Host, name: str, prefix: str = "") -> Reference | None:
    """The environment `name` of `host`; None when that failed, which is an event.

    With `prefix` it is the one at that path, which goes by the name in the result alone.
    """

    def task(node: Node) -> Reference:
        seen = look(node, name, Looks(prefix=prefix))
        facts = seen.facts
        if facts.blind and any(each.name == "python" for each in facts.conda):
            raise HostError(
                "broken",
                "the environment's Python gives no answer, so what pip installed is not known",
                hint=f"see `envsync verify`: {dict(facts.runtime).get('python', '')}",
            )
        done = node.run(Phase.PROBE, reading(facts.prefix))
        reference = parse(done, name, seen.platform.subdir, facts)
        node.emit(Ended(node.host, Outcome.PROBED))
        return reference

    return fleet.each([host], task, last=True).get(host)
