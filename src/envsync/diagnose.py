"""From what a failed conda or pip printed to a cause and the next step. Pure."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass

from envsync.errors import HostError


@dataclass(frozen=True)
class _Sign:
    """`pattern` in the output means `cause`; its group `what`, if any, completes the message."""

    cause: str
    pattern: str
    message: str
    hint: str


# The first that matches wins; so the order is from certain to vague.
_SIGNS = (
    # Words of install.sh and uninstall.sh.
    _Sign(
        "noexec",
        r"^noexec: (?P<what>[^\n]+)",
        "no program may be run there",
        "its file system is mounted noexec: choose another place with --prefix",
    ),
    _Sign(
        "needs-bash",
        r"^needs-bash: (?P<what>[^\n]+)",
        "the installer is for bash, which this host does not have",
        "take a newer installer, whose first line names sh, or --flavour micromamba",
    ),
    _Sign(
        "installer-damaged",
        r"^installer-damaged: (?P<what>[^\n]+)|^only part of [^\n]*installer",
        "the installer did not arrive as it was sent",
        "run it again; if it stays so, look at the host's disk",
    ),
    _Sign(
        "in-the-way",
        r"^in-the-way: (?P<what>[^\n]+)",
        "something is there that envsync did not make",
        "choose another place with --prefix, or see to what is there",
    ),
    _Sign(
        "wrong-architecture",
        r"Exec format error|cannot execute binary file",
        "the installer is for another architecture than this host's",
        "name one for this architecture with --installer, or let envsync fetch it",
    ),
    _Sign(
        "disk-full",
        r"No space left on device|NoSpaceLeftError|Disk quota exceeded",
        "the disk is full",
        "make room there (`conda clean --all` often helps), then push again",
    ),
    _Sign(
        "terms-of-service",
        r"CondaToSNonInteractiveError|Terms of Service have not been accepted",
        "a channel's terms of service have not been accepted there",
        "accept them as that user (`conda tos accept`), or use conda-forge with `nodefaults`",
    ),
    _Sign(
        "package-missing",
        r"(?:ResolvePackageNotFound|PackagesNotFoundError)[^\n]*(?:\s+- (?P<what>[^\n]+))?",
        "no channel of this host has what the file asks for",
        "check the channels that this host sees, and the package's spelling and version",
    ),
    _Sign(
        "package-missing",
        r"nothing provides (?:requested )?(?P<what>[^\n]+)",
        "no channel of this host has what the file asks for",
        "check the channels that this host sees, and the package's spelling and version",
    ),
    _Sign(
        "conflict",
        r"UnsatisfiableError|Could not solve for environment",
        "the packages that the file asks for do not fit together",
        "loosen a pin; the output names the ones that clash",
    ),
    _Sign(
        "not-whole",
        r"^not-whole: (?P<what>[^\n]+)",
        "the installer ended without an error, and what it made does not run",
        "see what it printed; nothing of it was kept, or a next run ends what it began",
    ),
    _Sign(
        "no-init",
        r"^no-init: (?P<what>[^\n]*)",
        "conda knows no set-up for this user's login shell",
        "leave out --init, or set the shell up by hand",
    ),
    _Sign(
        "pip",
        r"^ERROR: (?P<what>[^\n]+)",
        "the pip section failed",
        "see pip's own words below; the conda part went well",
    ),
    _Sign(
        "pip",
        r"Pip failed|Pip subprocess error",
        "the pip section failed",
        "see pip's own words below; the conda part went well",
    ),
    _Sign(
        "channel",
        r"CondaHTTPError|CondaSSLError|ProxyError|UnavailableInvalidChannel"
        r"|ConnectionFailed|Could not resolve host",
        "a channel cannot be reached from this host",
        "check the channel's address and the host's way to it (proxy, firewall, mirror)",
    ),
    _Sign(
        "changed-meanwhile",
        r"was changed by somebody else in the meantime",
        "somebody else switched the environment while this command ran",
        "find out who (`envsync status`), then run the command again",
    ),
    _Sign(
        "path",
        r"^mkdir: (?P<what>[^\n]*(?:Not a directory|File exists|No such file)[^\n]*)",
        "the folder for environments cannot be made",
        "look at `envs_dirs` in the node's .condarc and at what is in the way",
    ),
    _Sign(
        "permission",
        r"Permission denied|NotWritableError|Read-only file system",
        "this user may not write there",
        "check the owner of the folder that the output names",
    ),
)


def failure(step: str, exit_code: int, output: str) -> HostError:
    """The error for a step (a word such as `building`) that ended badly with `output`."""
    for sign in _SIGNS:
        if found := re.search(sign.pattern, output, re.MULTILINE):
            what = (found.groupdict().get("what") or "").strip()
            message = f"{sign.message}: {what}" if what else sign.message
            return HostError(sign.cause, message, hint=sign.hint, output=output)
    return HostError(
        "failed",
        f"{step} ended with exit code {exit_code}{_meaning(exit_code)}",
        hint="the output below is all that the host said",
        output=output,
    )


def _meaning(exit_code: int) -> str:
    """What a shell says of a program that a signal ended (POSIX: 128 and the signal)."""
    if exit_code == 128 + signal.SIGKILL:
        return ": it was killed, perhaps because memory ran out"
    return ""
