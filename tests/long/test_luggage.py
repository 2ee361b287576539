"""What a pip section names on this machine goes along, and pip on the nodes finds it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from cluster.conftest import Maker
from cluster.lab import CLEAN_PATH, Node
from envsync.demo.channel import wheel

BACKEND = """\
import os, zipfile

def _wheel(folder, content):
    name = "treelike-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as file:
        for path, text in content.items():
            file.writestr(path, text)
        info = "treelike-1.0.dist-info/"
        file.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: treelike\\nVersion: 1.0\\n")
        file.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\n")
        paths = [*content, info + "METADATA", info + "WHEEL", info + "RECORD"]
        file.writestr(info + "RECORD", "".join(path + ",,\\n" for path in paths))
    return name

def build_wheel(folder, config_settings=None, metadata_directory=None):
    with open("treelike.py") as file:
        return _wheel(folder, {"treelike.py": file.read()})

def build_editable(folder, config_settings=None, metadata_directory=None):
    return _wheel(folder, {"treelike.pth": os.getcwd() + "\\n"})
"""
HUSHED = "pw-62d0f1be"
PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'


def source_tree(folder: Path) -> None:
    folder.mkdir()
    (folder / "pyproject.toml").write_text(PROJECT)
    (folder / "backend.py").write_text(BACKEND)
    (folder / "treelike.py").write_text("x = 'first'\n")
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("never sent\n")


def imported(node: Node, expression: str) -> str:
    python = str(node.envs / "train" / "bin" / "python")
    code = f"import treelike, walklike; print({expression})"
    env = {"HOME": str(node.home), "PATH": CLEAN_PATH}
    done = subprocess.run([python, "-c", code], env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def put_there_by_hand(node: Node, file: Path) -> None:
    """The very same wheel, from a place of which the lock knows nothing."""
    python = str(node.envs / "train" / "bin" / "python")
    words = ["install", "--no-deps", "--no-index", "--force-reinstall", str(file)]
    env = {"HOME": str(node.home), "PATH": CLEAN_PATH}
    subprocess.run([python, "-m", "pip", *words], env=env, capture_output=True, check=True)


def test_files_of_this_machine_go_along_and_count(make_cluster: Maker) -> None:
    cluster = make_cluster(2)
    folder = cluster.folder
    (folder / "lists").mkdir()
    (folder / "wheels").mkdir()
    source_tree(folder / "src-tree")
    wheel(folder / "wheels", "walklike", "2.0", {"walklike.py": "x = 'wheel'\n"})
    (folder / "lists" / "requirements.txt").write_text(
        f"# from https://user:{HUSHED}@h.test/\neinlike\n-c limits/constraints.txt\n"
    )
    (folder / "lists" / "limits").mkdir()
    (folder / "lists" / "limits" / "constraints.txt").write_text("einlike==0.8.0\n")
    file = "./wheels/walklike-2.0-py3-none-any.whl"
    wheel(folder / "found", "foundlike", "1.5", {"foundlike.py": "x = 1\n"})
    asked = ["-r lists/requirements.txt", file, "-e ./src-tree", "-f found", "foundlike"]
    cluster.write_environment("tiny", pip=asked, locked=False)
    with (folder / "environment.yml").open("a") as environment:
        environment.write(f"# from https://user:{HUSHED}@h.test/\n")

    pushed = cluster.run("push", "hosts.txt")
    assert pushed.code == 0, pushed.out + pushed.err
    lock = cluster.lock.read_text()
    assert "einlike==0.8.0 --hash=sha256:" in lock
    assert f"walklike @ file:{file} --hash=sha256:" in lock
    assert "foundlike==1.5 --hash=sha256:" in lock
    assert "treelike @ file:./src-tree#sha256=" in lock
    for node in cluster.nodes:
        here = str((node.envs / "train").resolve()) + ".files"
        found = imported(node, "treelike.x, walklike.x, treelike.__file__")
        assert found == f"first wheel {here}/src-tree/treelike.py"
        assert not (Path(here) / "src-tree" / ".git").exists()
        assert not Path(f"{here}.tar").exists()
        assert (
            (Path(here) / "lists" / "requirements.txt").read_text().startswith("# from https://h")
        )
        files = [file for file in node.envs.rglob("*") if file.is_file()]
        assert not [file for file in files if HUSHED.encode() in file.read_bytes()]
    assert cluster.run("verify").code == 0
    again = cluster.run("push", "hosts.txt")
    assert (again.code, "Already in sync: 2 nodes" in again.out) == (0, True)

    before = {(node.envs / "train").resolve() for node in cluster.nodes}
    (folder / "src-tree" / "treelike.py").write_text("x = 'second'\n")
    changed = cluster.run("push", "hosts.txt")
    assert changed.code == 0, changed.out + changed.err
    assert not before & {(node.envs / "train").resolve() for node in cluster.nodes}
    assert [imported(node, "treelike.x") for node in cluster.nodes] == ["second"] * 2
    assert cluster.run("verify").code == 0

    assert cluster.run("prune", "hosts.txt", "--keep", "1").code == 0
    left = {path for node in cluster.nodes for path in (node.envs / ".envsync" / "train").iterdir()}
    assert not {Path(f"{path}.files") for path in before} & left

    put_there_by_hand(cluster.nodes[1], folder / file)
    told = cluster.run("verify")
    assert told.code == 1
    here = "in the lock from walklike-2.0-py3-none-any.whl, which was sent along"
    assert here in " ".join(told.out.split())


def test_missing_file_is_told_with_its_line_before_any_host_is_reached(
    make_cluster: Maker,
) -> None:
    cluster = make_cluster(1)
    (cluster.folder / "requirements.txt").write_text("einlike\n\n-r gone.txt\n")
    cluster.write_environment("tiny", pip=["-r requirements.txt"], locked=False)
    assert "requirements.txt:3" in cluster.run("lint").err
    cluster.nodes[0].stop()  # who tries to reach it ends with another code
    done = cluster.run("push", "hosts.txt")
    assert done.code == 2
    assert "requirements.txt:3: there is no file gone.txt" in done.err
    (cluster.folder / "gone.txt").write_text("tqdm\n")
    assert cluster.run("lint").code == 0


def test_absolute_paths_and_file_addresses_are_sent_and_leave_no_trace(
    make_cluster: Maker, tmp_path: Path
) -> None:
    cluster = make_cluster(2)
    there = tmp_path / "not on any node"
    there.mkdir()
    source_tree(there / "src-tree")
    file = wheel(there, "walklike", "2.0", {"walklike.py": "x = 'wheel'\n"})
    wheel(there / "found", "foundlike", "1.5", {"foundlike.py": "x = 1\n"})
    (there / "reqs.txt").write_text("-c file:limits.txt\n-r more.txt\n")
    (there / "more.txt").write_text("einlike\n")
    (cluster.folder / "limits.txt").write_text("einlike==0.8.0\n")
    url = there.as_uri()
    asked = [
        f"-r {url}/reqs.txt",
        f"walklike @ {url}/{file.name}",
        f"-e {url.replace('//', '//localhost')}/src-tree#egg=treelike",
        f"-f {url}/found",
        "foundlike",
    ]
    cluster.write_environment("tiny", pip=asked, locked=False)
    pushed = cluster.run("push", "hosts.txt")
    assert pushed.code == 0, pushed.out + pushed.err
    lock = cluster.lock.read_text()
    assert "einlike==0.8.0 --hash=sha256:" in lock
    assert f"walklike @ file:./.envsync/elsewhere/3/{file.name} --hash=sha256:" in lock
    assert "treelike @ file:./.envsync/elsewhere/4/src-tree#sha256=" in lock
    assert "foundlike==1.5 --hash=sha256:" in lock
    assert there.name not in lock
    for node in cluster.nodes:
        assert imported(node, "treelike.x, walklike.x") == "first wheel"
        traces = [url.encode(), str(there).encode()]
        files = [each for each in node.envs.rglob("*") if each.is_file()]
        assert not [e for e in files if any(trace in e.read_bytes() for trace in traces)]
    verified = cluster.run("verify")
    assert (verified.code, "changed since" in verified.err) == (0, False), verified.err
    again = cluster.run("push", "hosts.txt")
    assert (again.code, "Already in sync: 2 nodes" in again.out) == (0, True)


def test_files_go_along_without_a_lock_as_well(make_cluster: Maker) -> None:
    cluster = make_cluster(2)
    source_tree(cluster.folder / "src-tree")
    (cluster.folder / "requirements.txt").write_text("einlike==0.8.0\n./src-tree\n")
    limits = cluster.folder / "limits.txt"
    limits.write_text("einlike<1\n")
    asked = ["-r requirements.txt", f"-c {limits.as_uri()}"]
    cluster.write_environment("tiny", pip=asked, locked=False)
    pushed = cluster.run("push", "hosts.txt", "--no-lock")
    assert pushed.code == 0, pushed.out + pushed.err
    assert not cluster.lock.exists()
    verified = cluster.run("verify")
    assert (verified.code, "changed since" in verified.err) == (0, False), verified.err
    again = cluster.run("push", "hosts.txt", "--no-lock")
    assert (again.code, "Already in sync: 2 nodes" in again.out) == (0, True)
    (cluster.folder / "src-tree" / "treelike.py").write_text("x = 'second'\n")
    changed = cluster.run("push", "hosts.txt", "--no-lock")
    assert (changed.code, "Already in sync" in changed.out) == (0, False)
    assert cluster.run("verify").code == 0
