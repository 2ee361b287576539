"""What a node has before anything is done to it: one read-only command and its parser."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from envsync import scripts
from envsync.errors import HostError
from envsync.flavours import Conda
from envsync.generations import HIDDEN
from envsync.model import Platform
from envsync.ports import Command, Completed

SUBDIRS = {
    ("Linux", "x86_64"): "linux-64",
    ("Linux", "aarch64"): "linux-aarch64",
    ("Linux", "ppc64le"): "linux-ppc64le",
    ("Darwin", "arm64"): "osx-arm64",
    ("Darwin", "x86_64"): "osx-64",
}
"""uname -s and -m to conda's platform folder (conda docs, "Repository and channel structure")."""


def markers(subdir: str) -> Mapping[str, str]:
    """What a platform settles of PEP 508's environment markers; nothing for an unknown one."""
    for (system, machine), name in SUBDIRS.items():
        if name == subdir:
            return {
                "sys_platform": system.lower(),
                "platform_system": system,
                "platform_machine": machine,
                "os_name": "posix",
            }
    return {}


@dataclass(frozen=True)
class Switch:
    """An entry of a node's history: which generation became current, when, by whom."""

    at: int
    """Seconds since the epoch, by the node's clock."""
    generation: str
    operator: str


@dataclass(frozen=True)
class Observation:
    """One node as observed. Paths are the node's own."""

    home: str
    user: str
    hostname: str
    subdir: str
    """Empty for a system that conda has no packages for."""
    virtual_packages: tuple[tuple[str, str], ...]
    conda: Conda | None
    envs_dir: str = ""
    free_bytes: int | None = None
    """Free for this user on the file system of envs_dir; None when it is not known."""
    free_inodes: int | None = None
    """Files that can still be made there; None where that is not known or not limited."""
    cached: frozenset[str] | None = None
    """Those packages of a lock that lie unpacked in a cache of the node's conda, by the name
    of their folder; None: nobody asked."""
    link: str | None = None
    """Where the environment's link points; None when there is no link."""
    plain: str | None = None
    """An environment of that name which envsync did not make."""
    sealed: tuple[str, ...] = ()
    """Generations that are whole and hold what they held when they were built."""
    changed: tuple[str, ...] = ()
    """Generations that were whole, and into which somebody installed by hand."""
    unsealed: tuple[str, ...] = ()
    taken: bool = False
    """A push has the environment, or one that is no more has left it so."""
    history: tuple[Switch, ...] = ()
    """Oldest first; of a long history the end."""

    @property
    def platform(self) -> Platform:
        """The class of nodes that get the same lock as this one."""
        virtual = dict(self.virtual_packages)
        return Platform(
            self.subdir,
            virtual.get("__cuda", ""),
            virtual.get("__glibc", ""),
            self.conda.flavour if self.conda else "",
        )

    def current(self, name: str) -> str | None:
        """The generation that `name` points to, when the link is one of ours."""
        folder, _, generation = (self.link or "").rpartition("/")
        return generation if folder == f"{HIDDEN}/{name}" else None


def observe(name: str) -> Command:
    """The command whose answer `parse` reads. `name` is the environment's."""
    parts = ("fingerprint.sh", "room.sh", "observe.sh")
    return Command("".join(map(scripts.load, parts)), (name,), timeout=60.0)


def parse(done: Completed) -> Observation:
    """Read the answer; raises HostError when it is none."""
    answers: dict[str, list[str]] = {}
    switched = []
    for line in done.text.splitlines():
        key, tab, value = line.partition("\t")
        if tab:
            answers.setdefault(key, []).append(value)
        else:
            switched.append(line)

    def one(key: str) -> str:
        return answers.get(key, [""])[0]

    if done.exit_code or "libc" not in answers:
        raise HostError(
            "observe",
            f"looking at the host failed with exit code {done.exit_code}",
            hint="does `ssh HOST uname -a` work?",
            output=done.log or done.text,
        )
    return Observation(
        home=one("home"),
        user=one("user"),
        hostname=one("hostname"),
        subdir=SUBDIRS.get((one("system"), one("machine")), ""),
        virtual_packages=_virtual_packages(one("system"), one("kernel"), one("libc"), one("cuda")),
        conda=_conda(
            one("conda_exe"), one("root_prefix"), one("conda_version"), one("conda_found_by")
        ),
        envs_dir=one("envs_dir"),
        free_bytes=int(one("free_kib")) * 1024 if one("free_kib").isdigit() else None,
        free_inodes=int(one("free_inodes")) if one("free_inodes").isdigit() else None,
        link=one("link") or None,
        plain=one("plain") or None,
        sealed=tuple(answers.get("sealed", ())),
        changed=tuple(answers.get("changed", ())),
        unsealed=tuple(answers.get("unsealed", ())),
        taken="taken" in answers,
        history=tuple(_history(switched)),
    )


def _conda(exe: str, root_prefix: str, version: str, found_by: str) -> Conda | None:
    return Conda(exe, root_prefix, version, found_by) if exe else None


def _history(lines: Iterable[str]) -> Iterator[Switch]:
    for line in lines:
        at, _, rest = line.partition(" ")
        generation, _, operator = rest.partition(" ")
        if at.isdigit() and generation:  # a line that a full disk cut off says nothing
            yield Switch(int(at), generation, operator)


def _virtual_packages(
    system: str, kernel: str, libc: str, cuda: str
) -> tuple[tuple[str, str], ...]:
    """As conda derives them (conda docs, "Managing virtual packages")."""
    packages = {"__unix": "0"}
    if system == "Linux":
        packages["__linux"] = kernel.partition("-")[0]
    if libc.startswith("glibc "):
        packages["__glibc"] = libc.removeprefix("glibc ")
    if cuda:
        packages["__cuda"] = cuda
    return tuple(sorted(packages.items()))
