"""The comparison of a prefix's files with the records of it: the node's program itself."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from envsync.ports import Completed
from envsync.probes.deep import MOST, Files, Kind, deep_probe, parse_deep
from envsync.probes.wide import load

SITE = "lib/python3.11/site-packages"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def put(prefix: Path, path: str, content: bytes) -> dict[str, Any]:
    """Write a file; conda's entry of it."""
    file = prefix / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return {"_path": path, "path_type": "hardlink", "sha256": sha256(content)}


def record(prefix: Path, name: str, *entries: dict[str, Any], **more: object) -> None:
    text = {"name": name, "version": "1.0", "paths_data": {"paths": entries}, **more}
    meta = prefix / "conda-meta"
    meta.mkdir(parents=True, exist_ok=True)
    (meta / f"{name}-1.0-0.json").write_text(json.dumps(text))


def pip_install(prefix: Path, name: str, version: str, files: dict[str, bytes]) -> None:
    """What pip leaves: the files, and a RECORD with their hashes."""
    info = f"{name}-{version}.dist-info"
    files = {**files, f"{info}/METADATA": b"Name: x\n", f"{info}/INSTALLER": b"pip\n"}
    lines = []
    for path, content in files.items():
        put(prefix, f"{SITE}/{path}", content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        lines.append(f"{path},sha256={digest},{len(content)}")
    text = "\n".join([*lines, f"{info}/RECORD,,", f"{name}/__pycache__/a.cpython-311.pyc,,"])
    put(prefix, f"{SITE}/{info}/RECORD", text.encode())


def compared(prefix: Path) -> dict[str, dict[str, str]]:
    """Of each kind that there is, path and whose."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", load("deep"), str(prefix), str(MOST)],
        capture_output=True,
        check=False,
    )
    files = parse_deep(Completed(done.returncode, done.stdout, done.stderr))
    assert files.failed == ""
    return {name: dict(kind.first) for name, kind in files.kinds.items()}


def test_files_as_recorded_are_told_of_in_no_way(tmp_path: Path) -> None:
    record(tmp_path, "a", put(tmp_path, f"{SITE}/a.py", b"a"))
    pip_install(tmp_path, "b", "2.0", {"b.py": b"b", "../../../bin/b": b"#!"})
    put(tmp_path, f"{SITE}/__pycache__/a.cpython-311.pyc", b"")
    put(tmp_path, f"{SITE}/b-2.0.dist-info/direct_url.json", b"{}")
    put(tmp_path, ".sealed", b"")
    put(tmp_path, "etc/conda/activate.d/~envsync.sh", b"")
    put(tmp_path, "conda-meta/history", b"")
    assert compared(tmp_path) == {}


def test_changed_missing_and_foreign_files_of_conda_and_pip(tmp_path: Path) -> None:
    entries = [put(tmp_path, f"{SITE}/{name}.py", b"x") for name in ("kept", "edited", "gone")]
    record(tmp_path, "a", *entries)
    pip_install(tmp_path, "b", "2.0", {"b.py": b"b", "c.py": b"c"})
    put(tmp_path, f"{SITE}/edited.py", b"y")
    put(tmp_path, f"{SITE}/b.py", b"bb")
    (tmp_path / SITE / "gone.py").unlink()
    (tmp_path / SITE / "c.py").unlink()
    put(tmp_path, f"{SITE}/stray.py", b"")
    put(tmp_path, "lib/libstray.so.1", b"")
    put(tmp_path, "var/cache/fonts", b"")
    assert compared(tmp_path) == {
        "changed": {f"{SITE}/edited.py": "a 1.0", f"{SITE}/b.py": "b 2.0"},
        "missing": {f"{SITE}/gone.py": "a 1.0", f"{SITE}/c.py": "b 2.0"},
        "foreign": {f"{SITE}/stray.py": "", "lib/libstray.so.1": ""},
        "other": {"var/cache/fonts": ""},
    }


def test_pip_over_conda_is_neither_a_change_nor_a_gap(tmp_path: Path) -> None:
    old = [
        put(tmp_path, f"{SITE}/{path}", b"1")
        for path in ("a/__init__.py", "a/old.py", "a-1.0.dist-info/RECORD")
    ]
    record(tmp_path, "a", *old)
    (tmp_path / SITE / "a/old.py").unlink()
    (tmp_path / SITE / "a-1.0.dist-info/RECORD").unlink()
    pip_install(tmp_path, "a", "2.0", {"a/__init__.py": b"2"})
    found = compared(tmp_path)
    assert list(found) == ["overwritten"]
    assert set(found["overwritten"]) == {entry["_path"] for entry in old}
    assert set(found["overwritten"].values()) == {"a 1.0 of conda by a 2.0 of pip"}


def test_same_version_by_pip_over_conda_is_told_as_well(tmp_path: Path) -> None:
    entries = [put(tmp_path, f"{SITE}/{path}", b"1") for path in ("a.py", "a-1.0.dist-info/RECORD")]
    record(tmp_path, "a", *entries)
    pip_install(tmp_path, "a", "1.0", {"a.py": b"other build"})
    assert set(compared(tmp_path)["overwritten"]) == {entry["_path"] for entry in entries}


def holding(prefix: Path, path: str, content: bytes, installed: bytes) -> dict[str, Any]:
    """The entry of a file that holds the prefix, which was `installed` once."""
    placeholder = {"prefix_placeholder": "/opt/placeholder", "sha256_in_prefix": sha256(installed)}
    return put(prefix, path, content) | placeholder | {"sha256": sha256(b"of the package")}


@pytest.mark.parametrize(
    ("content", "kind"), [(b"#!{here}/python\nedited", "changed"), (b"#!/first/python\n", "moved")]
)
def test_file_with_another_prefix_in_it_was_moved_and_not_changed(
    tmp_path: Path, content: bytes, kind: str
) -> None:
    content = content.replace(b"{here}", str(tmp_path).encode())
    record(tmp_path, "a", holding(tmp_path, "bin/a", content, b"#!/there/python\n"))
    assert compared(tmp_path) == {kind: {"bin/a": "a 1.0"}}


def test_edit_that_takes_the_prefix_away_is_a_change(tmp_path: Path) -> None:
    kept = holding(tmp_path, "bin/a", b"kept", b"kept")
    record(tmp_path, "a", kept, holding(tmp_path, "bin/b", b"no prefix", b"installed"))
    assert compared(tmp_path) == {"changed": {"bin/b": "a 1.0"}}


def test_links_are_as_recorded_while_they_lead_to_the_same(tmp_path: Path) -> None:
    link = {"_path": "bin/python", "path_type": "softlink", "sha256": sha256(b"x")}
    nowhere = {"_path": "bin/py", "path_type": "softlink", "sha256": sha256(b"")}
    record(tmp_path, "a", put(tmp_path, "bin/python3", b"x"), link, nowhere)
    (tmp_path / "bin/py").symlink_to("python3")
    (tmp_path / "bin/python").symlink_to("python3")
    assert compared(tmp_path) == {}
    for name in ("bin/py", "bin/python"):
        (tmp_path / name).unlink()
        (tmp_path / name).write_bytes(b"x")  # as conda copies it where it cannot link
    assert compared(tmp_path) == {}
    (tmp_path / "bin/python").write_bytes(b"y")
    assert compared(tmp_path) == {"changed": {"bin/python": "a 1.0"}}


def test_paths_of_a_noarch_package_are_found_where_they_were_installed(tmp_path: Path) -> None:
    entry = put(tmp_path, f"{SITE}/a.py", b"1") | {"_path": "site-packages/a.py"}
    record(tmp_path, "a", entry, noarch="python", files=[f"{SITE}/a.py"])
    assert compared(tmp_path) == {}
    put(tmp_path, f"{SITE}/a.py", b"2")
    assert compared(tmp_path) == {"changed": {f"{SITE}/a.py": "a 1.0"}}


def test_damaged_records_are_named(tmp_path: Path) -> None:
    record(tmp_path, "a", put(tmp_path, "share/a", b"1"))
    (tmp_path / "conda-meta/b-1.0-0.json").write_text("{")
    assert compared(tmp_path) == {"damaged": {"conda-meta/b-1.0-0.json": ""}}


def test_names_are_bounded_and_counts_are_not(tmp_path: Path) -> None:
    record(tmp_path, "a")
    for number in range(MOST + 20):
        put(tmp_path, f"{SITE}/m{number}.py", b"")
    done = subprocess.run(
        [sys.executable, "-I", "-c", load("deep"), str(tmp_path), str(MOST)],
        capture_output=True,
        check=True,
    )
    kind = parse_deep(Completed(0, done.stdout)).kinds["foreign"]
    assert (kind.count, len(kind.first)) == (MOST + 20, MOST)


@pytest.mark.parametrize(
    ("done", "why"),
    [
        (Completed(124), "the files were not read within 1800 s"),
        (Completed(127, b"", b"there is no python\n"), "exit code 127: there is no python"),
        (Completed(0, b"{"), "it gave no answer"),
        (Completed(0, b"[]"), "it gave no answer"),
    ],
)
def test_failure_is_data(done: Completed, why: str) -> None:
    assert why in parse_deep(done).failed


def test_answer_is_read_without_trust() -> None:
    text = b'{"changed": {"count": 2, "first": [["a", "b"], 3, ["c"]]}, "other": 1, "files": "x"}'
    assert parse_deep(Completed(0, text)) == Files({"changed": Kind(2, (("a", "b"),))})


def run_script(prefix: Path, root: Path) -> Completed:
    command = deep_probe(str(prefix), str(root))
    done = subprocess.run(
        ["sh", "-c", command.script, "sh", *command.args], capture_output=True, check=False
    )
    return Completed(done.returncode, done.stdout, done.stderr)


def test_python_of_conda_is_taken_when_that_of_the_environment_is_broken(tmp_path: Path) -> None:
    prefix, root = tmp_path / "a b", tmp_path / "root"
    record(prefix, "a", put(prefix, "bin/python", b"#!/bin/false\n"))
    (prefix / "bin/python").chmod(0o755)
    (root / "bin").mkdir(parents=True)
    python = root / "bin/python"
    python.write_text(f'#!/bin/sh\n: >"{tmp_path}/asked"\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    assert parse_deep(run_script(prefix, root)) == Files(files=1, bytes=13)
    assert (tmp_path / "asked").exists()
