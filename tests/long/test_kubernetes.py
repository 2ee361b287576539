"""The example for Kubernetes: its Job, run in an image that is built from envsync's Dockerfile."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.conftest import Maker
from cluster.lab import Cluster, Lab, Node
from long.containers import Stage, build

EXAMPLE = Path(__file__).parents[2] / "examples/kubernetes/verify.yml"
NAME = "nlp-pretrain-a100"


@pytest.fixture(scope="module")
def job() -> Any:
    return yaml.safe_load(EXAMPLE.read_text())


def pod(job: Any) -> Any:
    return job["spec"]["template"]["spec"]


def test_job_looks_at_each_node_once(job: Any) -> None:
    """Names and kinds of all fields were checked against Kubernetes' own client (37.0)."""
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    spec = job["spec"]
    # Without an index of its own a failed pod would be tried again, perhaps on a sound node.
    assert (spec["completionMode"], spec["backoffLimitPerIndex"]) == ("Indexed", 0)
    assert spec["completions"] == spec["parallelism"]
    assert pod(job)["restartPolicy"] == "Never"
    (term,) = pod(job)["affinity"]["podAntiAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    assert term["topologyKey"] == "kubernetes.io/hostname"
    assert term["labelSelector"]["matchLabels"] == spec["template"]["metadata"]["labels"]


def test_job_mounts_what_its_command_names(job: Any) -> None:
    verify, hold = pod(job)["containers"]
    assert verify["image"] == hold["image"]
    volumes = {each["name"] for each in pod(job)["volumes"]}
    mounts = {each["mountPath"]: each["name"] for each in verify["volumeMounts"]}
    assert volumes == set(mounts.values())
    files = [word.partition("=")[2] for word in verify["command"] if "=/" in word]
    assert [str(Path(file).parent) for file in files] == [
        "/opt/envsync",
        "/etc/envsync",
        "/reports",
    ]
    names = set(re.findall(r"\$\((\w+)\)", " ".join(verify["command"])))
    assert names == {each["name"] for each in verify["env"]}


@dataclass
class Container:
    """The image, and how the Job's pod runs in it on a node."""

    image: Stage
    spec: Any
    lock: Path
    reports: Path

    def run(self, node: str, user: str = "") -> tuple[int, str]:
        verify = self.spec["containers"][0]
        words = [word.replace("$(NODE_NAME)", node) for word in verify["command"]]
        self.image.user = user or str(self.spec["securityContext"]["runAsUser"])
        done = self.image.run(
            words,
            {**self.image.env, "NODE_NAME": node},
            {self.lock: "/etc/envsync", self.reports: "/reports"},
            read_only=verify["securityContext"]["readOnlyRootFilesystem"],
        )
        return done.returncode, done.stdout + done.stderr

    def report(self, node: str) -> Any:
        return json.loads((self.reports / f"{node}.json").read_text())

    @property
    def prefix(self) -> Path:
        return self.image.upper / f"opt/envsync/{NAME}"


def micromamba(folder: Path, node: Node) -> Path:
    """A base image whose micromamba is a node's conda, and conda-forge the lab's channel."""
    program = folder / "usr/local/bin/micromamba"
    program.parent.mkdir(parents=True)
    program.write_text(
        "#!/bin/sh\n"
        "for word; do\n"
        "    shift\n"
        "    case $word in\n"
        f"    conda-forge) word={shlex.quote(node.lab.channel.url)} ;;\n"
        "    python=3.13) word=python own=yes ;;\n"
        "    esac\n"
        '    set -- "$@" "$word"\n'
        "done\n"
        f'HOME={shlex.quote(str(node.home))} {node.root}/bin/conda "$@" || exit\n'
        # The lab's Python sees what this machine has; one that conda-forge made does not.
        'if [ -n "${own-}" ]; then\n'
        "    echo include-system-site-packages = false >>/opt/envsync/.tool/pyvenv.cfg\n"
        "fi\n"
    )
    program.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def cluster(
    lab: Lab, warm_packages: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    maker = Maker(lab, warm_packages, tmp_path_factory.mktemp("kubernetes"))
    made = maker()
    made.write_environment("numlike=1.26", "tiny", pip=["einlike==0.8.0"], name=NAME)
    yield made
    maker.stop()


@pytest.fixture(scope="module")
def built(cluster: Cluster, job: Any, tmp_path_factory: pytest.TempPathFactory) -> Container:
    folder = tmp_path_factory.mktemp("image")
    context = folder / "context"
    context.mkdir()
    (node,) = cluster.nodes
    words = ("--with-envsync", "-o", str(context / "Dockerfile"))
    done = cluster.run("image", *words)
    assert done.code == 0, done.err
    bases = {"mambaorg/micromamba": micromamba(folder / "micromamba", node)}
    links = f"{cluster.lab.wheels} {os.environ.get('PIP_FIND_LINKS', '')}"
    pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    image = build(context, folder / "stages", bases, {**pip, "PIP_FIND_LINKS": links})
    lock = folder / "lock"
    lock.mkdir()
    shutil.copy(cluster.lock, lock)
    reports = folder / "reports"
    reports.mkdir()
    reports.chmod(0o777)
    for parent in (folder, *folder.parents):  # pytest's folders are for their owner
        if str(parent).startswith("/tmp/"):
            parent.chmod(parent.stat().st_mode | 0o055)
    return Container(image, pod(job), lock, reports)


@pytest.mark.root
def test_pod_finds_the_image_as_the_lock_says(built: Container, cluster: Cluster) -> None:
    code, said = built.run("gpu07.example.com")
    assert code == 0, said
    assert built.report("gpu07.example.com")["result"]["findings"] == []
    code, said = built.run("gpu08", user="54321")  # a number that no image knows
    assert code == 0, said
    done = cluster.run("verify", "--seen", str(built.reports), "-f", "environment.lock")
    assert done.code == 0, done.out + done.err
    assert "2 nodes hold nlp-pretrain-a100, all alike" in done.out


@pytest.mark.root
def test_pod_fails_on_what_is_not_in_the_lock(built: Container) -> None:
    (module,) = built.prefix.glob("lib/python3*/site-packages/einlike.py")
    (record,) = built.prefix.glob("conda-meta/tiny-*.json")
    kept = record.read_bytes()
    record.unlink()
    try:
        code, said = built.run("gpu09")
        assert code == 1, said
        (finding,) = built.report("gpu09")["result"]["findings"]
        assert (finding["host"], finding["what"]) == ("gpu09", "tiny")
    finally:
        record.write_bytes(kept)
    assert module.exists()


@pytest.mark.root
def test_pod_fails_where_the_environment_is_not_there(built: Container) -> None:
    aside = built.prefix.with_name("aside")
    built.prefix.rename(aside)
    try:
        code, said = built.run("gpu10")
        assert code == 1
        assert "there is no environment at" in said
        failure = built.report("gpu10")["result"]["hosts"][0]["failure"]
        assert failure["cause"] == "no-environment"
    finally:
        aside.rename(built.prefix)
