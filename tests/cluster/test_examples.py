"""The examples for CI and Slurm, run as they stand, against real nodes."""

from __future__ import annotations

import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import xmlschema
import yaml

from cluster.lab import ENVSYNC, Cluster, Node

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
TOOLS = Path(sys.executable).parent


def github() -> Iterator[tuple[str, Mapping[str, str]]]:
    """The scripts of a workflow's steps with their variables; `uses:` are GitHub's own."""
    workflow = yaml.safe_load((EXAMPLES / "ci/github-actions.yml").read_text())
    assert set(workflow) == {"name", True, "permissions", "jobs"}  # `on` is true in YAML 1.1
    (job,) = workflow["jobs"].values()
    for step in job["steps"]:
        assert ("run" in step) != ("uses" in step)
        if "run" in step:
            yield step["run"], step.get("env", {})


def gitlab() -> Iterator[tuple[str, Mapping[str, str]]]:
    """Each job's script; GitLab runs its lines as one."""
    jobs = yaml.safe_load((EXAMPLES / "ci/gitlab-ci.yml").read_text())
    for job in jobs.values():
        yield "\n".join(job["script"]), {}


SCRIPTS = [("github", *each) for each in github()] + [("gitlab", *each) for each in gitlab()]


@dataclass(frozen=True)
class Runner:
    """A checkout, and a PATH that has `envsync`."""

    folder: Path
    env: dict[str, str]

    def run(self, script: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """As both do it: bash, which ends at the first command that fails."""
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=self.folder,
            env=self.env | dict(env),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


def program(file: Path, *words: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    file.chmod(0o755)


@pytest.fixture
def runner(cluster: Cluster, tmp_path: Path) -> Runner:
    folder = tmp_path / "checkout"
    folder.mkdir()
    for name in ("environment.yml", "environment.lock", "hosts.txt", "known_hosts"):
        shutil.copy(cluster.folder / name, folder / name)
    program(tmp_path / "bin" / "envsync", *ENVSYNC)
    key = tmp_path / "key"
    key.write_bytes(cluster.lab.key.read_bytes())
    env = {
        **os.environ,
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "CLUSTER_KEY": str(key),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }
    return Runner(folder, env)


@pytest.mark.parametrize("script", [each[1] for each in SCRIPTS])
def test_scripts_are_clean_shell(script: str) -> None:
    done = subprocess.run(
        [TOOLS / "shellcheck", "--shell=bash", "-"],
        input=script,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def drift(node: Node) -> None:
    """Remove a package behind envsync's back."""
    (record,) = (node.envs / "train").resolve().glob("conda-meta/tiny-*.json")
    record.unlink()


@pytest.mark.parametrize("which", ["github", "gitlab"])
def test_pipelines_tell_of_the_node_that_drifted(
    which: str, cluster: Cluster, runner: Runner
) -> None:
    def secrets(env: Mapping[str, str]) -> dict[str, str]:
        key = cluster.lab.key.read_text().rstrip("\n")
        return {k: re.sub(r"\$\{\{ secrets\.CLUSTER_KEY \}\}", key, v) for k, v in env.items()}

    scripts = [(script, secrets(env)) for kind, script, env in SCRIPTS if kind == which]
    codes = [runner.run(script, env).returncode for script, env in scripts]
    assert codes == [0] * len(scripts)
    assert suite(runner).get("failures") == "0"
    drift(cluster.nodes[1])
    done = [runner.run(script, env) for script, env in scripts]
    assert [each.returncode for each in done][:2] == [0, 1], done
    failed = [case for case in suite(runner) if case.find("failure") is not None]
    assert [case.get("classname") for case in failed] == [f"envsync.{cluster.nodes[1].host}"]
    assert "tiny" in (runner.folder / "verify.md").read_text()
    assert (runner.folder / "verify.html").exists()
    if which == "github":
        summary = Path(runner.env["GITHUB_STEP_SUMMARY"]).read_text()
        assert summary.endswith((runner.folder / "verify.md").read_text())
        assert "PRIVATE KEY" not in "".join(each.stdout + each.stderr for each in done)


def suite(runner: Runner) -> ET.Element:
    text = (runner.folder / "verify.xml").read_text()
    xmlschema.XMLSchema(ROOT / "tests/unit/data/junit.xsd").validate(text)
    return ET.fromstring(text)  # noqa: S314 (our own)


@dataclass(frozen=True)
class Slurm:
    """What slurmd gives to a prolog, and a scontrol that writes down what it is asked."""

    env: dict[str, str]
    asked: Path

    def prolog(self, **env: str) -> tuple[int, list[str], float]:
        """Exit code, the words of scontrol's call, and seconds."""
        self.asked.unlink(missing_ok=True)
        began = time.monotonic()
        done = subprocess.run(
            [EXAMPLES / "slurm/prolog.sh"],
            env=self.env | env,
            cwd="/",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        took = time.monotonic() - began
        words = self.asked.read_text().splitlines() if self.asked.exists() else []
        assert done.stdout + done.stderr == ""
        return done.returncode, words, took


@pytest.fixture
def slurm(cluster: Cluster, tmp_path: Path) -> Slurm:
    bin_ = tmp_path / "bin"
    program(bin_ / "envsync", *ENVSYNC)
    asked = tmp_path / "asked"
    (bin_ / "scontrol").write_text(
        f"#!/bin/sh\nprintf '%s\\n' \"$@\" >'{asked}'\nexit ${{BROKEN:-0}}\n"
    )
    (bin_ / "scontrol").chmod(0o755)
    defaults = tmp_path / "defaults"
    defaults.write_text(
        f"PATH={bin_}:$PATH\nENVSYNC_FILE='{cluster.folder}/environment.yml'\n"
        f"HOME='{cluster.nodes[0].home}'\n"
    )
    env = {"ENVSYNC_DEFAULTS": str(defaults), "SLURMD_NODENAME": "gpu07"}
    if path := os.environ.get("PYTHONPATH"):
        env["PYTHONPATH"] = path
    return Slurm(env, asked)


def test_prolog_lets_a_job_start_on_a_sound_node(slurm: Slurm) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    code, words, took = slurm.prolog()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert (code, words) == (0, [])
    worked = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"prolog: {took:.2f} s, of which {worked:.2f} s CPU")
    assert worked < 2  # of a node that is not busy these are the seconds on the clock


def test_prolog_drains_a_node_that_drifted(cluster: Cluster, slurm: Slurm) -> None:
    drift(cluster.nodes[0])
    drained = [
        "update",
        "NodeName=gpu07",
        "State=DRAIN",
        "Reason=envsync: train: of 1 node 1 drifted.",
    ]
    assert slurm.prolog()[:2] == (1, drained)
    assert slurm.prolog(BROKEN="1")[:2] == (1, drained)  # slurmd drains it for the exit code


def test_prolog_drains_no_node_that_it_cannot_judge(slurm: Slurm, tmp_path: Path) -> None:
    defaults = Path(slurm.env["ENVSYNC_DEFAULTS"])
    sound = defaults.read_text()
    program(tmp_path / "slow", "sh", "-c", "exec sleep 30")
    program(tmp_path / "broken", sys.executable, "-c", "import no_such_module")
    for worse in (
        f"ENVSYNC_FILE='{tmp_path}/nowhere.yml'",
        f"ENVSYNC='{tmp_path}/nowhere'",
        f"ENVSYNC='{tmp_path}/broken'",
        f"ENVSYNC='{tmp_path}/slow'\nSECONDS_MOST=1",
    ):
        defaults.write_text(f"{sound}{worse}\n")
        code, words, took = slurm.prolog()
        assert (code, words) == (0, [])
        assert took < 20
