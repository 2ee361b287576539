"""observe.sh, run for real on this machine in made-up homes; and its parser."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from envsync.errors import HostError
from envsync.generations import Slot
from envsync.model import Host
from envsync.observation import SUBDIRS, Observation, observe, parse
from envsync.ports import Completed
from envsync.transport.local import LocalTransport


def look(home: Path, name: str = "train", **env: str) -> Observation:
    """Observe a machine whose only user lives in `home`."""
    home.mkdir(exist_ok=True)
    transport = LocalTransport({"HOME": str(home), "PATH": "/usr/bin:/bin", **env})
    return parse(transport.connect(Host("here")).run(observe(name)))


def install(root: Path, tool: str = "conda") -> Path:
    """A root prefix with just what tells one; starting it would leave a trace."""
    exe = root / "bin" / tool
    exe.parent.mkdir(parents=True)
    exe.write_text(f"#!/bin/sh\n: > '{root}/started'\n")
    exe.chmod(0o755)
    (root / "conda-meta").mkdir()
    (root / "conda-meta" / f"{tool}-24.7.1-py311_0.json").write_text("{}")
    (root / "envs").mkdir()
    return exe


def seal(envs: Path, generation: str) -> None:
    command = Slot(str(envs), "train", generation).seal("by a test")
    assert LocalTransport().connect(Host("here")).run(command).exit_code == 0


def test_node_without_conda(tmp_path: Path) -> None:
    seen = look(tmp_path)
    assert seen.conda is None
    assert seen.home == str(tmp_path)
    assert seen.subdir.startswith(("linux-", "osx-"))
    assert dict(seen.virtual_packages)["__unix"] == "0"


@pytest.mark.parametrize("folder", ["miniforge3", "miniconda3", "anaconda3"])
def test_conda_in_a_usual_folder(tmp_path: Path, folder: str) -> None:
    exe = install(tmp_path / folder)
    seen = look(tmp_path)
    assert seen.conda is not None
    assert (seen.conda.exe, seen.conda.version) == (str(exe), "24.7.1")
    assert seen.conda.root_prefix == str(tmp_path / folder)
    assert seen.envs_dir == str(tmp_path / folder / "envs")


def test_looking_starts_no_conda(tmp_path: Path) -> None:
    install(tmp_path / "miniforge3")
    look(tmp_path)
    assert not (tmp_path / "miniforge3" / "started").exists()


@pytest.mark.parametrize("how", ["PATH", "CONDA_EXE", "MAMBA_EXE", "environments.txt", "login"])
def test_conda_in_an_odd_folder_is_found(tmp_path: Path, how: str) -> None:
    exe = install(tmp_path / "odd place's" / "forge")
    env = {}
    match how:
        case "PATH":
            env["PATH"] = f"/usr/bin:/bin:{exe.parent}"
        case "CONDA_EXE" | "MAMBA_EXE":
            env[how] = str(exe)
        case "environments.txt":
            (exe.parent.parent / "condabin").symlink_to("bin")
            (tmp_path / ".conda").mkdir()
            (tmp_path / ".conda" / "environments.txt").write_text(f"/gone\n{exe.parent.parent}\n")
        case "login":
            env["SHELL"] = "/bin/bash"
            (tmp_path / ".bash_profile").write_text(f'echo hi\nexport CONDA_EXE="{exe}"\n')
    seen = look(tmp_path, **env)
    assert seen.conda is not None
    assert os.path.realpath(seen.conda.exe) == str(exe)
    assert seen.conda.root_prefix == str(exe.parent.parent)


def test_mamba_and_micromamba_are_told_apart(tmp_path: Path) -> None:
    exe = install(tmp_path / "micromamba", "micromamba")
    seen = look(tmp_path, PATH=f"{exe.parent}:/usr/bin:/bin")
    assert seen.conda is not None
    assert seen.conda.flavour == "micromamba"
    assert seen.conda.root_prefix == str(tmp_path / "micromamba")


@pytest.mark.parametrize(
    "text",
    [
        "envs_dirs:\n  - ~/elsewhere\n  - /other\n",
        "channels: [x]\nenvs_dirs:\n# first wins\n- '~/elsewhere'\nsolver: classic\n",
        "envs_dirs: [~/elsewhere, /other]\n",
        "envs_dirs:\n  - $HOME/elsewhere\n",
    ],
)
def test_envs_dir_from_condarc(tmp_path: Path, text: str) -> None:
    install(tmp_path / "miniforge3")
    (tmp_path / ".condarc").write_text(text)
    assert look(tmp_path).envs_dir == str(tmp_path / "elsewhere")


def test_generations_link_and_plain_environments(tmp_path: Path) -> None:
    install(tmp_path / "miniforge3")
    envs = tmp_path / "miniforge3" / "envs"
    for generation in ("aaa", "bbb", "ccc"):
        (envs / ".envsync" / "train" / generation / "conda-meta").mkdir(parents=True)
    for generation in ("aaa", "bbb"):
        seal(envs, generation)
    (envs / "train").symlink_to(".envsync/train/bbb")
    (envs / "byhand" / "conda-meta").mkdir(parents=True)
    seen = look(tmp_path)
    assert (seen.sealed, seen.unsealed) == (("aaa", "bbb"), ("ccc",))
    assert (seen.current("train"), seen.plain) == ("bbb", None)
    assert look(tmp_path, "byhand").plain == str(envs / "byhand")
    assert not seen.taken
    (envs / ".envsync" / "train" / ".push").mkdir()
    assert look(tmp_path).taken
    assert not look(tmp_path, "byhand").taken


@pytest.mark.parametrize(
    ("change", "counts"),
    [
        ("lib/python3.11/site-packages/numpy-2.1.0.dist-info", True),
        ("conda-meta/scipy-1.0-0.json", True),
        ("lib/python3.11/site-packages/__pycache__", False),
    ],
)
def test_what_was_installed_by_hand_shows(tmp_path: Path, change: str, *, counts: bool) -> None:
    install(tmp_path / "miniforge3")
    envs = tmp_path / "miniforge3" / "envs"
    prefix = envs / ".envsync" / "train" / "aaa"
    (prefix / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
    (prefix / "conda-meta").mkdir()
    seal(envs, "aaa")
    assert look(tmp_path).sealed == ("aaa",)
    (prefix / change).mkdir()
    assert (look(tmp_path).changed == ("aaa",)) is counts


def test_home_with_spaces_and_quotes(tmp_path: Path) -> None:
    home = tmp_path / 'it\'s "my" home; $(id)'
    home.mkdir()
    install(home / "miniforge3")
    seen = look(home)
    assert seen.conda is not None
    assert seen.envs_dir == str(home / "miniforge3" / "envs")
    assert seen.free_bytes


def test_answer_that_is_none_is_an_error_with_what_was_said() -> None:
    with pytest.raises(HostError) as caught:
        parse(Completed(2, b"", b"sh: 1: uname: not found\n"))
    assert "uname" in caught.value.output


@pytest.mark.parametrize("count", [0, 1, 20, 21, 150])
def test_recent_part_of_a_history_whatever_its_length(tmp_path: Path, count: int) -> None:
    install(tmp_path / "miniforge3")
    folder = tmp_path / "miniforge3" / "envs" / ".envsync" / "train"
    folder.mkdir(parents=True)
    lines = [f"{1700000000 + number} gen{number} me@here" for number in range(count)]
    (folder / "history").write_text("\n".join(lines))  # its end may be missing
    seen = [each.generation for each in look(tmp_path).history]
    assert seen == [f"gen{number}" for number in range(count)][-100:]


def test_system_is_what_uname_says(tmp_path: Path) -> None:
    seen = look(tmp_path)
    assert seen.hostname == os.uname().nodename
    assert seen.subdir == SUBDIRS[os.uname().sysname, os.uname().machine]
    assert dict(seen.virtual_packages)["__linux"] == os.uname().release.partition("-")[0]


@pytest.mark.parametrize(
    ("answer", "free", "inodes"),
    [
        ("    Avail    IFree   Inodes\n79948972 16203483 16777216", 79948972, 16203483),
        ("    Avail    IFree   Inodes\n79948972 0 0", 79948972, None),
        ("", 1234, None),
    ],
)
def test_free_space_and_inodes_of_any_df(
    tmp_path: Path, answer: str, free: int, inodes: int | None
) -> None:
    """GNU's says both in one call; another one refuses the option and says the space alone."""
    install(tmp_path / "miniforge3")
    df = tmp_path / "bin" / "df"
    df.parent.mkdir()
    df.write_text(
        f'#!/bin/sh\ncase "$*" in *--output*)\necho "{answer}"\nexit ;; esac\n'
        'echo "Filesystem 1024-blocks Used Available Capacity Mounted on"\n'
        'echo "/dev/a b 9999 1 1234 1% /"\n'
    )
    df.chmod(0o755)
    seen = look(tmp_path, PATH=f"{df.parent}:/usr/bin:/bin")
    assert (seen.free_bytes, seen.free_inodes) == (free * 1024, inodes)
