"""What may go into an image, and which part of a lock does."""

from __future__ import annotations

from pathlib import Path

import pytest

from envsync.errors import InputError
from envsync.image import blueprint, choose
from envsync.lock import Lock, LockedPackage, Section, digest
from envsync.model import Platform
from envsync.recipe import locked
from envsync.spec import EnvironmentSpec, parse_environment, read_environment

PYTHON = LockedPackage("https://c.test/linux-64/python-3.11.7-0.conda", "a" * 32)
SECTION = Section(Platform("linux-64", "12.4", "2.35"), "conda 24.7.1", (PYTHON,))


def spec(text: str = "", channel: str = "conda-forge") -> EnvironmentSpec:
    raw = f"name: x\nchannels: ['{channel}', nodefaults]\ndependencies: [python=3.11]\n{text}"
    return parse_environment(raw.encode(), "environment.yml")


def test_locked() -> None:
    plan = blueprint(spec(), SECTION, "linux-64")
    assert plan.generation == locked(spec(), SECTION).generation
    assert plan.files == {"explicit.txt": f"@EXPLICIT\n{PYTHON.url}#{'a' * 32}\n"}
    assert plan.labels == {
        "envsync.environment": "x",
        "envsync.generation": plan.generation,
        "envsync.digest.explicit.txt": digest(plan.files["explicit.txt"].encode()),
    }


@pytest.mark.parametrize("section", [SECTION, None])
def test_files_of_this_machine_go_into_an_archive_of_their_own(
    tmp_path: Path, section: Section | None
) -> None:
    path = tmp_path / "environment.yml"
    path.write_text("name: x\ndependencies:\n- python=3.11\n- pip:\n  - -r r.txt\n")
    (tmp_path / "r.txt").write_text("einops\n")
    wanted = read_environment(path)
    plan = blueprint(wanted, section, "linux-64")
    assert plan.archive == f"x-{wanted.luggage.identity[:12]}.files.tar"
    assert plan.files.keys() == ({"explicit.txt"} if section else set())
    assert plan.editable is (section is None)
    (tmp_path / "r.txt").write_text("# https://user:word@h.test/\n")
    with pytest.raises(InputError, match="credential") as caught:
        blueprint(read_environment(path), section, "linux-64")
    assert (caught.value.file, caught.value.line) == ("r.txt", 1)


def test_line_ends_and_marks_of_the_file_are_dropped() -> None:
    plain = parse_environment(b"\xef\xbb\xbfname: x\r\ndependencies: [python=3.11]\r\n", "e.yml")
    assert blueprint(plain, None, "linux-64").files == {
        "environment.yml": "name: x\ndependencies: [python=3.11]\n"
    }


@pytest.mark.parametrize(
    ("dependencies", "cuda"),
    [
        ("[pytorch=2.5.*=*cuda*, cuda-version=12.4]", "12.4"),
        ("[python=3.11, pip, {pip: [torch==2.5.1+cu124]}]", "12.0"),
        ("[python=3.11]", ""),
    ],
)
def test_driver(dependencies: str, cuda: str) -> None:
    wanted = parse_environment(f"name: x\ndependencies: {dependencies}\n".encode(), "e.yml")
    assert blueprint(wanted, None, "linux-64").cuda == cuda


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (spec(channel="https://me:hunter2@c.test/x"), "a credential stands in this line"),
        (spec(channel="https://c.test/t/hunter2/x"), "a credential stands in this line"),
        (spec("# https://me:hunter2@c.test/x\n"), "a credential stands in this line"),
        (spec("variables: {HF_TOKEN: hunter2}\n"), "the variable HF_TOKEN looks like a secret"),
        (spec("variables: {WANDB_API_KEY: hunter2}\n"), "WANDB_API_KEY looks like a secret"),
    ],
)
@pytest.mark.parametrize("section", [None, SECTION])
def test_secrets(wanted: EnvironmentSpec, section: Section | None, message: str) -> None:
    with pytest.raises(InputError) as caught:
        blueprint(wanted, section, "linux-64")
    assert message in caught.value.message
    assert "hunter2" not in f"{caught.value}{caught.value.hint}"


def test_no_secret_where_a_name_only_sounds_like_one() -> None:
    wanted = spec("variables: {TOKENIZERS_PARALLELISM: 'false', KEYBOARD: us}\n")
    assert blueprint(wanted, None, "linux-64").variables["KEYBOARD"] == "us"


def test_only_linux() -> None:
    with pytest.raises(InputError, match="no container images for osx-64"):
        blueprint(spec(), None, "osx-64")


def test_choose() -> None:
    arm = Section(Platform("linux-aarch64"), "", (PYTHON,))
    other = Section(Platform("linux-64", "13.0"), "", ())
    twin = Section(Platform("linux-64", "11.8"), "mamba", (PYTHON,))
    assert choose(Lock((SECTION, arm)), "linux-aarch64") is arm
    assert choose(Lock((SECTION, twin)), "linux-64") is SECTION
    assert choose(Lock((SECTION, other)), "linux-64, CUDA 13.0") is other
    with pytest.raises(InputError, match="2 different sections") as caught:
        choose(Lock((SECTION, other)), "linux-64")
    assert "linux-64, CUDA 13.0" in caught.value.hint
    with pytest.raises(InputError, match="no section for linux-ppc64le"):
        choose(Lock((SECTION, arm)), "linux-ppc64le")
