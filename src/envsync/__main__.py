"""`python -m envsync`, and the entry point of the `envsync` command."""

from __future__ import annotations

import contextlib
import os
import sys


def main() -> None:
    """Run the command line and exit with its code (see `envsync.errors.ExitCode`)."""
    from envsync.cli import run  # noqa: PLC0415 (imported when it runs, not when it is looked at)

    code = run(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    # All is written and closed. To take the interpreter down in good order, with the threads
    # of a thousand connections, would only keep the user waiting.
    os._exit(code)


if __name__ == "__main__":
    main()
