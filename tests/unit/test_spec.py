"""Environment files as people have them: what is read, and what is said about the rest."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envsync.errors import InputError
from envsync.spec import EnvironmentSpec, parse_environment, read_environment

GOOD = """\
name: train
channels:
  - conda-forge
  - nodefaults
dependencies:
  - python=3.11   # pinned
  - pytorch::pytorch>=2.5,<2.6
  - numpy[version='>=1.26',build='*py311*']
  - pip
  - pip:
      - transformers==4.44.2
      - einops
      - --find-links https://mirror.test/wheels
      - git+https://github.com/org/Some_Repo.git@0123abc#egg=Some_Repo
      - flash_attn @ https://mirror.test/flash_attn-2.6.3-cp311-cp311-linux_x86_64.whl
variables:
  OMP_NUM_THREADS: 8
  NCCL_DEBUG: "WARN"
"""


def read(text: str | bytes, name: str | None = None) -> EnvironmentSpec:
    raw = text.encode() if isinstance(text, str) else text
    return parse_environment(raw, "environment.yml", name)


def refused(text: str | bytes) -> InputError:
    with pytest.raises(InputError) as caught:
        read(text)
    assert caught.value.file == "environment.yml"
    return caught.value


def with_dependency(text: str) -> str:
    return f"name: x\ndependencies:\n  - python\n  - {text}\n"


def with_pip(text: str) -> str:
    return f"name: x\ndependencies:\n  - pip\n  - pip:\n    - {text}\n"


def test_everything_in_a_good_file() -> None:
    spec = read(GOOD)
    assert spec.name == "train"
    assert spec.channels == ("conda-forge", "nodefaults")
    assert [(each.name, each.line) for each in spec.conda] == [
        ("python", 6),
        ("pytorch", 7),
        ("numpy", 8),
        ("pip", 9),
    ]
    assert [(each.name, each.line) for each in spec.pip] == [
        ("transformers", 11),
        ("einops", 12),
        ("", 13),
        ("some-repo", 14),
        ("flash-attn", 15),
    ]
    assert spec.variables == (("OMP_NUM_THREADS", "8"), ("NCCL_DEBUG", "WARN"))
    assert spec.raw == GOOD.encode()
    assert spec.notices == ()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_and_line_ends_of_windows(encoding: str) -> None:
    raw = GOOD.replace("\n", "\r\n").encode(encoding)
    spec = read(raw)
    assert spec.name == "train"
    assert spec.conda[1].line == 7
    assert spec.raw == raw


def test_given_name_replaces_the_files_own() -> None:
    assert read(GOOD, "other").name == "other"
    assert read("dependencies: [python]", "other").name == "other"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", 0, "empty"),
        ("# just a comment\n", 0, "empty"),
        ("- python\n", 1, "no mapping"),
        ("name: x\n", 1, "asks for no package"),
        ("dependencies: [python]\n", 1, "no `name:`"),
        ("name: x\ndependencies:\n\t- python\n", 3, "tab"),
        ("name: x\ndependencies: [python\nvariables: {}\n", 3, "not YAML"),
        ("name: x\ndependencies: [python]\n---\nname: y\n", 4, "several"),
        ("name: {{ name }}\ndependencies: [python]\n", 1, "Jinja"),
        ("name: x\ndependencies:\n  - python={{ py }}\n", 3, "Jinja"),
        ("name: x\nchannels: conda-forge\ndependencies: [python]\n", 2, "no list"),
        ("name: x\ndependencies: python\n", 2, "no list"),
        ("name: [x]\ndependencies: [python]\n", 1, "no text"),
        ("name: x\ndependencies: [python]\nvariables: [A]\n", 3, "no mapping"),
        ("name: x\ndependencies: [python]\nvariables: {'A B': 1}\n", 3, "variable"),
        ("name: base\ndependencies: [python]\n", 1, "conda's own"),
        ("name: 'x; touch /tmp/p'\ndependencies: [python]\n", 1, "not a name"),
        (with_dependency("python: 3.10"), 4, "mapping"),
        (with_dependency(""), 4, "no text"),
        (with_dependency("numpy=="), 4, "not a package"),
        (with_dependency("'x; touch /tmp/p'"), 4, "not a package"),
        (with_dependency("./local.conda"), 4, "file of this machine"),
        (with_dependency("[a, b]"), 4, "no text"),
        (with_pip("numpy=1.26"), 5, "pip does not understand"),
        (with_pip("-r requirements.txt"), 5, "file of this machine"),
        (with_pip("-c constraints.txt"), 5, "file of this machine"),
        (with_pip("-e ."), 5, "file of this machine"),
        (with_pip("./wheels/x.whl"), 5, "file of this machine"),
        (with_pip("--target /x"), 5, "may not stand"),
        (b"name: x\ndependencies:\n  - caf\xe9\n", 3, "UTF-8"),
        ("name: x\ndependencies: [py\x07]\n", 2, "may not stand in YAML"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str | bytes, line: int, said: str) -> None:
    error = refused(text)
    assert said in error.message
    assert error.line == line


def test_hint_shows_the_right_form() -> None:
    assert "numpy==1.26" in refused(with_pip("numpy=1.26")).hint
    assert "- python=3.10" in refused(with_dependency("python: 3.10")).hint


def test_notices() -> None:
    text = "name: x\nname: y\nprefix: /home/me/x\nchanels: [a]\ndependencies: [python]\n"
    spec = read(text)
    assert spec.name == "y"
    said = [str(notice) for notice in spec.notices]
    assert said[0].startswith("environment.yml:2: `name:` stands twice")
    assert "`prefix:` is ignored" in said[1]
    assert "did you mean `channels:`" in said[2]


def test_secret_of_a_url_is_in_no_message() -> None:
    error = refused(with_pip("-r https://user:hunter2@host.test/requirements.txt"))
    assert "hunter2" not in str(error) + error.hint


@pytest.mark.parametrize(
    "text",
    ["numpy 1.26.4 py311_0", "python 3.11", "numpy=1.26", "numpy==1.26.4", "blas=*=openblas",
     "conda-forge/linux-64::numpy", "numpy~=1.26", "NumPy", "pkg>=1|<0.5",
     "https://host.test/linux-64/foo-1.0-0.conda"],
)  # fmt: skip
def test_forms_that_conda_takes(text: str) -> None:
    assert read(with_dependency(f'"{text}"')).conda[1].text == text


def test_missing_file_names_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "env.yaml").touch()
    with pytest.raises(InputError) as caught:
        read_environment(tmp_path / "environment.yml")
    assert str(tmp_path / "env.yaml") in caught.value.hint


YAML_BITS = st.sampled_from(
    ["name:", " x", "\n", "dependencies:", "  - ", "python", "=", "3.11", "pip:", "[", "]", "{",
     "}", "&a ", "*a", "!!python/object:os.system ", "---\n", "\t", "'", '"', "{{", "%", "|", ">"]
)  # fmt: skip


@settings(max_examples=250, deadline=None)
@given(st.lists(YAML_BITS, max_size=25).map("".join) | st.text())
def test_any_text_is_a_spec_or_a_clear_error(text: str) -> None:
    try:
        spec = read(text)
    except InputError as error:
        assert error.message  # noqa: PT017 (either outcome is right)
    else:
        assert spec.conda


@settings(max_examples=100, deadline=None)
@given(st.binary())
def test_any_bytes_are_a_spec_or_a_clear_error(raw: bytes) -> None:
    with pytest.raises(InputError):
        read(raw)
