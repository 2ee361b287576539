"""What reaches into an environment: asked in a real Python with a real user site."""

from __future__ import annotations

import json
import os
import site
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from envsync.probes import wide
from envsync.probes.answers import Answers
from envsync.probes.leaks import parse_leaks
from envsync.wide import ForeignLibraries, ForeignPath, Leaks

# Not the tests' own virtual environment: those have no user site.
BASE = Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"


def asked(home: Path, python: Path = BASE, **variables: str) -> dict[str, Any]:
    """What the probe says in a Python of this machine, with a home of its own."""
    (_, program) = json.loads(wide.wide_programs())["leaks"]
    base = {"HOME": str(home), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [str(python), "-c", program], env=base | variables, capture_output=True, check=True
    )
    facts: dict[str, Any] = {}
    for line in done.stdout.splitlines():
        facts.update(json.loads(line))
    return facts


def leaks(home: Path, python: Path = BASE, **variables: str) -> Leaks:
    return parse_leaks(Answers("leaks", asked(home, python, **variables)))


def test_clean_environment_has_no_leaks(tmp_path: Path) -> None:
    assert leaks(tmp_path) == Leaks((), (), ())


def test_module_that_hides_the_environments_own(tmp_path: Path) -> None:
    venv.create(tmp_path / "env", symlinks=True)
    (own,) = (tmp_path / "env" / "lib").glob("python*/site-packages")
    (own / "mine").mkdir()
    (own / "mine" / "__init__.py").touch()
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "mine.py").touch()
    (other / "mine-9.9.dist-info").mkdir()
    (other / "extra.py").touch()
    python = tmp_path / "env" / "bin" / "python"
    found = leaks(tmp_path, python, PYTHONPATH=f"{other}:/nowhere")
    path = ForeignPath(os.path.realpath(other), "PYTHONPATH", ("mine 9.9",), ("extra",))
    assert found.paths == (path,)


def test_user_site_is_one_unless_it_is_off(tmp_path: Path) -> None:
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    folder = tmp_path / ".local" / "lib" / version / "site-packages"
    folder.mkdir(parents=True)
    (folder / "odd_thing.py").touch()
    (path,) = leaks(tmp_path).paths or ()
    assert (path.came, path.adds) == ("user site", ("odd_thing",))
    assert leaks(tmp_path, PYTHONNOUSERSITE="1").paths == ()


def test_user_site_comes_before_a_conda_environments_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in every real prefix; the virtual environments of these tests put it behind."""
    node = run_path(str(Path(wide.__file__).parent / "node" / "leaks.py"))
    own, user = tmp_path / "own", tmp_path / "user"
    for folder in (own, user):
        folder.mkdir()
        (folder / "torch.py").touch()
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setattr(sys, "path", ["", str(user), str(user), str(own)])
    monkeypatch.setattr(site, "getusersitepackages", lambda: str(user))
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(own))
    (found,) = node["foreign_paths"]()
    assert (found["came"], found["hides"], found["adds"]) == ("user site", ["torch"], [])
    monkeypatch.setattr(sys, "path", ["", str(own), str(user)])
    (found,) = node["foreign_paths"]()
    assert found["hides"] == []


def test_libraries_before_the_environments_own(tmp_path: Path) -> None:
    folder = tmp_path / "cuda" / "lib64"
    folder.mkdir(parents=True)
    for name in ("libcudart.so.11.0", "libmkl_rt.so.2", "libharmless.so"):
        (folder / name).touch()
    found = leaks(tmp_path, LD_LIBRARY_PATH=f"{folder}:/nowhere")
    real = os.path.realpath(folder)
    names = ("libcudart.so.11.0", "libmkl_rt.so.2")
    assert found.libraries == (ForeignLibraries("LD_LIBRARY_PATH", real, names),)


def test_only_what_torch_has_too_is_foreign_when_it_is_preloaded(tmp_path: Path) -> None:
    allocator, runtime = "/nowhere/libjemalloc.so.2", "/nowhere/libiomp5.so"
    found = leaks(tmp_path, LD_PRELOAD=f"{allocator}:{runtime}")
    assert found.libraries == (ForeignLibraries("LD_PRELOAD", "/nowhere", ("libiomp5.so",)),)
    assert dict(found.variables or ()) == {"LD_PRELOAD": f"{allocator}:{runtime}"}


def test_variables_with_secrets_hidden_on_the_node(tmp_path: Path) -> None:
    facts = asked(
        tmp_path,
        NCCL_DEBUG="INFO",
        OMP_NUM_THREADS="8",
        TORCH_HUB_TOKEN="hunter2",  # noqa: S106 (what must not come back)
        CUDA_NOTE="hf_abcdefghijkl",
        UNRELATED="x",
    )
    assert facts["variables"] == {
        "CUDA_NOTE": "***",
        "NCCL_DEBUG": "INFO",
        "OMP_NUM_THREADS": "8",
        "TORCH_HUB_TOKEN": "***",
    }


def test_secret_in_an_address_is_hidden_here() -> None:
    facts = {"variables": {"TORCH_HOME": "https://me:hunter2@host.test/x"}}
    found = parse_leaks(Answers("leaks", facts)).variables
    assert found == (("TORCH_HOME", "https://***@host.test/x"),)
