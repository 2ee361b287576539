"""Keeps the help text in README.md and docs/reference/cli.md equal to what `--help` prints.

Between `<!-- help: COMMAND -->` and the end of the code block that follows stands the output
of `envsync COMMAND --help`. `--check` says where it does not, and exits with 1.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

FILES = (Path("README.md"), Path("docs/reference/cli.md"))
BLOCK = re.compile(r"(<!-- help:(?P<words>[a-z ]*) -->\n```text\n)(.*?)(```\n)", re.DOTALL)


def printed(words: list[str]) -> str:
    """What a terminal of 80 columns shows."""
    done = subprocess.run(
        [sys.executable, "-m", "envsync", *words, "--help"],
        env={**os.environ, "COLUMNS": "80", "TERM": "dumb"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip("\n") + "\n"


def main(arguments: list[str]) -> int:
    stale = []
    for file in FILES:
        text = file.read_text()
        fresh = BLOCK.sub(lambda m: m[1] + printed(m["words"].split()) + m[4], text)
        if not BLOCK.search(text):
            stale.append(f"{file} has no help text at all")
        elif fresh != text and "--check" in arguments:
            stale.append(f"{file} shows an old help text: run `make help-text`")
        elif fresh != text:
            file.write_text(fresh)
    print("\n".join(stale), end="\n" if stale else "")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
