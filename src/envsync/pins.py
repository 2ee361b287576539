"""Does a prefix hold what the file asks for? Pure; conda's and pip's own matching rules."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as Pep508
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion

from envsync.model import Facts, Package
from envsync.redact import redact
from envsync.spec import EnvironmentSpec, Requirement


@dataclass(frozen=True)
class Unmet:
    """A requirement that a prefix does not fulfil; `found` is empty when nothing is there."""

    text: str
    """As the file has it, without secrets."""
    line: int
    found: str


def unmet(spec: EnvironmentSpec, facts: Facts) -> tuple[Unmet, ...]:
    """What `facts` lack of `spec`. Whose files are on top counts: pip's over conda's.

    Where Python gave no answer, nothing is said about pip's packages.
    """
    conda = {package.name: package for package in facts.conda}
    pip: dict[str, Package] = {canonicalize_name(each.name): each for each in facts.pip}
    by_pip = () if facts.blind else _unmet_by_pip(spec.pip, conda, pip)
    return (*_unmet_by_conda(spec.conda, conda, pip), *by_pip)


def _unmet_by_conda(
    wanted: Iterable[Requirement], conda: dict[str, Package], pip: dict[str, Package]
) -> Iterable[Unmet]:
    for each in wanted:
        package = conda.get(each.name)
        over = pip.get(canonicalize_name(each.name))
        if package is None:
            yield Unmet(redact(each.text), each.line, str(over) if over else "")
        elif over is not None:
            if not _matches(each.text, over.version, None):
                yield Unmet(redact(each.text), each.line, str(over))
        elif not _matches(each.text, package.version, package.build):
            yield Unmet(redact(each.text), each.line, str(package))


def _matches(text: str, version: str, build: str | None) -> bool:
    """Conda's own rule, through py-rattler; the channel is not looked at: a mirror may differ."""
    from rattler import MatchSpec, PackageRecord  # noqa: PLC0415 (0.15 s to import)
    from rattler.exceptions import InvalidVersionError  # noqa: PLC0415
    from rattler.package.build_string import BuildString  # noqa: PLC0415

    wanted = MatchSpec(re.sub(r"^[^\[\s]*::", "", text))
    if wanted.version is None and (wanted.build is None or build is None):
        return True
    if build is None:  # pip has no builds: only the version can be judged
        wanted = MatchSpec(f"{wanted.name.normalized} {wanted.version}")
    try:
        name = wanted.name.normalized
        record = PackageRecord(name, version, BuildString(build or "0"), 0, "noarch")
    except InvalidVersionError:
        return False
    return bool(wanted.matches(record))


def _unmet_by_pip(
    wanted: Iterable[Requirement], conda: dict[str, Package], pip: dict[str, Package]
) -> Iterable[Unmet]:
    by_name: dict[str, Package] = {canonicalize_name(name): each for name, each in conda.items()}
    by_name |= pip
    for each in wanted:
        if not each.name:
            continue
        package = by_name.get(canonicalize_name(each.name))
        try:
            requirement = Pep508(re.split(r"\s+--", each.text)[0])
        except InvalidRequirement:  # a URL that names its package: being there is all it asks
            requirement = Pep508(each.name)
        # Whether a marker holds is for the node's own pip to say.
        if requirement.marker is not None and package is None:
            continue
        if package is None or not _contains(requirement, package.version):
            yield Unmet(redact(each.text), each.line, str(package) if package else "")


def _contains(requirement: Pep508, version: str) -> bool:
    try:
        return requirement.specifier.contains(version, prereleases=True)
    except InvalidVersion:
        return False
