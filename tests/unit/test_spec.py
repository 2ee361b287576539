"""Environment files as people have them: what is read, and what is said about the rest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rattler import MatchSpec

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
        (with_pip("--target /x"), 5, "may not stand"),
        (b"name: x\ndependencies:\n  - caf\xe9\n", 3, "UTF-8"),
        ("name: x\ndependencies: [py\x07]\n", 2, "may not stand in YAML"),
        ('name: "\\U00110000"\n', 0, "stands for no character"),
        ('name: x\ndependencies: ["\\ud800"]\n', 2, "cannot be shown"),
        ('name: x\n"\\e[31mred": 1\ndependencies: [python]\n', 2, "cannot be shown"),
        ("a: &a [x]\n<<: *a\ndependencies: [python]\n", 2, "merges"),
        ("name: 3.10\ndependencies: [python]\n", 1, "kind float"),
        ("name: true\ndependencies: [python]\n", 1, "kind bool"),
        ("name: !!python/name:os.system x\ndependencies: [python]\n", 1, "tag"),
        ("name: x\nchannels: [3]\ndependencies: [python]\n", 2, "kind int"),
        ("name: x\nchannels: [./mine]\ndependencies: [python]\n", 2, "no channel"),
        ("name: x\nchannels: [-x]\ndependencies: [python]\n", 2, "no channel"),
        ("name: x\ndependencies: [python]\nvariables: {A: [1]}\n", 3, "no text"),
        ("name: x\ndependencies: [python]\nvariables: {A: null}\n", 3, "no text"),
        ('name: x\ndependencies: [python]\nvariables: {A: "\\0"}\n', 3, "no variable can"),
        ("name: x\ndependencies:\n  - pip:\n", 3, "no package"),
        ("name: x\ndependencies:\n  - pip: [--pre]\n", 3, "no package"),
        (with_dependency("{}"), 4, "no text"),
        (with_dependency("3.10"), 4, "kind float"),
        (with_dependency("-x"), 4, "does not begin"),
        (with_dependency('"numpy\\nscipy"'), 4, "line end"),
        (with_dependency("local-1.0-0.conda"), 4, "file of this machine"),
        (with_dependency(r"C:\pkgs\local-1.0-0.tar.bz2"), 4, "file of this machine"),
        (with_dependency("file:///pkgs/local-1.0-0.conda"), 4, "file of this machine"),
        (with_pip("3.1"), 5, "kind float"),
        (with_pip('"--pre\\n-r /etc/passwd"'), 5, "line end"),
        (with_pip('"git+https://h.test/x\\n-e ."'), 5, "line end"),
        (with_pip("--pre -r other.txt"), 5, "names a file and says more"),
        (with_pip("-i https://h.test -e ."), 5, "names a file and says more"),
        (with_pip("--index-url"), 5, "wants a value"),
        (with_pip("--index-url --pre"), 5, "wants a value"),
        (with_pip("einops==0.8 --index-url https://h.test"), 5, "may not follow"),
        (with_pip("-i 'https://h.test"), 5, "pip does not understand"),
        (with_pip("-e git+https://h.test/x#egg=x"), 5, "editable"),
        (with_pip("file://host/x"), 5, "file of the host host"),
        (with_pip("file:///C:/x.whl"), 5, "file of this machine"),
        (with_pip("file:///x%00"), 5, "file of this machine"),
        (with_pip("file:///x%0A-e%20."), 5, "file of this machine"),
        (with_pip("file://[x"), 5, "no address"),
        (with_pip("file:///x.zip#subdirectory=y"), 5, "part of a folder"),
        (with_pip("/x/${HOME}/y.whl"), 5, "file of this machine"),
        (with_pip("x @ /x/y.whl"), 5, "behind the `@`"),
        (with_pip("x @ file:///croot/x_1707229174982/work"), 5, "was built"),
        (with_pip("x @ ./x"), 5, "file of this machine"),
        (with_pip("x @ x-1.zip"), 5, "file of this machine"),
        (with_pip("git+file:///x"), 5, "file of this machine"),
        (with_pip("C:\\src\\x"), 5, "file of this machine"),
        (with_pip("~/x"), 5, "file of this machine"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str | bytes, line: int, said: str) -> None:
    error = refused(text)
    assert said in error.message
    assert error.line == line


def test_hint_shows_the_right_form() -> None:
    assert "numpy==1.26" in refused(with_pip("numpy=1.26")).hint
    assert "numpy==1.26" in refused(with_pip("numpy=1.26=py311_0")).hint
    assert 'x[a]==1; os_name=="posix"' in refused(with_pip('x[a]=1; os_name=="posix"')).hint
    assert refused(with_pip("-e git+https://h.test/x")).hint.endswith(": git+https://h.test/x")
    assert "- python=3.10" in refused(with_dependency("python: 3.10")).hint


def test_notices() -> None:
    text = "name: x\nname: y\nprefix: /home/me/x\nchanels: [a]\ndependencies: [python]\n"
    spec = read(text)
    assert spec.name == "y"
    said = [str(notice) for notice in spec.notices]
    assert said[0].startswith("environment.yml:2: `name:` stands twice")
    assert "did you mean `channels:`" in said[1]
    assert (spec.marks.name, spec.marks.prefix, spec.marks.channels) == (2, 3, ())


def test_keys_that_stand_twice_are_noticed_at_every_level() -> None:
    text = "name: x\ndependencies:\n  - pip: [a]\n    pip: [b]\nvariables:\n  A: 1\n  A: 2\n"
    spec = read(text)
    assert [each.text for each in spec.pip] == ["b"]
    assert spec.variables == (("A", "2"),)
    assert [notice.line for notice in spec.notices] == [4, 7]


@pytest.mark.parametrize(
    "text",
    ["a==1", 'b[x]>=1; python_version<"3.12"', "a @ https://h.test/a-1-py3-none-any.whl",
     "git+ssh://git@h.test/x.git", "HTTPS://h.test/a-1.tar.gz", "a==1 --hash=sha256:00",
     "-i https://h.test --trusted-host h.test", "-ihttps://h.test", "--extra-index-url=https://h",
     "--no-binary :all:", "--find-links /shared/wheels", "--pre", "a===1"],
)  # fmt: skip
def test_forms_that_pip_takes(text: str) -> None:
    assert read(with_pip(f"'{text}'")).pip[0].text == text


@pytest.mark.parametrize(
    ("conda", "pinned"),
    [("python", False), ("python=*", False), ("conda-forge::python", False),
     ("https://h.test/c::python", False), ("python=3.11", True), ("python 3.11", True),
     ("python[build=*cpython]", True), ("https://h.test/linux-64/python-3.11.9-0.conda", True)],
)  # fmt: skip
def test_what_pins_a_conda_package(conda: str, pinned: bool) -> None:  # noqa: FBT001 (a table)
    assert read(with_dependency(f'"{conda}"')).conda[1].pinned is pinned


@pytest.mark.parametrize(
    ("pip", "pinned"),
    [("torch", False), ("torch[extra]", False), ('torch ; python_version > "3"', False),
     ("torch>=2", True), ("torch @ https://h.test/t.whl", True)],
)  # fmt: skip
def test_what_pins_a_pip_package(pip: str, pinned: bool) -> None:  # noqa: FBT001 (a table)
    assert read(with_pip(f"'{pip}'")).pip[0].pinned is pinned


@pytest.mark.parametrize(
    ("text", "kind", "path"),
    [
        ("-r requirements.txt", "requirements", "requirements.txt"),
        ("-rother.txt", "requirements", "other.txt"),
        ("--requirement=other.txt", "requirements", "other.txt"),
        ("-c ../constraints.txt", "constraints", "../constraints.txt"),
        ("-e .", "package", "."),
        ("-e ./lib[dev]", "package", "./lib"),
        ("./wheels/x.whl", "package", "./wheels/x.whl"),
        ("x-1.tar.gz ; sys_platform == 'linux'", "package", "x-1.tar.gz"),
        ("src/x[extra]", "package", "src/x"),
        ("-f ./wheels", "links", "./wheels"),
        ("-r file:other.txt", "requirements", "other.txt"),
        ("-c file://localhost/a%20b/c.txt", "constraints", "/a b/c.txt"),
        ("file:///a/x.whl#egg=x&sha256=00", "package", "/a/x.whl"),
        ("x[e]@file:/a/x.whl ; os_name == 'posix'", "package", "/a/x.whl"),
        ("/a/x.zip", "package", "/a/x.zip"),
        ("-f /wheels", "links", "/wheels"),
        ("--find-links=wheels", "links", "wheels"),
    ],
)
def test_files_that_a_line_of_pip_names(text: str, kind: str, path: str) -> None:
    (entry,) = read(with_pip(f'"{text}"')).pip
    (reference,) = entry.refers
    assert (entry.text, reference.kind, reference.path) == (text, kind, path)


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("--constraint=/c.txt", "--constraint 'a b'"),
        ("-e file:///src#egg=x[dev]", "-e 'a b'[dev]"),
        ("x[e]@file:/a/x.whl ; os_name == 'posix'", "a b[e] ; os_name == 'posix'"),
        ("/x.whl --hash=sha256:00", "a b --hash=sha256:00"),
        ("/src[dev] ; os_name == 'posix'", "a b[dev] ; os_name == 'posix'"),
    ],
)
def test_a_line_keeps_all_but_its_path_when_that_is_moved(text: str, moved: str) -> None:
    (entry,) = read(with_pip(f'"{text}"')).pip
    assert entry.refers[0].at("a b") == moved


def test_what_pip_freeze_prints_of_conda_packages_is_told_with_the_right_line() -> None:
    folder = "file:///home/conda/feedstock_root/build_artifacts/numpy_1707225376651/work/dist"
    error = refused(with_pip(f"numpy @ {folder}/numpy-1.26.4-cp311-cp311-linux_x86_64.whl"))
    assert "write numpy=1.26.4 among the conda dependencies" in error.hint
    error = refused(with_pip("certifi @ file:///croot/certifi_1707229174982/work/certifi"))
    assert "`pip freeze` prints that" in error.message
    assert "certifi==VERSION" in error.hint


def test_value_of_a_variable_is_in_no_message() -> None:
    error = refused('name: x\ndependencies: [python]\nvariables: {A: "hunter2\\0"}\n')
    assert "hunter2" not in str(error) + error.hint


def test_file_name_with_a_zero_byte_is_a_sentence() -> None:
    with pytest.raises(InputError, match="no file name"):
        read_environment(Path("a\0b"))


def test_secret_of_a_url_is_in_no_message() -> None:
    error = refused(with_pip("-e https://user:hunter2@host.test/package.zip"))
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
     "}", "&a ", "*a", "!!python/object:os.system ", '"\\ud800"',
     "<<: ", "- pip:\n    - ", "-r x", "file:", "'--pre'", "variables:",
     "---\n", "\t", "'", '"', "{{", "%", "|", ">"]
)  # fmt: skip


@settings(max_examples=250, deadline=None)
@given(st.lists(YAML_BITS, max_size=25).map("".join) | st.text())
def test_any_text_is_a_spec_or_a_clear_error(text: str) -> None:
    try:
        spec = read(text)
    except InputError as error:
        assert error.message  # noqa: PT017 (either outcome is right)
    else:
        assert spec.conda or spec.pip
        for each in (*spec.conda, *spec.pip):
            assert each.text.isprintable()
            assert each.line


@settings(max_examples=100, deadline=None)
@given(st.binary())
def test_any_bytes_are_a_spec_or_a_clear_error(raw: bytes) -> None:
    with pytest.raises(InputError):
        read(raw)


@pytest.mark.parametrize(
    "version", ["", "=1.26", "=1.1.1w", "=2024a", "=9e", "=1.0.0rc1", "=3", "=1.26=py311h1_0"]
)
@pytest.mark.parametrize("name", ["numpy", "A.b_c", "_libgcc_mutex", "7zip"])
def test_what_conda_exports_is_read_as_a_match_spec_would_be(name: str, version: str) -> None:
    fast = read(with_dependency(name + version)).conda[-1]
    spec = MatchSpec(name + version)
    asked = (str(spec.version or ""), str(spec.build or ""))
    assert (fast.name, fast.version, fast.build) == (spec.name.normalized, *asked)
    assert fast.pinned is bool(version)


def test_an_export_needs_no_match_spec() -> None:
    """Its import takes longer than all of the rest."""
    program = (
        "import sys; from envsync.spec import parse_environment as read;"
        "read(b'name: x\\ndependencies: [openssl=1.1.1w=h7f98852_0, python=3.11]', 'f');"
        "sys.exit('rattler' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
