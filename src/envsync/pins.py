"""Does a prefix hold what the file asks for? Pure; conda's and pip's own matching rules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from packaging.markers import Marker
from packaging.requirements import Requirement as Pep508
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion

from envsync.facts import Facts
from envsync.model import Package
from envsync.redact import redact
from envsync.requirement import Requirement, is_package_url, pep508
from envsync.spec import EnvironmentSpec


@dataclass(frozen=True)
class Unmet:
    """A requirement that a prefix does not fulfil; `found` is empty when nothing is there."""

    text: str
    """As the file has it, without secrets."""
    line: int
    found: str
    file: str = ""
    """The requirements file in which it stands; empty for the environment file itself."""


def unmet(
    spec: EnvironmentSpec, facts: Facts, markers: Mapping[str, str] | None = None
) -> tuple[Unmet, ...]:
    """What `facts` lack of `spec`. Whose files are on top counts: pip's over conda's.

    `markers` are the node's values for PEP 508 markers, where they are known
    (`sys_platform`, ...); the version of Python is taken from `facts`. Nothing is said about
    a line whose marker cannot be judged, nor about pip's packages where Python gave no answer.
    """
    conda = {package.name: package for package in facts.conda}
    pip: dict[str, Package] = {canonicalize_name(each.name): each for each in facts.pip}
    known = {**_python_markers(conda.get("python")), **(markers or {})}
    by_pip = (
        ()
        if facts.blind
        else _unmet_by_pip((*spec.pip, *spec.luggage.requirements), conda, pip, known)
    )
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
            if not _matches(each, over.version, None):
                yield Unmet(redact(each.text), each.line, str(over))
        elif not _matches(each, package.version, package.build):
            yield Unmet(redact(each.text), each.line, str(package))


def _matches(requirement: Requirement, version: str, build: str | None) -> bool:
    """Conda's own rule, through py-rattler, for version and build; `build` is None for pip's.

    Not looked at: the channel and its subdir (a mirror may differ), and hashes, licences and
    build numbers, which the facts do not hold.
    """
    if is_package_url(requirement.text):
        file = re.split(r"[#?]", requirement.text)[0].rpartition("/")[2]
        exact = f"{requirement.name}-{version}-{build or ''}"
        stem = re.sub(r"\.(conda|tar\.bz2)$", "", file.lower())
        return stem.startswith(exact) if build is None else stem == exact.lower()

    from rattler import MatchSpec, PackageRecord  # noqa: PLC0415 (0.15 s to import)
    from rattler.exceptions import InvalidVersionError  # noqa: PLC0415
    from rattler.package.build_string import BuildString  # noqa: PLC0415

    asked = MatchSpec(re.sub(r"^[^\[\s]*::", "", requirement.text))
    fields = {"version": asked.version, "build": None if build is None else asked.build}
    wishes = ",".join(f"{key}='{value}'" for key, value in fields.items() if value is not None)
    if not wishes:
        return True
    wanted = MatchSpec(f"{requirement.name}[{wishes}]")
    try:
        record = PackageRecord(requirement.name, version, BuildString(build or "0"), 0, "noarch")
    except InvalidVersionError:
        return False
    return bool(wanted.matches(record))


def _unmet_by_pip(
    wanted: Iterable[Requirement],
    conda: dict[str, Package],
    pip: dict[str, Package],
    known: Mapping[str, str],
) -> Iterable[Unmet]:
    by_name: dict[str, Package] = {canonicalize_name(name): each for name, each in conda.items()}
    by_name |= pip
    for each in wanted:
        if not each.name:
            continue
        package = by_name.get(canonicalize_name(each.name))
        # A URL that names its package: being there is all that can be checked.
        requirement = pep508(each.text) or Pep508(each.name)
        if requirement.marker is not None and not _holds(requirement.marker, known):
            continue
        if package is None or not _contains(requirement, package.version):
            found = str(package) if package else ""
            yield Unmet(redact(each.text), each.line, found, each.file)


def _python_markers(python: Package | None) -> Mapping[str, str]:
    """The markers that conda's python package settles (PEP 508, "Environment Markers")."""
    if python is None:
        return {}
    short = ".".join(python.version.split(".")[:2])
    return {"python_version": short, "python_full_version": python.version}


def _holds(marker: Marker, known: Mapping[str, str]) -> bool:
    """Whether a marker surely holds; False also where something it asks for is not known."""
    words = set(re.findall(r"[a-z_]+", re.sub(r"\"[^\"]*\"|'[^']*'", "", str(marker))))
    if not words - {"and", "or", "in", "not"} <= known.keys():
        return False
    return marker.evaluate(dict(known))


def _contains(requirement: Pep508, version: str) -> bool:
    try:
        return requirement.specifier.contains(version, prereleases=True)
    except InvalidVersion:
        return False
