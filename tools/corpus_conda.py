"""What conda and pip make of environment files; `tools/corpus.py` runs it inside a conda.

Arguments: the files, each in a folder of its own that may be written to. Every step of
`conda env create` is conda's own, in its order; only the solver is not started, and in place
of a run of pip its parser reads the requirements file that conda wrote. So nothing asks the
network.
"""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pip
from conda import __version__ as conda_version
from conda.activate import PosixActivator
from conda.base.context import context, determine_target_prefix, reset_context
from conda.core.prefix_data import PrefixData
from conda.env import specs
from conda.env.env import Environment
from conda.env.installers import conda as conda_installer
from conda.env.installers import pip as pip_installer
from conda.env.installers.base import get_installer
from conda.models.match_spec import MatchSpec
from pip._internal.req.constructors import install_req_from_parsed_requirement
from pip._internal.req.req_file import get_file_content, parse_requirements, preprocess

ENV = shutil.which("env")
FIELDS = ("channel", "subdir", "version", "build", "build_number", "url", "md5")
REFERS = ("-r", "-c", "--requirement", "--constraint")
"""Options whose file pip would read, or fetch, at once."""


def reading(file: Path) -> dict[str, Any]:
    """The environment that conda would make where `file` lies, or who refuses it and how."""
    (file.parent / "conda-meta").mkdir()
    (file.parent / "conda-meta" / "history").touch()
    os.chdir(file.parent)  # where pip looks for `-e .` and the like
    found: dict[str, Any] = {}
    steps = _steps(file, found)
    for who in steps:
        try:
            # Both print warnings, and our answer goes to standard output.
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(None):
                next(steps)
        except Exception as error:  # noqa: BLE001 (whatever conda dies of is the answer)
            says = (str(error).splitlines() or [""])[0]
            return {"refused by": who, "error": type(error).__name__, "says": says}
    return found


def _steps(file: Path, found: dict[str, Any]) -> Iterator[str]:
    """Two yields a step: who works in it, and its end."""
    prefix = file.parent
    yield "conda"
    environment = specs.detect(filename=str(file)).environment
    found["name"] = environment.name
    determine_target_prefix(context, Namespace(name=environment.name, prefix=None))
    yield ""
    yield "conda"
    wanted = environment.dependencies.get("conda", [])
    found["channels"] = list(environment.channels)
    found["conda"] = [_in_full(MatchSpec(each)) for each in wanted]
    conda_installer._solve(str(prefix), wanted, None, environment)  # noqa: SLF001
    yield ""
    yield "conda"
    if others := environment.dependencies.keys() - {"conda", "pip"}:
        get_installer(others.pop())
    requirements = _requirements(environment, file)
    yield ""
    yield "pip"
    found["pip"] = _lines(requirements)
    yield ""
    yield "conda"
    without = PosixActivator(["activate", str(prefix)]).execute()
    if environment.variables:
        PrefixData(str(prefix)).set_environment_env_vars(environment.variables)
    script = PosixActivator(["activate", str(prefix)]).execute()
    yield ""
    yield "shell"
    changed = _variables_after(script).items() - _variables_after(without).items()
    # What a variable was before is kept by conda for `deactivate`.
    found["variables"] = {key: value for key, value in changed if not key.startswith("__CONDA_")}
    yield ""


def _in_full(spec: MatchSpec) -> str:
    """The short text has forms that conda alone can read, such as `blas=[build=x]`."""
    fields = {key: spec.get_raw_value(key) for key in FIELDS}
    if channel := fields["channel"]:
        fields["channel"] = channel.canonical_name
    fields = {key: str(value) for key, value in fields.items() if value is not None}
    inside = ",".join(f"{key}='{value}'" for key, value in fields.items())
    return f"{spec.name}[{inside}]" if inside else spec.name


def _requirements(environment: Environment, file: Path) -> Path:
    """What conda would hand to pip: it deletes its file after the run, so read it in the run."""
    kept = file.with_name("kept.txt")
    kept.touch()

    def keep(arguments: Sequence[str], *_: object, **__: object) -> tuple[str, str]:
        kept.write_bytes(Path(arguments[arguments.index("-r") + 1]).read_bytes())
        return "", ""

    pip_installer.pip_subprocess = keep
    if "pip" in environment.dependencies:
        wanted = environment.dependencies["pip"]
        pip_installer.install(str(file.parent), wanted, Namespace(file=str(file)), environment)
    return kept


def _lines(requirements: Path) -> list[str]:
    """The lines as pip reads them: joined, without comments. Raises what pip raises."""
    lines = [line for _, line in preprocess(get_file_content(str(requirements), None)[1])]
    single = requirements.with_name("line.txt")
    for line in lines:
        if line.startswith(REFERS):
            continue
        single.write_text(line)
        for parsed in parse_requirements(str(single), session=None):
            install_req_from_parsed_requirement(parsed)
    return lines


def _variables_after(script: str) -> dict[str, str]:
    done = subprocess.run(
        ["/bin/sh", "-c", f"{script}\n{ENV} -0"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ValueError(done.stderr)
    return dict(word.split("=", 1) for word in done.stdout.split("\0") if word)


def main(files: Sequence[Path]) -> None:
    reset_context()  # reads .condarc
    # A process for each: `%YAML 1.1` in one file changes how conda reads the next.
    with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        answers = pool.map(reading, files, chunksize=1)
    answer = {
        "conda": conda_version,
        "pip": pip.__version__,
        "files": {file.name: each for file, each in zip(files, answers, strict=True)},
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main([Path(each) for each in sys.argv[1:]])
