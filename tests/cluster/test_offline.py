"""Nodes that cannot fetch anything: `push --offline` sends them what they lack."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.conftest import Maker
from cluster.lab import CLEAN_PATH, Cluster, Lab, Node
from cluster.waiting import wait_until
from cluster.web import Web
from envsync.demo.channel import wheel

TAKEN_BY = "envsync"


@pytest.fixture(scope="module")
def web(lab: Lab) -> Iterator[Web]:
    with Web(lab.folder) as made:
        yield made


@pytest.fixture
def env(lab: Lab, tmp_path: Path) -> dict[str, str]:
    """What envsync itself finds: a cache of its own, and pip's way to the wheels."""
    return {
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "PIP_FIND_LINKS": str(lab.wheels),
        "PIP_NO_INDEX": "1",
        "PIP_CONFIG_FILE": os.devnull,
    }


def write(cluster: Cluster, web: Web, *dependencies: str, name: str = "train") -> None:
    """An environment of packages over HTTP, with its lock."""
    wanted = ["python=3", "pip", *dependencies]
    lines = [f"name: {name}", "channels:", f"  - {web.url}/channel", "  - nodefaults"]
    lines += ["dependencies:", *(f"  - {each}" for each in wanted), "  - pip:"]
    lines += ["      - einlike==0.8.0"]
    lines += [f"      - numlike @ {web.url}/wheels/numlike-2.1.0-py3-none-any.whl"]
    text = "\n".join(lines) + "\n"
    (cluster.folder / "environment.yml").write_text(text)
    cluster.lock.write_bytes(cluster.lab.lock_for(text))


def big_wheel(cluster: Cluster, size: int) -> int:
    """Add a wheel to the lock whose content cannot be packed; its size in bytes."""
    noise = random.Random(size).randbytes(size)  # noqa: S311 (nothing secret)
    file = wheel(cluster.lab.wheels, f"bulky{size}", "1.0", {"bulky.bin": noise})
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    text = cluster.lock.read_text()
    line = f"  pip:\n  - bulky{size}==1.0 --hash=sha256:{digest}\n"
    cluster.lock.write_text(text.replace("  pip:\n", line, 1))
    return file.stat().st_size


def empty_cache(node: Node) -> None:
    shutil.rmtree(node.root / "pkgs")


def state(node: Node, name: str = "train") -> dict[str, object]:
    """What a node has, in the words of conda and pip themselves."""
    prefix = Path(os.path.realpath(node.envs / name))
    env = {"HOME": str(node.home), "PATH": CLEAN_PATH}

    def said(*words: str) -> str:
        done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
        return done.stdout

    conda, python = str(node.root / "bin" / "conda"), str(prefix / "bin" / "python")
    records = [json.loads(each.read_text()) for each in (prefix / "conda-meta").glob("*.json")]
    origins = prefix.glob("lib/python*/site-packages/*.dist-info/direct_url.json")
    return {
        "generation": prefix.name,
        "explicit": said(conda, "list", "-p", str(prefix), "--explicit", "--md5"),
        "pip": said(python, "-m", "pip", "list", "--format=json"),
        "origins": sorted(each.read_text() for each in origins),
        "records": sorted((each["name"], each["url"], each["md5"]) for each in records),
    }


def test_same_environment_as_by_fetching(
    make_cluster: Maker, web: Web, env: dict[str, str]
) -> None:
    apart, online = make_cluster(1), make_cluster(1)
    write(apart, web, "tiny")
    write(online, web, "tiny")
    empty_cache(apart.nodes[0])
    assert (done := online.run("push", "hosts.txt")).code == 0, done.out + done.err
    web.asked.clear()
    done = apart.run("push", "hosts.txt", "--offline", env=env)
    assert done.code == 0, done.out + done.err
    assert web.agents(".tar.bz2") == {"envsync"}
    assert web.agents(".whl") == {"pip"}
    assert state(apart.nodes[0]) == state(online.nodes[0])
    assert len(state(apart.nodes[0])["origins"]) == 1  # type: ignore[arg-type]
    hidden = apart.nodes[0].envs / ".envsync"
    assert sorted(each.name for each in hidden.iterdir()) == ["train"]
    assert not list((apart.nodes[0].root / "pkgs").rglob("*.part"))
    verified = apart.run("verify")
    assert verified.code == 0, verified.out


def test_nothing_is_solved_offline(make_cluster: Maker, web: Web, env: dict[str, str]) -> None:
    cluster = make_cluster(1)
    write(cluster, web, "tiny")
    lock = cluster.lock.read_text()
    cluster.lock.write_text(lock.replace("flavour: conda", "flavour: mamba"))
    done = cluster.run("push", "hosts.txt", "--offline", "--json", env=env)
    assert (done.code, list(done.outcomes.values())) == (1, ["not-locked"])
    with (cluster.folder / "environment.yml").open("a") as file:
        file.write("# changed\n")
    done = cluster.run("push", "hosts.txt", "--offline", env=env)
    assert (done.code, "has changed since it was made" in done.err) == (2, True)
    cluster.lock.unlink()
    done = cluster.run("push", "hosts.txt", "--offline", env=env)
    assert (done.code, "`envsync lock HOSTS` makes it" in done.err) == (2, True)
    assert cluster.run("push", "hosts.txt", "--offline", "--relock", env=env).code == 2
    assert cluster.nodes[0].conda_starts == []


def test_bundle_is_the_way_into_a_closed_network(
    make_cluster: Maker, web: Web, env: dict[str, str], tmp_path: Path
) -> None:
    outside, inside = make_cluster(1), make_cluster(2)
    write(outside, web, "tiny")
    for name in ("one.tar", "two.tar"):
        done = outside.run("bundle", "-o", name, env=env)
        assert done.code == 0, done.out + done.err
    first, second = outside.folder / "one.tar", outside.folder / "two.tar"
    assert first.read_bytes() == second.read_bytes()
    assert outside.run("bundle", "-o", "one.tar", env=env).code == 2
    assert (done := outside.run("push", "hosts.txt")).code == 0, done.out + done.err

    web.asked.clear()
    for node in inside.nodes:
        empty_cache(node)
    nothing = {**env, "XDG_CACHE_HOME": str(tmp_path / "none"), "PIP_FIND_LINKS": ""}
    done = inside.run("push", "hosts.txt", "--bundle", str(first), env=nothing)
    assert done.code == 0, done.out + done.err
    assert state(inside.nodes[0]) == state(inside.nodes[1]) == state(outside.nodes[0])
    assert web.asked == []
    assert not (tmp_path / "none").exists()

    damaged = tmp_path / "damaged.tar"
    raw = first.read_bytes()
    archive = next((outside.lab.folder / "channel" / "noarch").glob("tiny-*.bz2")).read_bytes()
    damaged.write_bytes(raw.replace(archive, archive[:-1] + b"?"))
    done = inside.run("push", "hosts.txt", "--bundle", str(damaged), "--rebuild", env=nothing)
    assert (done.code, "does not have" in done.err) == (2, True), done.out + done.err
    (inside.folder / "environment.yml").write_text("name: other\ndependencies: [python]\n")
    done = inside.run("push", "hosts.txt", "--bundle", str(first), env=nothing)
    assert (done.code, "is not the one in" in done.err) == (2, True), done.err


def test_bundle_by_hand(make_cluster: Maker, web: Web, env: dict[str, str], tmp_path: Path) -> None:
    cluster = make_cluster(1)
    node = cluster.nodes[0]
    write(cluster, web, "tiny")
    assert cluster.run("bundle", "-o", "b.tar", env=env).code == 0
    subprocess.run(["tar", "-xf", str(cluster.folder / "b.tar"), "-C", str(tmp_path)], check=True)
    folder = tmp_path / "train"
    (file,) = folder.glob("by-hand-*.yml")
    assert file.name in (folder / "README.txt").read_text()
    empty_cache(node)
    (node.home / ".config" / "pip" / "pip.conf").unlink()
    web.asked.clear()
    done = subprocess.run(
        [str(node.root / "bin" / "conda"), "env", "create", "-f", file.name],
        cwd=folder, env={"HOME": str(node.home), "PATH": CLEAN_PATH},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    python = node.envs / "train" / "bin" / "python"
    words = [str(python), "-c", "import tiny, einlike, numlike; print(numlike.__version__)"]
    said = subprocess.run(words, capture_output=True, text=True, check=True)
    assert said.stdout == "2.1.0\n"
    assert web.asked == []


def test_download_that_was_cut_off_goes_on_where_it_ended(
    make_cluster: Maker, web: Web, env: dict[str, str]
) -> None:
    cluster = make_cluster(1)
    write(cluster, web, "tiny")
    empty_cache(cluster.nodes[0])
    web.asked.clear()
    web.break_after = 100
    done = cluster.run("push", "hosts.txt", "--offline", env=env)
    assert done.code == 0, done.out + done.err
    (resumed,) = [(path, wanted) for path, _, wanted in web.asked if wanted]
    assert resumed[1] == "bytes=100-"
    assert [path for path, *_ in web.asked].count(resumed[0]) == 2
    web.asked.clear()
    empty_cache(cluster.nodes[0])
    assert cluster.run("push", "hosts.txt", "--offline", "--rebuild", env=env).code == 0
    assert not [path for path, *_ in web.asked if path.endswith(".tar.bz2")]


def test_source_that_a_node_would_have_to_build_is_refused_before_anything_is_sent(
    make_cluster: Maker, web: Web, env: dict[str, str]
) -> None:
    cluster = make_cluster(1)
    write(cluster, web, "tiny")
    commit = "0" * 40
    lock = cluster.lock.read_text()
    line = f"direct:\n  - flash @ git+https://h.test/flash@{commit}"
    cluster.lock.write_text(lock.replace("direct: []", line))
    done = cluster.run("push", "hosts.txt", "--offline", env=env)
    assert done.code == 2
    assert f"environment.lock: flash @ git+https://h.test/flash@{commit} is a source" in done.err
    assert "pip wheel" in done.err
    assert not (cluster.nodes[0].envs / "train").exists()


def test_nodes_with_a_home_in_common_get_each_file_once(
    make_cluster: Maker, web: Web, env: dict[str, str]
) -> None:
    cluster = make_cluster(1, aliases=2)
    write(cluster, web, "tiny")
    empty_cache(cluster.nodes[0])
    done = cluster.run("push", "hosts.txt", "--offline", "--json", env=env)
    assert list(done.outcomes.values()) == ["installed"] * 3, done.out + done.err
    packages = [each["packages"] for each in done.json["result"]["hosts"]]
    (got,) = [each for each in packages if each]
    assert got["sent"] > 1_000_000
    assert done.json["result"]["packages"] == {"sent": got["sent"], "handed_on": 0}


@contextlib.contextmanager
def mounted(folder: Path, *words: str) -> Iterator[None]:
    subprocess.run(["mount", *words, str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.root
def test_cache_that_cannot_be_written_to(
    make_cluster: Maker, web: Web, env: dict[str, str]
) -> None:
    cluster, whole = make_cluster(1), make_cluster(1)
    write(cluster, web, "tiny")
    write(whole, web, "tiny")
    node = cluster.nodes[0]
    caches = node.root / "pkgs", node.home / ".conda" / "pkgs"
    assert (done := whole.run("push", "hosts.txt", "--offline", env=env)).code == 0, done.out
    for each in ("tiny-1.0-demo_0", "tiny-1.0-demo_0.tar.bz2"):
        assert (whole.nodes[0].root / "pkgs" / each).exists()
    shutil.rmtree(caches[0])
    shutil.copytree(whole.nodes[0].root / "pkgs", caches[0], symlinks=True)
    for each in caches[0].glob("tiny-*"):
        shutil.rmtree(each) if each.is_dir() else each.unlink()
    with mounted(caches[0], "--bind", "-o", "ro", str(caches[0])):
        condarc = node.root / ".condarc"
        text = condarc.read_text()
        condarc.write_text(json.dumps(json.loads(text) | {"pkgs_dirs": [str(caches[0])]}))
        done = cluster.run("push", "hosts.txt", "--offline", "--json", env=env)
        assert list(done.outcomes.values()) == ["read-only-cache"], done.out + done.err
        assert not caches[1].exists()
        condarc.write_text(text)
        done = cluster.run("push", "hosts.txt", "--offline", env=env)
        assert done.code == 0, done.out + done.err
        # One package and two wheels: the rest is in the cache that can be read.
        assert "MB in 3 of 5 files, 2 were there" in done.out
        assert [each.name for each in caches[1].glob("*.bz2")] == ["tiny-1.0-demo_0.tar.bz2"]
    assert state(node) == state(whole.nodes[0])


def test_two_pushes_at_once_to_one_cache(
    make_cluster: Maker, web: Web, env: dict[str, str]
) -> None:
    cluster = make_cluster(2)
    other = Cluster(cluster.nodes, cluster.folder.with_name("other"), cluster.lab)
    write(cluster, web, "tiny")
    write(other, web, "tiny", name="eval")
    for node in cluster.nodes:
        empty_cache(node)
    pushes = [
        subprocess.Popen(
            each.command("push", "hosts.txt", "--offline"),
            cwd=each.folder, env={**os.environ, **env}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        for each in (cluster, other)
    ]  # fmt: skip
    for push in pushes:
        out, _ = push.communicate(timeout=200)
        assert push.returncode == 0, out
    for node in cluster.nodes:
        train, evaluation = state(node), state(node, "eval")
        assert train["records"] == evaluation["records"]
        assert not list(node.root.rglob("*.part"))
        lines = (node.root / "pkgs" / "urls.txt").read_text().splitlines()
        assert all(line.startswith(web.url) for line in lines)
        assert "/tiny-1.0-demo_0.tar.bz2" in "".join(lines)
    assert cluster.run("verify").code == other.run("verify").code == 0


@pytest.mark.root
def test_disk_that_fills_up_while_something_is_sent(
    make_cluster: Maker, web: Web, env: dict[str, str]
) -> None:
    cluster = make_cluster(1)
    node = cluster.nodes[0]
    write(cluster, web)
    size = big_wheel(cluster, 60_000_000)
    hidden = node.envs / ".envsync"
    hidden.mkdir(parents=True)
    with mounted(hidden, "-t", "tmpfs", "-o", "size=220m", "tmpfs"):
        words = cluster.command("push", "hosts.txt", "--offline", "--json")
        with subprocess.Popen(
            words, cwd=cluster.folder, env={**os.environ, **env}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as push:  # fmt: skip
            wait_until(lambda: list(hidden.glob(".train.wheels/.bulky*.part")), 60)
            filler = hidden / "filler"
            with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
                while file.write(b"x" * 2**22):
                    pass
            out, err = push.communicate(timeout=100)
        (failed,) = json.loads(out)["result"]["hosts"]
        assert failed["failure"]["cause"] == "disk-full", out + err
        assert not list(hidden.rglob("*.part"))
        assert not (node.envs / "train").exists()
        filler.unlink()
        done = cluster.run("push", "hosts.txt", "--offline", "--json", env=env)
        assert list(done.outcomes.values()) == ["installed"], done.out + done.err
        assert done.json["result"]["packages"]["sent"] >= size
