"""An environment at a path: made by whoever, looked at by the same probes and the same judge."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from cluster.lab import CLEAN_PATH, Cluster, Ran


@pytest.fixture
def by_hand(pushed: Cluster, tmp_path: Path) -> Path:
    """An environment that no envsync made, in a folder whose name is trouble for shells."""
    prefix = tmp_path / 'it\'s "my" $(env)'
    shutil.copytree((pushed.nodes[0].envs / "train").resolve(), prefix, symlinks=True)
    for mark in (".sealed", "conda-meta/frozen", "etc"):
        shutil.rmtree(prefix / mark) if (prefix / mark).is_dir() else (prefix / mark).unlink()
    return prefix


def verify(cluster: Cluster, prefix: Path, *words: str) -> Ran:
    """On this machine, by a user who has no conda and no home worth the name."""
    words = ("verify", "gpu07,", "--launcher", "local", "--prefix", str(prefix), *words)
    home = str(prefix.parent / "nowhere")
    return cluster.run(*words, env={"HOME": home, "PATH": CLEAN_PATH})


def lose_a_package(prefix: Path) -> None:
    (record,) = prefix.glob("conda-meta/tiny-*.json")
    record.unlink()


@pytest.mark.parametrize("file", ["environment.yml", "environment.lock"])
def test_whole_by_the_lock_and_by_the_file_beside_it(
    pushed: Cluster, by_hand: Path, file: str
) -> None:
    done = verify(pushed, by_hand, "-f", file)
    assert done.code == 0, done.out + done.err
    assert "gpu07" in done.out
    assert "drifted" not in done.out
    lose_a_package(by_hand)
    done = verify(pushed, by_hand, "-f", file, "--json")
    assert done.code == 1
    (finding,) = done.json["result"]["findings"]
    assert (finding["cause"], finding["host"]) == ("not-locked", "gpu07")
    assert finding["message"].startswith("tiny is ")
    assert "envsync push" not in finding["hint"]


def test_what_pip_put_there_and_a_changed_file(pushed: Cluster, by_hand: Path) -> None:
    subprocess.run(
        [by_hand / "bin/python", "-m", "pip", "install", "-q", "numlike==2.1.0"],
        env={"HOME": str(pushed.nodes[0].home), "PATH": CLEAN_PATH},
        check=True,
    )
    done = verify(pushed, by_hand, "--json")
    assert [each["what"] for each in done.json["result"]["findings"]] == ["numlike"]
    (module,) = by_hand.glob("lib/python3*/site-packages/einlike.py")
    module.write_text("x = 2\n")
    done = verify(pushed, by_hand, "--deep", "--json")
    assert "changed-files" in {each["cause"] for each in done.json["result"]["findings"]}


def test_over_ssh_nodes_are_compared_with_each_other_too(pushed: Cluster) -> None:
    prefixes = [(node.envs / "train").resolve() for node in pushed.nodes]
    words = ("--hosts", str(pushed.folder / "hosts.txt"), "--prefix", str(prefixes[0]))
    done = pushed.run("diff", *(node.host for node in pushed.nodes), *words, "--only", "conda")
    assert done.code == 0, done.out + done.err
    words = ("hosts.txt", "--prefix", str(prefixes[0]), "-f", "environment.lock", "--json")
    done = pushed.run("verify", *words)
    assert done.code == 0, done.out + done.err
    assert done.json["result"]["name"] == prefixes[0].name
    found = [each["facts"]["prefix"] for each in done.json["result"]["hosts"]]
    assert found == [str(prefixes[0])] * 2


def test_export_of_one_made_by_hand(pushed: Cluster, by_hand: Path) -> None:
    words = ("export", "localhost", "--launcher", "local", "--prefix", str(by_hand))
    done = pushed.run(*words, env={"HOME": str(by_hand.parent), "PATH": CLEAN_PATH})
    assert done.code == 0, done.out + done.err
    assert "numlike=1.26.4" in done.out


def test_what_is_no_environment_is_said_with_its_path(pushed: Cluster, tmp_path: Path) -> None:
    for prefix, why in ((tmp_path / "none", ""), (tmp_path, ": it has no conda-meta")):
        done = verify(pushed, prefix)
        assert done.code == 1
        assert f"there is no environment at {prefix}{why}" in done.out.replace("\n", "")
        assert "envsync push" not in done.out


def test_nothing_passes_that_was_compared_with_nothing(
    pushed: Cluster, by_hand: Path, tmp_path: Path
) -> None:
    text = pushed.lock.read_text()
    other = tmp_path / "other.lock"
    other.write_text(text.replace("subdir: linux-", "subdir: osx-"))
    done = verify(pushed, by_hand, "-f", str(other))
    assert done.code == 1
    assert "the lock has nothing for linux-" in done.out
    stale = tmp_path / "environment.yml"
    stale.write_text((pushed.folder / "environment.yml").read_text() + "# changed\n")
    shutil.copy(pushed.lock, stale.with_suffix(".lock"))
    done = verify(pushed, by_hand, "-f", str(stale))
    assert done.code == 2
    assert "environment.yml has changed since it was made" in done.err
    done = verify(pushed, by_hand, "-f", str(tmp_path / "gone.lock"))
    assert done.code == 2


@pytest.mark.parametrize("prefix", ["envs/train", "~/envs/train", "", "/", "/opt/a\nb"])
def test_a_path_that_is_none(pushed: Cluster, prefix: str) -> None:
    done = pushed.run("verify", "gpu07,", "--launcher", "local", "--prefix", prefix)
    assert done.code == 2
    assert "is not the path of an environment" in done.err


def test_reports_of_nodes_that_were_asked_apart_are_judged_together(
    pushed: Cluster, by_hand: Path, tmp_path: Path
) -> None:
    reports = tmp_path / "reports"
    reports.mkdir()
    for number in ("01", "02"):
        words = ("verify", f"gpu{number},", "--launcher", "local", "--prefix", str(by_hand))
        done = pushed.run(*words, "--report", str(reports / f"gpu{number}.json"))
        assert done.code == 0, done.out + done.err
    done = pushed.run("verify", "--seen", str(reports))
    assert done.code == 0, done.out + done.err
    assert "no host was asked now" in done.out
    assert "gpu[01-02]" in done.out
    lose_a_package(by_hand)
    assert verify(pushed, by_hand, "--report", str(reports / "gpu07.json")).code == 1
    done = pushed.run("verify", "--seen", str(reports), "-f", "environment.lock", "--json")
    assert done.code == 1
    assert {each["host"] for each in done.json["result"]["findings"]} == {"gpu07"}


def test_report_of_what_was_pushed_is_judged_as_it_was(pushed: Cluster, tmp_path: Path) -> None:
    file = tmp_path / "all.json"
    asked = pushed.run("verify", "--report", str(file), "--json")
    assert asked.code == 0, asked.err
    for words in ((), ("-f", "environment.lock")):
        done = pushed.run("verify", "--seen", str(file), *words, "--json")
        assert done.code == 0, done.err
        for key in ("hosts", "generations", "findings", "remarks", "differences"):
            assert done.json["result"][key] == asked.json["result"][key]
