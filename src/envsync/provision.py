"""What is to be done about a node's conda: found, installed, upgraded or removed. All pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from envsync import scripts
from envsync.errors import HostError
from envsync.generations import QUICK, SLOW
from envsync.installers import Installer
from envsync.observation import Observation
from envsync.ports import Command, Completed

NAME = "bootstrap-"
"""What the folder is called, with the prefix's name behind it, that an installation works in."""


class State(StrEnum):
    """What there is at a prefix, in the words of installation.sh."""

    ABSENT = "absent"
    WHOLE = "whole"
    BEGUN = "begun"
    """An installation, an upgrade or a removal that came to no end."""
    FOREIGN = "foreign"


class Step(StrEnum):
    """What to do on a node."""

    NOTHING = "nothing"
    INSTALL = "install"
    UPGRADE = "upgrade"
    REMOVE = "remove"


@dataclass(frozen=True)
class Installation:
    """What envsync has installed at a prefix, or would."""

    prefix: str
    """The node's own path."""
    state: State
    begun: str = ""
    """What came to no end: a step's name."""
    sha256: str = ""
    """Of the installer that it was made with."""
    label: str = ""
    environments: tuple[str, ...] = ()
    """Those that lie in it."""
    free_bytes: int | None = None

    @property
    def place(self) -> str:
        """The folder that the prefix is in."""
        return self.prefix.rpartition("/")[0]

    @property
    def name(self) -> str:
        """Under which the place is taken while somebody works on the prefix."""
        return NAME + self.prefix.rpartition("/")[2]

    @property
    def work(self) -> str:
        """A folder on the same file system, for what an installation needs."""
        return f"{self.place}/.envsync/{self.name}"

    def upload(self, installer: Installer) -> Command:
        """Bring the installer there, read from its file as it is sent."""
        script = scripts.load("beside.sh") + scripts.load("put.sh")
        return Command(
            script,
            (f"{self.work}/installer", "sh", str(installer.size)),
            stdin=installer.path,
            timeout=QUICK + installer.size / SLOW,
        )

    def install(self, installer: Installer, step: Step, timeout: float) -> Command:
        """Run the installer; answers the .condarc that it made."""
        arguments = (self.prefix, self.work, installer.sha256, installer.kind, step.value)
        return Command(
            scripts.load("tool.sh") + scripts.load("install.sh"), arguments, timeout=timeout
        )

    def settle(self, condarc: str, installer: Installer, operator: str) -> Command:
        """Write the settings and, last, the marker that says whose the installation is."""
        lines = (f"sha256\t{installer.sha256}", f"label\t{installer.label}", f"by\t{operator}")
        arguments = (self.prefix, self.work, "\n".join(lines))
        script = scripts.load("known.sh") + scripts.load("settle.sh")
        return Command(script, arguments, stdin=condarc.encode(), timeout=QUICK)

    def make_known(self) -> Command:
        """For a host that shares the place, and may have another home."""
        script = scripts.load("known.sh") + 'make_known "$1"'
        return Command(script, (self.prefix,), timeout=QUICK)

    def initialise(self) -> Command:
        """Let the user's login shell know of it; answers the shell's name."""
        return Command(
            scripts.load("tool.sh") + scripts.load("init.sh"), (self.prefix,), timeout=QUICK
        )

    def uninstall(self, timeout: float) -> Command:
        script = scripts.load("tool.sh") + scripts.load("uninstall.sh")
        return Command(script, (self.prefix, self.work), timeout=timeout)


def look(prefix: str, found: str) -> Command:
    """The command whose answer `parse` reads.

    `found` is the root prefix of the conda that the node has, or empty.
    """
    script = scripts.load("room.sh") + scripts.load("installation.sh")
    return Command(script, (prefix, found), timeout=QUICK)


def parse(done: Completed) -> Installation:
    """Read the answer; raises HostError when it is none."""
    rows = [line.partition("\t") for line in done.text.splitlines()]
    facts = {key: value for key, _, value in rows}
    try:
        return Installation(
            facts["prefix"],
            State(facts["state"]),
            facts.get("begun", ""),
            facts.get("sha256", ""),
            facts.get("label", ""),
            tuple(value for key, _, value in rows if key == "environment"),
            int(facts["free_kib"]) * 1024 if facts.get("free_kib", "").isdigit() else None,
        )
    except (KeyError, ValueError) as error:
        raise HostError(
            "observe",
            "what the host says of its conda makes no sense",
            hint="see what it printed",
            output=done.log or done.text,
        ) from error


@dataclass(frozen=True)
class Wishes:
    """What is asked for, in the user's words."""

    prefix: str
    """As given: `~/` is the node's own home."""
    channels: tuple[str, ...] = ()
    init: bool = False
    upgrade: bool = False
    remove: bool = False
    force: bool = False
    """Remove it with the environments in it, whoever runs there."""
    dry_run: bool = False
    timeout: float = 3600.0
    """Seconds that an installer may take."""


@dataclass(frozen=True)
class Plan:
    """What to do on one node, and what its user should know."""

    step: Step
    note: str = ""


def decide(seen: Observation, there: Installation, wishes: Wishes) -> Plan:
    """The step for one node. Raises HostError where nothing good can be done."""
    if wishes.remove:
        return _removal(seen, there, wishes)
    if seen.conda is not None:
        if not wishes.upgrade:
            return Plan(Step.NOTHING)
        if there.state is State.WHOLE:
            return Plan(Step.UPGRADE)
        return Plan(Step.NOTHING, f"{seen.conda.exe} is not envsync's, and is not upgraded")
    if not seen.subdir:
        raise HostError(
            "no-platform",
            "conda has no packages for this system",
            hint="take the host out of the inventory",
        )
    if there.state is State.WHOLE:
        raise HostError(
            "broken",
            f"envsync installed {there.prefix}, and no conda is left in it",
            hint="`envsync bootstrap --remove` takes the rest away; then bootstrap again",
        )
    if there.state is State.FOREIGN:
        raise HostError(
            "in-the-way",
            f"{there.prefix} exists, has no conda that runs, and was not made by envsync",
            hint="choose another place with --prefix, or remove or rename it there",
        )
    if any(character.isspace() for character in there.prefix):
        raise HostError(
            "path",
            f"the installers do not take a path with blanks, such as {there.prefix}",
            hint="choose another place with --prefix",
        )
    if there.begun == Step.UPGRADE:
        return Plan(Step.UPGRADE, "an upgrade that came to no end is done again")
    half = "what an earlier run left half done was removed first"
    return Plan(Step.INSTALL, half if there.state is State.BEGUN else "")


def _removal(seen: Observation, there: Installation, wishes: Wishes) -> Plan:
    if there.state not in {State.WHOLE, State.BEGUN}:
        conda = seen.conda
        return Plan(
            Step.NOTHING,
            f"{conda.exe} is not envsync's, and stays" if conda else "there is no conda to remove",
        )
    if there.environments and there.begun != Step.REMOVE and not wishes.force:
        names = ", ".join(there.environments)
        raise HostError(
            "in-use",
            f"environments lie in {there.prefix}: {names}",
            hint="--force removes it with all of them, for good",
        )
    return Plan(Step.REMOVE)


def supplied(
    seen: Observation, there: Installation, installers: Mapping[str, Installer]
) -> Installer:
    """The installer for this node. Raises HostError where none is, or there is no room for it."""
    installer = installers.get(seen.subdir)
    if installer is None:
        raise HostError(
            "wrong-architecture",
            f"the host is {seen.subdir}, and the installer is for {', '.join(installers)}",
            hint="name one for each architecture: --installer may be given more than once",
        )
    # It is sent, and then unpacked: twice its size is not enough, but surely needed.
    if there.free_bytes is not None and there.free_bytes < 2 * installer.size:
        raise HostError(
            "disk-full",
            f"{there.place or '/'} has {there.free_bytes // 1_000_000} MB left, and the installer"
            f" alone has {installer.size // 1_000_000} MB",
            hint="make room there, or choose another place with --prefix",
        )
    return installer
