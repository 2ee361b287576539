"""Asks a real conda how it reads each file of the corpus, and keeps its answers.

`tests/corpus/expected.json` is what tests/unit/test_corpus.py holds envsync's own reader
against. Run it after a change to the files, and read what `git diff` shows.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from envsync.demo.conda import install_conda

CORPUS = Path("tests/corpus")
EXPECTED = CORPUS / "expected.json"
READER = Path(__file__).with_name("corpus_conda.py")

# conda answers to its own name only after its hook (envsync.demo.conda) is in place.
START = (
    "import runpy, sys, vendored_conda; del sys.argv[0];"
    "runpy.run_path(sys.argv[0], run_name='__main__')"
)


def answers() -> str:
    """A conda of its own, with a home of its own, reads them all."""
    with tempfile.TemporaryDirectory(prefix="envsync-corpus-") as folder:
        root, home, work = (Path(folder, name) for name in ("conda", "home", "work"))
        install_conda(root, ["https://channel.test"])
        home.mkdir()
        files = [work / file.name / file.name for file in sorted(CORPUS.glob("*.y*ml"))]
        for file in files:
            file.parent.mkdir(parents=True)
            shutil.copy(CORPUS / file.name, file)
        done = subprocess.run(
            [root / "bin" / "python", "-c", START, READER.resolve(), *files],
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(home),
                "CONDA_EXE": str(root / "bin" / "conda"),
                "CONDA_ROOT": str(root),
                "CONDA_OVERRIDE_CUDA": "",
                "CORPUS_VARIABLE": "filled-in",
                "LC_ALL": "C.UTF-8",
                "PYTHONHASHSEED": "0",  # the order of a YAML set
            },
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    found = json.loads(re.sub(rf"{re.escape(str(work))}/[^/]+/", "", done.stdout))
    return json.dumps(found, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


if __name__ == "__main__":
    EXPECTED.write_text(answers(), encoding="utf-8")
