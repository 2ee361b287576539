"""`python -m envsync`, and the entry point of the `envsync` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and exit with its code (see `envsync.errors.ExitCode`)."""
    from envsync.cli import run  # noqa: PLC0415 (imported when it runs, not when it is looked at)

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
