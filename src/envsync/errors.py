"""What can go wrong, as sentences.

Every error carries what happened and what to do next. The exit codes are the
program's contract with scripts; they stand here and nowhere else.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Protocol


class ExitCode(IntEnum):
    """Exit codes of every command."""

    OK = 0
    DIFFERENT = 1
    """Nodes differ, drifted or failed."""
    BAD_INPUT = 2
    """Usage or bad input; nothing was touched."""
    FAULT = 3
    """A fault of envsync itself."""
    IN_DOUBT = 4
    """Committed, but some host did not answer afterwards."""
    INTERRUPTED = 130


class EnvsyncError(Exception):
    """Base of all expected errors: one sentence, and a hint that says what to do next."""

    exit_code = ExitCode.FAULT

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class InputError(EnvsyncError):
    """The user's words or files are wrong; raised before anything is touched.

    `line` counts from 1; 0 means that no line is to blame.
    """

    exit_code = ExitCode.BAD_INPUT

    def __init__(self, message: str, *, file: str = "", line: int = 0, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.file = file
        self.line = line

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}: " if self.line else f"{self.file}: " if self.file else ""
        return where + self.message


class HostError(EnvsyncError):
    """Something failed on one host; the other hosts go on.

    `cause` is a stable machine-readable word (`refused`, `host-key`, `disk-full`, ...);
    `output` is what the host itself printed, whole.
    """

    exit_code = ExitCode.DIFFERENT

    def __init__(self, cause: str, message: str, *, hint: str = "", output: str = "") -> None:
        super().__init__(message, hint=hint)
        self.cause = cause
        self.output = output


class ConnectError(HostError):
    """No connection came about: name, network, host key or authentication."""


class LinkLostError(HostError):
    """The connection broke after it had been made."""


class CommandTimeoutError(HostError):
    """A remote command ran past its time limit and was ended on the far side."""


class Wrong(Protocol):
    """Makes the error for the line of a file that is being read."""

    def __call__(self, message: str, hint: str = "") -> InputError: ...
