"""What goes into an image: files, labels, variables; and what may not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from envsync.cuda import SELECTORS
from envsync.errors import InputError
from envsync.lint import RULES, lint, selected
from envsync.lint.wishes import cuda_wishes, lowest, shown
from envsync.lock import Lock, Section, digest
from envsync.luggage import NOTHING, Luggage
from envsync.recipe import locked, unlocked
from envsync.spec import EnvironmentSpec
from envsync.yamlfile import decode

ARCHITECTURES = {"linux-64": "amd64", "linux-aarch64": "arm64", "linux-ppc64le": "ppc64le"}
"""Conda's platforms, as container registries call them (OCI image specification, "GOARCH")."""

FOLDER = "/opt/envsync"
"""In an image: what no package of a base has."""

_SECRET = re.compile(r"(?:^|_)(?:TOKEN|API_?KEY|KEY|PASSWORD|PASSWD|SECRET|CREDENTIALS?)(?:_|$)")


@dataclass(frozen=True)
class Blueprint:
    """All that the text of an image is made from."""

    name: str
    platform: str
    """Conda's word: `linux-64`."""
    generation: str
    files: Mapping[str, str]
    """`explicit.txt`, `pip.txt`, `direct.txt`; or `environment.yml` alone, when not locked."""
    labels: Mapping[str, str]
    variables: Mapping[str, str]
    cuda: str = ""
    """What the solver is told that the driver can do; builders have no GPU."""
    luggage: Luggage = NOTHING
    """What goes into the builder besides: an archive, named `archive`, beside the text."""
    editable: bool = False
    """Whether the environment may import from what went along, which is in the image then."""
    lock: str = ""
    """The section of the lock that it is made from, as a lock of its own."""
    wheel: str = ""
    """The name of envsync's own wheel, beside the text, if the image is to have an envsync."""

    @property
    def along(self) -> str:
        """Where that is unpacked, in the builder and in the image."""
        return f"{self.prefix}.files"

    @property
    def beside(self) -> str:
        """The folder of the environment file in there."""
        return self.along if self.luggage.base == "." else f"{self.along}/{self.luggage.base}"

    @property
    def archive(self) -> str:
        """The archive's name: that of what is in it, so that an old one is not taken for it."""
        return f"{self.name}-{self.luggage.identity[:12]}.files.tar" if self.luggage else ""

    @property
    def beside_text(self) -> tuple[str, ...]:
        """The files that have to lie beside the text when the image is built."""
        return tuple(filter(None, (self.archive, self.wheel)))

    @property
    def prefix(self) -> str:
        """Where the environment lies in the image."""
        return f"{FOLDER}/{self.name}"


def choose(lock: Lock, platform: str) -> Section:
    """The section of a lock for `platform`: a subdir, or its whole text where several are alike.

    Raises InputError where none is, or more than one of different content.
    """
    fitting = [
        each for each in lock.sections if platform in {each.platform.subdir, str(each.platform)}
    ]
    there = "; ".join(str(each.platform) for each in lock.sections) or "nothing"
    if not fitting:
        raise InputError(f"the lock has no section for {platform}", hint=f"it has {there}")
    if len({(each.conda, each.pip, each.direct) for each in fitting}) > 1:
        raise InputError(
            f"the lock has {len(fitting)} different sections for {platform}",
            hint=f"name one with --platform, in full: {there}",
        )
    return fitting[0]


def blueprint(spec: EnvironmentSpec, section: Section | None, platform: str) -> Blueprint:
    """What an image of `spec` holds; exactly `section` where there is one.

    Raises InputError for what no image should hold, such as a credential.
    """
    subdir = section.platform.subdir if section else platform
    if subdir not in ARCHITECTURES:
        raise InputError(
            f"there are no container images for {subdir}",
            hint=f"choose one of {', '.join(ARCHITECTURES)} with --platform",
        )
    _refuse_secrets(spec)
    labels = {"envsync.environment": spec.name}
    lock = ""
    if section is None:
        # As text: line ends and byte order marks mean nothing to YAML, and much to a Dockerfile.
        text = re.sub(r"\r\n?", "\n", decode(spec.sent, spec.source)).rstrip("\n") + "\n"
        files, generation = {"environment.yml": text}, unlocked(spec).generation
        if spec.luggage:  # its pip section begins beside it
            files = {}
    else:
        recipe = locked(spec, section)
        generation = recipe.generation
        wanted = ("explicit.txt", "pip.txt", "direct.txt")
        files = {key: recipe.files[key].decode() for key in wanted if key in recipe.files}
        lock = recipe.files["lock"].decode()
    labels["envsync.generation"] = generation
    labels |= {f"envsync.digest.{key}": digest(files[key].encode()) for key in files}
    return Blueprint(
        spec.name,
        subdir,
        generation,
        files,
        labels,
        dict(spec.variables),
        "" if section else _driver(spec),
        spec.luggage,
        editable="-e " in files.get("direct.txt", "") or (section is None and bool(spec.luggage)),
        lock=lock,
    )


def _refuse_secrets(spec: EnvironmentSpec) -> None:
    for found in lint(spec, selected(RULES, ["ENV601"], [])):
        raise InputError(
            "a credential stands in this line, and whoever gets the image could read it",
            file=found.file,
            line=found.line,
            hint="take it out: a mirror without a login, or the builder's own network, can serve"
            " the packages",
        )
    for name, _ in spec.variables:
        if _SECRET.search(name):
            raise InputError(
                f"the variable {name} looks like a secret, and whoever gets the image could read"
                " it",
                file=spec.source,
                hint="take it out of `variables:`, and give it to the container when it runs",
            )


def _driver(spec: EnvironmentSpec) -> str:
    """The version of CUDA that the file asks for, by name or at least by its major version."""
    for each in spec.conda:
        if each.name in SELECTORS and (at := lowest(each.version)):
            return shown(at)
    major = next((wish.major for wish in cuda_wishes(spec) if wish.major), 0)
    return f"{major}.0" if major else ""
