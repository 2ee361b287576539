"""What nodes are told to ask, and what they are lent for it."""

from __future__ import annotations

import io
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from envsync import scripts
from envsync.access import Access, Way
from envsync.errors import InputError
from envsync.loan import CERTIFICATES
from envsync.lock import LockedPackage, Section
from envsync.mirrors import read_mirrors
from envsync.model import Platform
from envsync.recipe import TAR, locked, unlocked
from envsync.spec import EnvironmentSpec, parse_environment, read_environment

RAW = b"""name: x
channels: [https://me:pw@c.test/private, conda-forge, defaults]  # ours first
dependencies:
  - python=3.11
  - pip
  - pip:
    - --extra-index-url https://u:${PYPI_PW}@pypi.test/simple
    - einops==0.8.0
    - flash @ git+https://tok@g.test/flash@main
variables: {URL: 'https://conda.anaconda.org/conda-forge'}
"""
SPEC = parse_environment(RAW, "environment.yml")
FORGE = "https://conda.anaconda.org/conda-forge"
SECTION = Section(
    Platform("linux-64"),
    "conda 24.7.1",
    (
        LockedPackage("https://c.test/private/linux-64/python-3.11.7-0.conda", "a" * 32),
        LockedPackage(f"{FORGE}/noarch/pip-24-0.conda", "b" * 32),
    ),
    (f"einops==0.8.0 --hash=sha256:{'c' * 64}",),
    ("flash @ git+https://g.test/flash@0123abc",),
)


def access(*pairs: str, **variables: str) -> Access:
    return Access(read_mirrors(pairs).filled(variables), variables)


def netrc(way: Way) -> list[str]:
    return way.loan.netrc.split("machine ")[1:]


def test_logins_are_lent_and_stand_in_no_address() -> None:
    made = access(f"{FORGE}=https://bot:$PW@m.test/cf", PW="p@s/s%41", PYPI_PW="s3")
    recipe, loan = made.lent(locked(SPEC, SECTION), SPEC)
    assert loan.netrc.split("machine ")[1:] == [
        "c.test\nlogin me\npassword pw\n",
        "m.test\nlogin bot\npassword p@s/s%41\n",
        "pypi.test\nlogin u\npassword s3\n",
    ]
    assert recipe.files["explicit.txt"].decode().splitlines()[1:] == [
        f"https://c.test/private/linux-64/python-3.11.7-0.conda#{'a' * 32}",
        f"https://m.test/cf/noarch/pip-24-0.conda#{'b' * 32}",
    ]
    assert recipe.files["pip.txt"].startswith(b"--extra-index-url https://pypi.test/simple\n")
    assert b"git+https://tok@g.test/flash@0123abc" in recipe.files["direct.txt"]
    assert loan.back == (("https://m.test/cf", FORGE),)
    assert not [each for each in ("s3", "p@s", "pw") if each in repr((made, loan))]


def test_what_is_kept_and_its_generation_know_no_mirror() -> None:
    plain = locked(SPEC, SECTION)
    recipe, _ = access(f"{FORGE}=https://m.test/t/$T/cf", T="tk-9").lent(plain, SPEC)
    assert recipe.generation == plain.generation
    assert dict(recipe.kept) == dict(plain.kept)
    assert b"https://m.test/t/tk-9/cf/noarch/pip" in recipe.files["explicit.txt"]
    assert b"tk-9" not in b"".join(recipe.kept.values())
    assert recipe.passes


def test_two_logins_of_a_host_stand_in_the_addresses() -> None:
    made = access(
        "https://c.test=https://one:$A@m.test/c", f"{FORGE}=https://two:$B@m.test/f", A="1", B="2 2"
    )
    recipe, loan = made.lent(locked(SPEC, SECTION), SPEC)
    assert "m.test" not in loan.netrc
    lines = recipe.files["explicit.txt"].decode().splitlines()
    assert lines[1].startswith("https://one:1@m.test/c/private/")
    assert lines[2].startswith("https://two:2%202@m.test/f/noarch/")
    assert b"2%202" not in b"".join(recipe.kept.values())


def test_password_that_readers_of_netrc_read_in_two_ways_stays_in_the_address() -> None:
    for word in ('a"b', "a b", "a\\b", "#a", "ä"):
        way = access(f"{FORGE}=https://bot:$PW@m.test/cf", PW=word).way(SPEC)
        assert "m.test" not in way.loan.netrc
        assert way.node(FORGE).startswith("https://bot:")


def test_variable_that_is_not_known_here_is_left_to_the_node() -> None:
    recipe, loan = Access().lent(locked(SPEC, SECTION), SPEC)
    assert b"https://u:${PYPI_PW}@pypi.test/simple" in recipe.files["pip.txt"]
    assert "pypi.test" not in loan.netrc


def test_file_for_a_solver_changes_in_channels_and_pip_alone() -> None:
    made = access(f"{FORGE}=https://m.test/cf", "https://repo.anaconda.com=https://m.test/ana")
    recipe, _ = made.lent(unlocked(SPEC), SPEC)
    text = recipe.files["yml"].decode()
    assert text.splitlines()[1] == (
        'channels: ["https://c.test/private", "https://m.test/cf", "https://m.test/ana/pkgs/main",'
        ' "https://m.test/ana/pkgs/r"]  # ours first'
    )
    assert text.endswith(f"variables: {{URL: '{FORGE}'}}\n")
    assert dict(recipe.kept) == dict(unlocked(SPEC).kept)
    block = b"name: x\nchannels:\n  - defaults\n  - conda-forge\ndependencies: [python]\n"
    spec = parse_environment(block, "environment.yml")
    assert made.way(spec).file(block).decode().splitlines()[2:5] == [
        '  - "https://m.test/ana/pkgs/main"',
        '  - "https://m.test/ana/pkgs/r"',
        '  - "https://m.test/cf"',
    ]


def test_nothing_changes_without_a_map_and_logins() -> None:
    raw = b"name: x\nchannels: [conda-forge]\ndependencies: [python, pip, {pip: [tqdm]}]\n"
    spec = parse_environment(raw, "environment.yml")
    for recipe in (unlocked(spec), locked(spec, SECTION)):
        lent, loan = Access().lent(recipe, spec)
        assert (dict(lent.files), lent.passes, any(loan.args)) == (dict(recipe.files), False, False)


def test_lists_that_go_along_are_mapped_and_the_rest_is_not(tmp_path: Path) -> None:
    index = "--index-url https://pypi.org/simple\n"
    (tmp_path / "r.txt").write_text(index + "tqdm\n")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "pyproject.toml").write_text(f"# {FORGE}\n")
    file = tmp_path / "environment.yml"
    file.write_text(
        f"name: x\nchannels: [{FORGE}]\ndependencies: [pip, {{pip: ['-r r.txt', ./own]}}]\n"
    )
    spec = read_environment(file)
    made = access(
        f"{FORGE}=https://m.test/cf", "https://pypi.org/simple=https://m.test/t/$T/p", T="tk-9"
    )
    recipe, _ = made.lent(unlocked(spec), spec)
    assert recipe.generation == unlocked(spec).generation
    with tarfile.open(fileobj=io.BytesIO(recipe.files[TAR])) as tar:
        texts = {each.name: tar.extractfile(each).read().decode() for each in tar}  # type: ignore[union-attr]
    assert texts["r.txt"] == "--index-url https://m.test/t/tk-9/p\ntqdm\n"
    assert '"https://m.test/cf"' in texts["environment.yml"]
    assert texts["own/pyproject.toml"] == f"# {FORGE}\n"
    assert recipe.luggage.secrets == ("r.txt",)


def test_index_that_pip_takes_by_itself_is_mapped_where_none_is_named() -> None:
    made = access("https://pypi.org=https://m.test/p")
    assert made.way(SPEC).loan.index == "https://m.test/p/simple"
    named = parse_environment(RAW.replace(b"--extra-index-url", b"--index-url"), "x.yml")
    assert made.way(named).loan.index == ""
    assert Access().way(SPEC).loan.index == ""


def test_certificates_go_along_and_do_not_stay() -> None:
    recipe, _ = replace(Access(), certificates=b"PEM").lent(locked(SPEC, SECTION), SPEC)
    assert recipe.files[CERTIFICATES] == b"PEM"
    assert CERTIFICATES not in recipe.kept
    assert recipe.passes


def test_dependency_with_a_mapped_channel_cannot_be_solved() -> None:
    spec: EnvironmentSpec
    spec = parse_environment(b"name: x\ndependencies:\n  - conda-forge::numpy\n", "environment.yml")
    access("https://other.test=https://m.test").way(spec).must_be_solvable()
    with pytest.raises(InputError, match=r"environment\.yml:3: conda-forge::numpy names"):
        access(f"{FORGE}=https://m.test").way(spec).must_be_solvable()


def test_records_get_the_original_addresses_back(tmp_path: Path) -> None:
    meta = tmp_path / "conda-meta"
    meta.mkdir()
    record = (
        '{\n  "channel": "https://m.test/cf/noarch",\n  "files": ["https://m.test/cf/x"],\n'
        '  "url": "https://m.test/cf/noarch/a-1-0.conda",\n'
        '  "base_url": "https://m.test/cfx"\n}\n'
    )
    (meta / "a-1-0.json").write_text(record)
    (meta / "history").write_text("+https://m.test/cf/noarch::a-1-0\n+https://m.test/cf::b\n")
    script = scripts.load("recall.sh") + '\nrecall_conda "$1" "$2"\n'
    pairs = f"https://m.test/cf\t{FORGE}\nhttps://m.test/c\thttps://c.test\n"
    subprocess.run(["/bin/sh", "-c", script, "sh", str(tmp_path), pairs], check=True)
    expected = record.replace('el": "https://m.test/cf/', f'el": "{FORGE}/')
    expected = expected.replace('"url": "https://m.test/cf/', f'"url": "{FORGE}/')
    assert (meta / "a-1-0.json").read_text() == expected
    assert (meta / "history").read_text() == f"+{FORGE}/noarch::a-1-0\n+{FORGE}::b\n"
