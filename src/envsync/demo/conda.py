"""A real conda for a node of the demo: from PyPI, since it needs no download page.

The PyPI package conda-lock carries all of conda as `conda_lock._vendor.conda`. A root prefix
made here is a few small files around it: a Python that sees this interpreter's packages, a
module that maps `conda` to the vendored name, and the folders that conda expects.
"""

from __future__ import annotations

import importlib.util
import json
import os
import runpy
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from envsync.errors import EnvsyncError

PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"

# conda imports itself by its own name, and the vendored copy by its vendored one: both must
# be the same modules. conda starts child processes, which come through here as well.
_HOOK = '''\
import importlib, importlib.abc, importlib.machinery, importlib.util, logging, sys

# Python 3.13 took away two private functions that this conda calls.
if not hasattr(logging, "_acquireLock"):
    logging._acquireLock = logging._lock.acquire
    logging._releaseLock = logging._lock.release

VENDORED = "conda_lock._vendor."

# conda-lock itself is not wanted, and importing it takes longer than all of conda.
spec = importlib.util.find_spec("conda_lock")
if spec is not None:
    sys.modules["conda_lock"] = importlib.util.module_from_spec(spec)

class Vendored(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds conda, and all below it, in the copy that conda-lock carries."""

    def find_spec(self, name, path=None, target=None):
        if name == "conda" or name.startswith("conda."):
            return importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec):
        return importlib.import_module(VENDORED + spec.name)

    def exec_module(self, module):
        pass

sys.meta_path.insert(0, Vendored())
'''

_CONDA = """\
import pathlib, sys
import vendored_conda

if __name__ == "__main__":
    from conda_lock._vendor.conda import activate
    from conda_lock._vendor.conda.cli import main
    here = pathlib.Path(__file__).parent
    activate.PosixActivator.hook_source_path = here / "conda.sh"
    sys.exit(main())
"""

# The vendored copy lacks its shell files; conda runs pip in a shell that has sourced this one.
_SHELL_FUNCTION = """\
conda() {
    case $1 in
    activate | deactivate | reactivate) eval "$("$CONDA_EXE" shell.posix "$@")" ;;
    *) "$CONDA_EXE" "$@" ;;
    esac
}
"""

# A program of its own, as in the real ones, so that its folder tells where the root prefix is.
_ENTRY = """\
#!/bin/sh
exec "${0%/*}/../bin/conda" "$@"
"""

# A shell script, because a `#!` line holds neither a long path nor one with blanks.
_EXE = """\
#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
# Looking for a GPU takes conda a second, and no package here needs to know.
export CONDA_EXE="$here/conda" CONDA_OVERRIDE_CUDA="${CONDA_OVERRIDE_CUDA-}"
exec "$here/python" "$here/../lib/envsync-demo/conda_main.py" "$@"
"""


def find_conda() -> Path | None:
    """This machine's own conda or mamba, if it has one."""
    for tool in ("conda", "mamba"):
        # The variable may name what is no longer there.
        for word in (os.environ.get(f"{tool.upper()}_EXE"), tool):
            if word and (found := shutil.which(word)):
                return Path(found)
    return None


def install_conda(root: Path, channels: Sequence[str]) -> Path:
    """Make a root prefix at `root` that knows `channels`; the path of its `conda`.

    Raises EnvsyncError when the packages of the extra `demo` are not there.
    """
    vendor = _vendor()
    library = root / "lib" / "envsync-demo"
    for folder in ("bin", "condabin", "envs", "pkgs", "conda-meta"):
        (root / folder).mkdir(parents=True)
    library.mkdir(parents=True)
    link_python(root)
    site = root / "lib" / PYTHON / "site-packages"
    (site / "envsync-demo.pth").write_text(f"{vendor.parent}\n{library}\n")
    (library / "vendored_conda.py").write_text(_HOOK)
    (library / "conda_main.py").write_text(_CONDA)
    (library / "conda.sh").write_text(_SHELL_FUNCTION)
    exe, entry = root / "bin" / "conda", root / "condabin" / "conda"
    for program, text in ((exe, _EXE), (entry, _ENTRY)):
        program.write_text(text)
        program.chmod(0o755)
    (root / "conda-meta" / "history").touch()
    _record(root, _version(vendor))
    (root / ".condarc").write_text(_condarc(channels))
    return exe


def link_python(prefix: Path) -> None:
    """Make `prefix` an environment of this machine's own Python, as `venv` does."""
    base = Path(sys.base_prefix) / "bin" / PYTHON
    if not base.exists():
        base = Path(os.path.realpath(sys.executable))
    (prefix / "bin").mkdir(parents=True, exist_ok=True)
    for name in ("python", "python3", PYTHON):
        (prefix / "bin" / name).symlink_to(base)
    (prefix / "lib" / PYTHON / "site-packages").mkdir(parents=True, exist_ok=True)
    (prefix / "pyvenv.cfg").write_text(f"home = {base.parent}\n")


def _vendor() -> Path:
    """The folder of conda-lock: found, not imported, which would take most of a second."""
    spec = importlib.util.find_spec("conda_lock")
    if spec is None or spec.origin is None:
        raise EnvsyncError(
            "there is no conda on this machine, and none to make one from",
            hint="pip install 'envsync[demo]'",
        )
    return Path(spec.origin).parent


def _record(root: Path, version: str) -> None:
    """The record that every root prefix has of conda itself; its name tells the version."""
    build = f"py{sys.version_info.major}{sys.version_info.minor}_0"
    record = {
        "build": build,
        "build_number": 0,
        "channel": "pypi",
        "depends": [],
        "files": [],
        "name": "conda",
        "subdir": "noarch",
        "url": "",
        "version": version,
    }
    file = root / "conda-meta" / f"conda-{version}-{build}.json"
    file.write_text(json.dumps(record, indent=2, sort_keys=True))


def _version(vendor: Path) -> str:
    return str(runpy.run_path(str(vendor / "_vendor" / "conda" / "_version.py"))["version"])


def _condarc(channels: Sequence[str]) -> str:
    """Settings in JSON, which is YAML; libmamba is not in the vendored copy."""
    return json.dumps(
        {
            "channels": list(channels),
            "default_channels": [],
            "solver": "classic",
            "notify_outdated_conda": False,
            "number_channel_notices": 0,
            "auto_update_conda": False,
        },
        indent=2,
    )
