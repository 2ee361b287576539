"""Dockerfiles and Apptainer definitions. All quoting for both is in this module.

Values reach a shell as words of `shlex`, a Dockerfile's own instructions in double quotes with
what is special there escaped (Dockerfile reference, "Environment replacement"), and files as
here-documents without expansion, or as quoted lines where a format has none.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping

from envsync.errors import InputError
from envsync.image.blueprint import ARCHITECTURES, FOLDER, Blueprint

MICROMAMBA = "mambaorg/micromamba:2.5.0"
"""What builds; nothing of it but the environment is in the image."""
BASE = "debian:12-slim"
"""What the environment runs on: needs glibc alone, and a shell."""

_WORK = "/tmp/envsync"  # noqa: S108 (inside of the builder)
_SOURCES = ("explicit.txt", "environment.yml")
_TOOL = f"{FOLDER}/.tool"
"""envsync, with a Python of its own; no environment's name begins with a dot."""
_PYTHON = "python=3.13"
_COMMAND = "/usr/local/bin/envsync"
_USER = "envsync"
_UID = "10001"  # not 1000, which some base images have given away
_REFERENCE = re.compile(r"[a-z0-9][A-Za-z0-9._/:-]*(?:@sha256:[0-9a-f]{64})?")
"""An image's name (distribution specification), as far as it can become text of a file."""


def dockerfile(plan: Blueprint, base: str = BASE) -> str:
    """The text of a Dockerfile, for BuildKit (Docker 23 and later) or Podman.

    Raises InputError for a base that is no image's name.
    """
    platform = f"--platform=linux/{ARCHITECTURES[plan.platform]}"
    path = _double(f"{plan.prefix}/bin")[:-1] + ':$PATH"'
    building = {"MAMBA_ROOT_PREFIX": f"{_WORK}/root", "PIP_NO_CACHE_DIR": "1"}
    lines = [
        "# syntax=docker/dockerfile:1",
        *_said(plan),
        f"FROM {platform} {MICROMAMBA} AS build",
        "USER 0",
        f"SHELL {json.dumps(['/bin/sh', '-euc'])}",
        *_pairs("ENV", building),
        f"ENV PATH={path}",
        *(line for name, text in plan.files.items() for line in _heredoc(f"{_WORK}/{name}", text)),
        # ADD unpacks an archive that lies beside the Dockerfile.
        # Relative paths in requirements begin where pip is started.
        *([f"ADD {plan.archive} {plan.along}/", f"WORKDIR {plan.beside}"] if plan.archive else []),
        # One layer: what a later one removes would stay in the one before.
        "RUN " + " \\\n && ".join([*_commands(plan), _clean()]),
        "",
        *(_tool_stage(plan, platform) if plan.wheel else []),
        f"FROM {platform} {_checked(base)}",
        *_pairs("LABEL", plan.labels),
        # torch's caches ask for the user's name, and fail where a number has none.
        f"RUN {shlex.join(['useradd', '--create-home', '--uid', _UID, _USER])}",
        # The name of an environment has no character that would be special here.
        f"COPY --from=build {plan.prefix} {plan.prefix}",
        *([f"COPY --from=build {plan.along} {plan.along}"] if plan.editable else []),
        *(_tool_files(plan) if plan.wheel else []),
        *_pairs("ENV", {**plan.variables, "CONDA_PREFIX": plan.prefix}),
        f"ENV PATH={path}",
        f"USER {_UID}",  # Kubernetes' runAsNonRoot takes a number alone
        f"WORKDIR /home/{_USER}",
    ]
    return _lines(lines)


def apptainer(plan: Blueprint, base: str = BASE) -> str:
    """The text of an Apptainer definition. Who runs the image is the user in it.

    Raises InputError for a base that is no image's name, and for text that Apptainer would change.
    """
    certificates = "/etc/ssl/certs/ca-certificates.crt"
    text = _lines(
        [
            *_said(plan),
            *("Bootstrap: docker", f"From: {MICROMAMBA}", "Stage: build", ""),
            *("Bootstrap: docker", f"From: {_checked(base)}", "Stage: final", ""),
            "%files from build",
            "    /bin/micromamba /usr/local/bin/micromamba",
            f"    {certificates} {certificates}",
            "",
            *(
                ["%files", *(f"    {each} /{each}" for each in plan.beside_text), ""]
                if plan.beside_text
                else []
            ),
            "%post",
            *(f"    {line}" for line in _post(plan)),
            "",
            "%environment",
            *(
                f"    export {name}={_single(value)}"
                for name, value in {**plan.variables, "CONDA_PREFIX": plan.prefix}.items()
            ),
            f'    export PATH={_single(f"{plan.prefix}/bin")}:"$PATH"',
            "",
            "%labels",
            *(f"    {name} {value}" for name, value in plan.labels.items()),
        ]
    )
    if "{{" in text:
        raise InputError(
            "Apptainer would take `{{` for a variable of its own",
            hint="write it in another way, or make a Dockerfile with --format docker",
        )
    return text


def _said(plan: Blueprint) -> list[str]:
    how = (
        "solved when it is built: two builds may differ"
        if "explicit.txt" not in plan.files
        else "every file by its hash, from the lock"
    )
    return [f"# Made by `envsync image`: {plan.name} for {plan.platform}, {how}."]


def _commands(plan: Blueprint) -> list[str]:
    """What fills the prefix, each a shell command."""
    source = next((f"{_WORK}/{name}" for name in _SOURCES if name in plan.files), "")
    if not source:
        source = f"{plan.beside}/{plan.luggage.file}"
    # Builders have no GPU, and a solver would take the build for CPUs, or none.
    driver = ["env", f"CONDA_OVERRIDE_CUDA={plan.cuda}"] if plan.cuda else []
    create = ["micromamba", "create", "--yes", "--prefix", plan.prefix, "--file"]
    commands = [shlex.join([*driver, *create, source])]
    pip = [f"{plan.prefix}/bin/python", "-m", "pip", "install", "--no-deps"]
    if "pip.txt" in plan.files:
        words = [*pip, "--require-hashes", "--requirement", f"{_WORK}/pip.txt"]
        commands.append(shlex.join(words))
    if "direct.txt" in plan.files:
        commands.append(
            "{ command -v git >/dev/null || { apt-get update"
            " && apt-get install --yes --no-install-recommends git"
            " && rm -rf /var/lib/apt/lists/*; }; }"
        )
        commands.append(shlex.join([*pip, "--requirement", f"{_WORK}/direct.txt"]))
    return commands


def _clean() -> str:
    """Drops conda's package cache, what was read, and what pip left."""
    return f'rm -rf {shlex.quote(_WORK)} "$HOME/.cache"'


def _post(plan: Blueprint) -> Iterator[str]:
    yield "set -eu"
    yield f"mkdir -p {shlex.quote(_WORK)}"
    yield f"export MAMBA_ROOT_PREFIX={shlex.quote(f'{_WORK}/root')} PIP_NO_CACHE_DIR=1"
    yield f'export PATH={_single(f"{plan.prefix}/bin")}:"$PATH"'
    for name, text in plan.files.items():
        yield from _printed(f"{_WORK}/{name}", text)
    if plan.archive:
        along = shlex.quote(plan.along)
        yield f"mkdir -p {along} && tar -xf /{plan.archive} -C {along} && rm /{plan.archive}"
        yield shlex.join(["cd", plan.beside])
    yield from _commands(plan)
    if plan.wheel:
        yield from _tool_commands(f"/{plan.wheel}")
        yield shlex.join(["rm", f"/{plan.wheel}"])
        for path, text in _tool_texts(plan).items():
            yield from _printed(path, text)
        yield shlex.join(["chmod", "755", _COMMAND])
    yield f"cd / && {_clean()} /usr/local/bin/micromamba"
    if plan.archive and not plan.editable:
        yield f"rm -rf {shlex.quote(plan.along)}"


def _tool_stage(plan: Blueprint, platform: str) -> list[str]:
    """Envsync in a stage of its own: what it needs never meets the environment."""
    return [
        f"FROM {platform} {MICROMAMBA} AS tool",
        "USER 0",
        f"SHELL {json.dumps(['/bin/sh', '-euc'])}",
        *_pairs("ENV", {"MAMBA_ROOT_PREFIX": f"{_WORK}/root", "PIP_NO_CACHE_DIR": "1"}),
        f"COPY {plan.wheel} {_WORK}/",
        "RUN " + " \\\n && ".join([*_tool_commands(f"{_WORK}/{plan.wheel}"), _clean()]),
        "",
    ]


def _tool_commands(wheel: str) -> list[str]:
    create = ["micromamba", "create", "--yes", "--prefix", _TOOL]
    source = ["--override-channels", "--channel", "conda-forge", _PYTHON, "pip"]
    pip = [f"{_TOOL}/bin/python", "-I", "-m", "pip", "install", wheel]
    return [shlex.join([*create, *source]), shlex.join(pip)]


def _tool_files(plan: Blueprint) -> Iterator[str]:
    yield f"COPY --from=tool {_TOOL} {_TOOL}"
    for path, text in _tool_texts(plan).items():
        yield from _heredoc(path, text, "--chmod=755 " if path == _COMMAND else "")


def _tool_texts(plan: Blueprint) -> Mapping[str, str]:
    """The command, which takes nothing from the image's variables, and the lock to judge by."""
    call = f'#!/bin/sh\nexec {_TOOL}/bin/python -I -m envsync "$@"\n'
    return {_COMMAND: call, **({f"{plan.prefix}.lock": plan.lock} if plan.lock else {})}


def _printed(path: str, text: str) -> Iterator[str]:
    """A file from its lines, in quotes: one that begins with `%` would begin a section there."""
    yield "printf '%s\\n' \\"
    yield from (f"    {_single(line)} \\" for line in text.removesuffix("\n").split("\n"))
    yield f"    > {shlex.quote(path)}"


def _heredoc(path: str, text: str, mode: str = "") -> Iterator[str]:
    """COPY of a file whose bytes stand in the Dockerfile; nothing in them is expanded."""
    end = "END"
    lines = text.removesuffix("\n").split("\n")
    while end in lines:
        end += "_"
    yield f"COPY {mode}<<'{end}' {path}"
    yield from lines
    yield end
    yield ""  # hadolint reads on only behind an empty line


def _pairs(instruction: str, values: Mapping[str, str]) -> list[str]:
    joined = " \\\n    ".join(f"{name}={_double(value)}" for name, value in values.items())
    return [f"{instruction} {joined}"]


def _double(value: str) -> str:
    escaped = re.sub(r'([\\"$])', r"\\\1", value)
    return f'"{escaped}"'


def _single(value: str) -> str:
    """As shlex does, but in quotes always: `%` and `-` begin other things elsewhere."""
    return "'" + value.replace("'", "'\"'\"'") + "'"


def _checked(base: str) -> str:
    if not _REFERENCE.fullmatch(base):
        raise InputError(
            f"{base!r} is not the name of an image", hint="expected for example debian:12-slim"
        )
    return base


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
