"""bootstrap on real nodes: from none to a conda, once, and off again."""

from __future__ import annotations

import shlex
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from cluster.conftest import Maker
from cluster.installer import lab_conda, make_installer
from cluster.lab import Cluster, Node, Ran


def bare(make_cluster: Maker, count: int = 1, **options: object) -> Cluster:
    return make_cluster(count, conda=False, **options)


def own(cluster: Cluster, **options: str) -> tuple[str, ...]:
    """The words that name a small installer, made in the cluster's folder."""
    file = cluster.folder / f"Installer-{options.get('version', '1')}.sh"
    digest = make_installer(file, **options)  # type: ignore[arg-type]
    return ("--installer", file.name, "--sha256", digest)


def starts(node: Node) -> list[str]:
    """With which words the small conda was started."""
    file = node.home / "conda-starts"
    return file.read_text().splitlines() if file.exists() else []


def traces(node: Node) -> list[str]:
    """What lies in the home besides the configuration that the lab itself put there."""
    return sorted(each.name for each in node.home.iterdir() if each.name != ".config")


def row(done: Ran, node: Node) -> dict[str, object]:
    (found,) = [each for each in done.json["result"]["hosts"] if each["host"] == node.host]
    return dict(found)


def test_from_bare_nodes_to_a_verified_environment_in_one_script(make_cluster: Maker) -> None:
    cluster = bare(make_cluster, 2)
    cluster.write_environment("tiny", locked=False)
    root = lab_conda(cluster.folder / "root", ["conda-forge"])
    digest = make_installer(cluster.folder / "Miniforge3-Linux.sh", root)
    (cluster.folder / "Miniforge3-Linux.sh.sha256").write_text(f"{digest}  Miniforge3-Linux.sh\n")
    refused = cluster.run("push", "hosts.txt")
    assert refused.code == 1
    assert "envsync bootstrap" in refused.out

    lines = [
        shlex.join(cluster.command(*words))
        for words in (
            ("bootstrap", "hosts.txt", "--installer", "Miniforge3-Linux.sh",
             "--channel", cluster.lab.channel.url, "--prefix", "~/of-mine/conda"),
            ("push", "hosts.txt"),
            ("verify", "hosts.txt"),
        )
    ]  # fmt: skip
    script = subprocess.run(
        ["sh", "-ec", "\n".join(lines)],
        cwd=cluster.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert script.returncode == 0, script.stdout + script.stderr
    assert "2 nodes installed" in script.stdout
    assert "all alike" in script.stdout
    for node in cluster.nodes:
        prefix = node.home / "of-mine" / "conda"
        settings = yaml.safe_load((prefix / ".condarc").read_text())
        assert settings["auto_activate_base"] is False
        assert settings["channels"] == [cluster.lab.channel.url]
        assert settings["solver"] == "classic"  # what the installer has set stays
        assert (prefix / "envs" / "train").is_symlink()
        assert not list((node.home / "of-mine" / ".envsync").iterdir())
        assert not {".bashrc", ".profile", ".condarc"} & set(traces(node))

    marks = [(node.home / "of-mine/conda/.envsync-bootstrap").stat() for node in cluster.nodes]
    again = cluster.run("bootstrap", "hosts.txt", "--json")  # needs no installer at all
    assert again.code == 0
    assert set(again.outcomes.values()) == {"already there"}
    assert [
        (node.home / "of-mine/conda/.envsync-bootstrap").stat() for node in cluster.nodes
    ] == marks

    kept = cluster.run("bootstrap", "hosts.txt", "--remove", "--json")
    assert set(kept.outcomes.values()) == {"in-use"}
    assert kept.code == 1
    failure = row(kept, cluster.nodes[0])["failure"]
    assert "train" in str(failure)
    gone = cluster.run("bootstrap", "hosts.txt", "--remove", "--force", "--json")
    assert set(gone.outcomes.values()) == {"removed"}
    for node in cluster.nodes:
        assert not (node.home / "of-mine" / "conda").exists()
        assert "of-mine" not in (node.home / ".conda" / "environments.txt").read_text()


def test_conda_of_somebody_else_is_left_alone(make_cluster: Maker) -> None:
    cluster = make_cluster(1)
    (node,) = cluster.nodes
    for words, outcome in (
        ((), "already there"),
        (("--upgrade",), "left alone"),
        (("--remove",), "left alone"),
        (("--remove", "--force"), "left alone"),
    ):
        done = cluster.run("bootstrap", "hosts.txt", *words, "--json")
        assert (done.code, done.outcomes[node.host]) == (0, outcome)
    assert "is not envsync's" in str(row(done, node)["notes"])
    assert node.root.exists()


def test_dry_run_touches_nothing(make_cluster: Maker) -> None:
    cluster = bare(make_cluster)
    done = cluster.run("bootstrap", "hosts.txt", *own(cluster), "--dry-run", "--json")
    assert done.outcomes == {cluster.nodes[0].host: "would install"}
    assert traces(cluster.nodes[0]) == []


def test_upgrade_and_shell_set_up(make_cluster: Maker) -> None:
    cluster = bare(make_cluster, extra="SetEnv SHELL=/bin/bash")
    (node,) = cluster.nodes
    assert cluster.run("bootstrap", "hosts.txt", *own(cluster, version="1")).code == 0
    assert not any(each.startswith("init") for each in starts(node))
    prefix = node.home / "miniforge3"
    (prefix / "envs" / "mine").mkdir(parents=True)
    newer = own(cluster, version="2")
    done = cluster.run("bootstrap", "hosts.txt", *newer, "--upgrade", "--init", "--json")
    assert done.outcomes == {node.host: "upgraded"}, done.err
    assert (prefix / "version").read_text() == "2\n"
    assert (prefix / "envs" / "mine").is_dir()
    assert "init bash" in starts(node)
    same = cluster.run("bootstrap", "hosts.txt", *newer, "--upgrade", "--json")
    assert same.outcomes == {node.host: "already there"}
    assert cluster.run("bootstrap", "hosts.txt", "--remove", "--force").code == 0
    assert "init --reverse bash" in starts(node)
    assert not prefix.exists()


def test_killed_in_the_middle_is_never_taken_for_a_whole_one(make_cluster: Maker) -> None:
    cluster = bare(make_cluster)
    (node,) = cluster.nodes
    words = own(cluster, after='[ -e "$HOME/go-on" ] || sleep 60')
    command = cluster.command("bootstrap", "hosts.txt", *words)
    prefix = node.home / "miniforge3"
    with subprocess.Popen(
        command, cwd=cluster.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as run:
        for _ in range(200):
            if (prefix / "version").exists():
                break
            time.sleep(0.05)
        run.kill()
    # As after a power cut: nothing on the node had the time to tidy up.
    for pid in node.commands():
        subprocess.run(["kill", "-9", str(pid)], check=False)
    node.cut_connections()
    assert (prefix / "bin" / "conda").exists()
    begun = node.home / ".envsync" / "bootstrap-miniforge3" / "begun"
    if not begun.exists():  # its trap was quicker than we were
        begun.parent.mkdir(parents=True, exist_ok=True)
        begun.write_text("install\n")
    cluster.write_environment("tiny", locked=False)
    assert cluster.run("push", "hosts.txt", "--json").outcomes == {node.host: "no-conda"}

    (node.home / "go-on").touch()
    (prefix / "left-over").touch()
    done = cluster.run("bootstrap", "hosts.txt", *words, "--json")
    assert done.outcomes == {node.host: "installed"}, done.err
    assert "half done" in str(row(done, node)["notes"])
    assert not (prefix / "left-over").exists()
    assert not begun.parent.exists()


def test_shared_home_is_installed_once(make_cluster: Maker) -> None:
    cluster = bare(make_cluster, aliases=2)
    (node,) = cluster.nodes
    words = (*own(cluster, after='echo once >>"$HOME/runs"'), "--init")
    done = cluster.run("bootstrap", "hosts.txt", *words, "--json")
    assert not any(each["notes"] for each in done.json["result"]["hosts"])
    assert not (node.home / "miniforge3" / ".envsync-init").exists()
    assert list(done.outcomes.values()) == ["installed"] * 3, done.err
    assert (node.home / "runs").read_text() == "once\n"
    assert sum(each["shares_with"] is not None for each in done.json["result"]["hosts"]) == 2


@pytest.mark.parametrize(
    ("options", "cause", "word"),
    [
        ({"plat": "linux-aarch64"}, "wrong-architecture", "linux-aarch64"),
        ({"before": "exit 7"}, "failed", "7"),
        ({"before": "echo 'x: No space left on device' >&2; exit 1"}, "disk-full", "full"),
        ({"after": 'rm "$PREFIX/bin/conda"'}, "not-whole", "no conda"),
        ({"after": "printf '#!/bin/sh\\nexit 9\\n' >\"$PREFIX/bin/conda\""}, "not-whole", "run"),
    ],
)
def test_failure_is_a_sentence_and_leaves_nothing(
    make_cluster: Maker, options: dict[str, str], cause: str, word: str
) -> None:
    cluster = bare(make_cluster)
    (node,) = cluster.nodes
    done = cluster.run("bootstrap", "hosts.txt", *own(cluster, **options), "--json")
    assert (done.code, done.outcomes) == (1, {node.host: cause})
    failure = row(done, node)["failure"]
    assert isinstance(failure, dict)
    assert word in failure["message"]
    assert failure["hint"]
    assert traces(node) in ([], [".envsync"])
    assert not list(node.home.glob(".envsync/*"))


def test_something_in_the_way_stays(make_cluster: Maker) -> None:
    cluster = bare(make_cluster)
    (node,) = cluster.nodes
    (node.home / "miniforge3").mkdir()
    (node.home / "miniforge3" / "notes").touch()
    done = cluster.run("bootstrap", "hosts.txt", *own(cluster), "--json")
    assert done.outcomes == {node.host: "in-the-way"}
    assert (node.home / "miniforge3" / "notes").exists()
    assert cluster.run("bootstrap", "hosts.txt", "--remove", "--json").code == 0
    assert (node.home / "miniforge3" / "notes").exists()


@pytest.mark.root
def test_noexec_and_a_small_disk(make_cluster: Maker) -> None:
    cluster = bare(make_cluster)
    (node,) = cluster.nodes
    words = own(cluster)
    place = node.home / "disk"
    place.mkdir()
    for options, cause in (("size=9m,noexec", "noexec"), ("size=12k", "disk-full")):
        mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        subprocess.run(mount, check=True)
        try:
            at = ("--prefix", f"{place}/conda")
            done = cluster.run("bootstrap", "hosts.txt", *words, *at, "--json")
            assert done.outcomes == {node.host: cause}, done.err
            assert not (place / "conda").exists()
        finally:
            subprocess.run(["umount", "-l", str(place)], check=True)


def test_damaged_or_unknown_installer_touches_no_host(make_cluster: Maker) -> None:
    cluster = bare(make_cluster)
    (node,) = cluster.nodes
    words = own(cluster)
    file = cluster.folder / words[1]
    unknown = cluster.run("bootstrap", "hosts.txt", *words[:2])
    assert (unknown.code, "nobody says what its sha256 is" in unknown.err) == (2, True)
    file.write_bytes(file.read_bytes()[:-100])
    cut = cluster.run("bootstrap", "hosts.txt", *words)
    assert (cut.code, "cut short" in cut.err) == (2, True)
    own(cluster, name="Miniconda3")
    file.with_name(f"{file.name}.sha256").write_text(make_installer(file, name="Miniconda3"))
    terms = cluster.run("bootstrap", "hosts.txt", *words[:2])
    assert (terms.code, "terms of service" in terms.err) == (2, True)
    assert traces(node) == []
    agreed = cluster.run("bootstrap", "hosts.txt", *words[:2], "--accept-terms")
    assert agreed.code == 0, agreed.out + agreed.err
    assert (node.home / "miniconda3" / "bin" / "conda").exists()


def test_installer_is_fetched_once_from_a_mirror(make_cluster: Maker, tmp_path: Path) -> None:
    cluster = bare(make_cluster, 2)
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    file = mirror / "micromamba-linux-64"
    exe = "/usr/bin/true"
    file.write_bytes(Path(exe).read_bytes())
    digest = subprocess.run(["sha256sum", file], capture_output=True, text=True, check=True).stdout
    file.with_name(f"{file.name}.sha256").write_text(digest)
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    words = ("--flavour", "micromamba", "--from", mirror.as_uri(), "--prefix", "~/mm", "--json")
    done = cluster.run("bootstrap", "hosts.txt", *words, env=env)
    assert set(done.outcomes.values()) == {"installed"}, done.out + done.err
    for node in cluster.nodes:
        provided = done.json["result"]["provided"][node.host]
        assert provided["prefix"] == str(node.home / "mm")
    assert cluster.run("bootstrap", "hosts.txt", "--remove").code == 0
    file.unlink()  # the sum is still there, and the cache has the file
    assert cluster.run("bootstrap", "hosts.txt", *words, env=env).code == 0
