"""Dockerfiles and Apptainer definitions: every value stays the value that it was."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from envsync.errors import InputError
from envsync.image import Blueprint, apptainer, dockerfile
from envsync.luggage import Luggage

NASTY = "a\n  - 'b' \"c\" $HOME `id` \\\n%post\nEND\n# x\n\n"
PLAN = Blueprint(
    "nlp-a100",
    "linux-64",
    "0123456789ab",
    {"explicit.txt": f"@EXPLICIT\nhttps://c.test/a-1-0.conda#{'a' * 32}\n"},
    {"envsync.generation": "0123456789ab"},
    {"OMP_NUM_THREADS": "8", "ODD": 'a b; $HOME "c" \\'},
)
LOCKED = replace(
    PLAN,
    files={
        **PLAN.files,
        "pip.txt": f"einops==0.8.0 --hash=sha256:{'c' * 64}\n",
        "direct.txt": "flash @ git+https://g.test/flash@0123abc\n",
    },
)
SOLVED = replace(PLAN, files={"environment.yml": NASTY}, cuda="12.4")
ALONG = Luggage(b"tar", "env", "environment.yml", identity="5" * 64)
CARRIED = replace(LOCKED, luggage=ALONG)
CARRIED_SOLVED = replace(PLAN, files={}, luggage=ALONG, editable=True)
WHEEL = "envsync-1.2-py3-none-any.whl"
TOOLED = replace(LOCKED, wheel=WHEEL, lock=NASTY)


def instructions(text: str) -> list[tuple[str, str]]:
    """What a builder reads: continued lines joined, here-documents apart, comments left out."""
    found: list[tuple[str, str]] = []
    lines = iter(text.splitlines())
    for line in lines:
        if not line or line.startswith("#"):
            continue
        whole = line
        while whole.endswith("\\"):
            whole = whole[:-1] + next(lines)
        word, _, rest = whole.partition(" ")
        if here := re.match(r"(?:--chmod=755 )?<<'(\w+)' (\S+)$", rest):
            body = []
            while (each := next(lines)) != here[1]:
                body.append(f"{each}\n")
            word, rest = f"COPY {here[2]}", "".join(body)
        found.append((word, rest))
    return found


def post(text: str) -> str:
    return text.partition("\n%post\n")[2].partition("\n%environment\n")[0]


def shellchecked(script: str) -> None:
    # Below warnings, it asks whether `$HOME` in single quotes is meant: it is.
    argv = [Path(sys.executable).parent / "shellcheck", "--shell=sh", "--severity=warning", "-"]
    done = subprocess.run(argv, input=script, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("plan", [PLAN, LOCKED, SOLVED, CARRIED, CARRIED_SOLVED, TOOLED])
def test_shell_parts(plan: Blueprint) -> None:
    for word, rest in instructions(dockerfile(plan)):
        if word == "RUN":
            shellchecked(rest + "\n")
    shellchecked(post(apptainer(plan)))


@pytest.mark.parametrize("plan", [PLAN, LOCKED, SOLVED, CARRIED, CARRIED_SOLVED, TOOLED])
def test_another_parser_has_nothing_against_it(plan: Blueprint) -> None:
    # It stops at a backslash before the last quote, which no environment file can ask for.
    text = dockerfile(replace(plan, variables={"ODD": "a b; c=#d", "OMP_NUM_THREADS": "8"}))
    # DL3008 wants a version of git, which Debian drops when the next one comes; DL3029 wants no
    # platform, which a lock is for; DL3002 means the builder, of which nothing is kept.
    program = Path(sys.executable).parent / "hadolint"
    argv = [program, "--no-color", "--ignore=DL3002", "--ignore=DL3008", "--ignore=DL3029", "-"]
    done = subprocess.run(argv, input=text, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("plan", [PLAN, LOCKED, SOLVED])
def test_order_of_instructions(plan: Blueprint) -> None:
    text = dockerfile(plan)
    assert text.startswith("# syntax=docker/dockerfile:1\n")
    words = [word for word, _ in instructions(text)]
    files = [f"COPY /tmp/envsync/{name}" for name in plan.files]
    first = ["FROM", "USER", "SHELL", "ENV", "ENV", *files, "RUN"]
    assert words == [*first, "FROM", "LABEL", "RUN", "COPY", "ENV", "ENV", "USER", "WORKDIR"]
    assert [rest for word, rest in instructions(text) if word == "USER"] == ["0", "10001"]


@pytest.mark.parametrize("plan", [PLAN, LOCKED, SOLVED])
def test_files_are_embedded_byte_for_byte(plan: Blueprint) -> None:
    copied = dict(instructions(dockerfile(plan)))
    for name, content in plan.files.items():
        assert copied[f"COPY /tmp/envsync/{name}"] == content


def test_envsync_comes_in_a_stage_of_its_own() -> None:
    text = dockerfile(TOOLED)
    plain, tooled = dockerfile(LOCKED).split("\nFROM "), text.split("\nFROM ")
    assert tooled[1] == plain[1]  # the environment itself is made in the same way
    assert len(tooled) == len(plain) + 1
    copied = dict(instructions(text))
    assert copied["COPY /opt/envsync/nlp-a100.lock"] == NASTY
    assert copied["COPY /usr/local/bin/envsync"] == (
        '#!/bin/sh\nexec /opt/envsync/.tool/bin/python -I -m envsync "$@"\n'
    )
    (stage,) = re.findall(r"^FROM .* AS tool\n(.*?)^FROM ", text, re.DOTALL | re.MULTILINE)
    assert f"COPY {WHEEL} /tmp/envsync/\n" in stage
    assert "nlp-a100" not in stage
    text = apptainer(TOOLED)
    assert f"\n    {WHEEL} /{WHEEL}\n" in text
    assert "/opt/envsync/nlp-a100.lock" in post(text)


@pytest.mark.parametrize("plan", [PLAN, LOCKED, SOLVED])
def test_apptainer_writes_the_files_byte_for_byte(plan: Blueprint, tmp_path: Path) -> None:
    text = apptainer(plan)
    sections = [line for line in text.splitlines() if line.lstrip().startswith("%")]
    assert sections == ["%files from build", "%post", "%environment", "%labels"]
    writing = post(text).partition("    env ")[0].partition("    micromamba ")[0]
    assert plan.name in post(text)
    script = writing.replace("/tmp/envsync", str(tmp_path))
    subprocess.run(["sh", "-c", script], check=True, timeout=30)
    for name, content in plan.files.items():
        assert (tmp_path / name).read_text() == content


def test_apptainer_environment() -> None:
    found = apptainer(PLAN).partition("%environment\n")[2].partition("%labels")[0]
    shown = 'printf \'%s|\' "$ODD" "$OMP_NUM_THREADS" "$PATH"'
    done = subprocess.run(
        ["/bin/sh", "-c", found + shown],
        env={"PATH": "/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    odd = PLAN.variables["ODD"]
    assert done.stdout == f"{odd}|8|/opt/envsync/nlp-a100/bin:/bin|"


def test_docker_environment() -> None:
    environment = [rest for word, rest in instructions(dockerfile(PLAN)) if word == "ENV"]
    # Docker's rules for double quotes are a shell's: `\` before `"`, `$` and `\` alone.
    assert r'ODD="a b; \$HOME \"c\" \\"' in environment[2]
    assert (
        dict(each.split("=", 1) for each in shlex.split(environment[2].replace("\\$", "$")))["ODD"]
        == PLAN.variables["ODD"]
    )
    assert environment[3] == 'PATH="/opt/envsync/nlp-a100/bin:$PATH"'


def test_locked_pip_wants_hashes_and_adds_nothing() -> None:
    (build, _) = [rest for word, rest in instructions(dockerfile(LOCKED)) if word == "RUN"]
    assert "--no-deps --require-hashes --requirement /tmp/envsync/pip.txt" in build
    assert "--no-deps --requirement /tmp/envsync/direct.txt" in build
    assert build.endswith('&& rm -rf /tmp/envsync "$HOME/.cache"')
    assert "CONDA_OVERRIDE_CUDA" not in build


def test_solver_is_told_of_the_driver() -> None:
    (build, _) = [rest for word, rest in instructions(dockerfile(SOLVED)) if word == "RUN"]
    assert build.startswith("env CONDA_OVERRIDE_CUDA=12.4 micromamba create ")


def test_prefix_is_the_same_in_both_stages() -> None:
    copied = dict(instructions(dockerfile(PLAN)))["COPY"]
    assert copied.split() == ["--from=build", *["/opt/envsync/nlp-a100"] * 2]


def test_architecture() -> None:
    text = dockerfile(replace(PLAN, platform="linux-aarch64"), "ubuntu:24.04")
    assert "FROM --platform=linux/arm64 ubuntu:24.04\n" in text


@pytest.mark.parametrize("base", ["", "a b", "x\nRUN id", "-x", "$(id)", "a@sha256:1"])
@pytest.mark.parametrize("make", [dockerfile, apptainer])
def test_base(make: object, base: str) -> None:
    assert callable(make)
    with pytest.raises(InputError, match="is not the name of an image"):
        make(PLAN, base)


def test_apptainer_has_variables_of_its_own() -> None:
    with pytest.raises(InputError, match="Apptainer would take"):
        apptainer(replace(PLAN, files={"environment.yml": "# {{ x }}\n"}))


def test_what_goes_along_is_unpacked_and_left_only_where_it_is_imported_from() -> None:
    archive = "nlp-a100-555555555555.files.tar"
    along = f"{PLAN.prefix}.files"
    docker = dockerfile(CARRIED)
    assert f"\nADD {archive} {along}/\n" in docker
    assert f"\nWORKDIR {along}/env\n" in docker
    assert f"COPY --from=build {along}" not in docker
    definition = apptainer(CARRIED)
    assert f"\n%files\n    {archive} /{archive}\n" in definition
    assert f"    rm -rf {along}\n" in definition
    solved = dockerfile(CARRIED_SOLVED)
    assert f"COPY --from=build {along} {along}\n" in solved
    assert f"--file {along}/env/environment.yml" in solved
    assert f"    rm -rf {along}\n" not in apptainer(CARRIED_SOLVED)
