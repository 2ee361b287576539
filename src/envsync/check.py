"""Is a new prefix what was asked for? Pure; raises what is said of a host where it is not."""

from __future__ import annotations

from collections.abc import Sequence

from envsync.compare import ABSENT, RUNTIME, Row, compare
from envsync.errors import HostError
from envsync.facts import Facts
from envsync.lock import Section
from envsync.observation import markers
from envsync.pins import Unmet, unmet
from envsync.spec import EnvironmentSpec


def check(spec: EnvironmentSpec, facts: Facts, subdir: str, log: str) -> None:
    """Raise HostError unless the prefix fulfils the file; `log` is what its builder printed.

    Some conda versions exit 0 although pip failed: the prefix decides, not the exit code.
    """
    if facts.blind and (spec.pip or any(each.name == "python" for each in spec.conda)):
        raise _broken(facts, log)
    if lacking := unmet(spec, facts, markers(subdir)):
        raise _incomplete(spec, lacking, log)


def check_lock(section: Section, facts: Facts, log: str) -> None:
    """Raise HostError unless the prefix holds exactly what the lock says."""
    if facts.blind and any(each.name == "python" for each in section.packages):
        raise _broken(facts, log)
    if odd := astray(section, facts):
        raise HostError(
            "incomplete",
            "the build ended well, but " + "; ".join(map(say_astray, odd[:5])),
            hint="see what the host printed; `envsync push --relock` solves anew",
            output=log,
        )


def astray(section: Section, facts: Facts) -> tuple[Row, ...]:
    """The packages in which a node is not as its lock wants it; values are (lock, node)."""
    packages = section.packages
    wanted = Facts(
        prefix="",
        conda=tuple(each for each in packages if each.kind == "conda"),
        pip=tuple(each for each in packages if each.kind == "pip"),
        runtime=(),
    )
    rows = compare([wanted, facts])
    return tuple(row for row in rows if row.group != RUNTIME and row.matters)


def say_astray(row: Row) -> str:
    """A row of `astray` in words."""
    wanted, found = row.values
    if found == ABSENT:
        return f"{row.name} is missing, in the lock {wanted}"
    if wanted == ABSENT:
        return f"{row.name} is {found}, and not in the lock"
    return f"{row.name} is {found}, in the lock {wanted}"


def _broken(facts: Facts, log: str) -> HostError:
    return HostError(
        "broken",
        f"the new environment's python is {dict(facts.runtime)['python']}",
        hint="start it there by hand and see what it says",
        output=log,
    )


def _incomplete(spec: EnvironmentSpec, lacking: Sequence[Unmet], log: str) -> HostError:
    wanted = ", ".join(f"{each.text} ({each.file or spec.source}:{each.line})" for each in lacking)
    return HostError(
        "incomplete",
        f"conda reported success, but the environment lacks {wanted}",
        hint="pip's own words are in the output below",
        output=log,
    )
