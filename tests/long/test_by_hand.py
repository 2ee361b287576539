"""What envsync pushes is what `conda env create` makes of the same file on the same node."""

from __future__ import annotations

import codecs
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cluster.conftest import Maker
from cluster.lab import CLEAN_PATH, Cluster, Node
from envsync.demo.channel import Built, Channel, pip_package, python_package, wheel

ENCODINGS = {codecs.BOM_UTF16_BE: "utf-16-be", codecs.BOM_UTF16_LE: "utf-16-le"}
CORPUS = Path(__file__).parents[1] / "corpus"
FILES = {
    "yaml": (
        "anchor-alias", "utf8-bom", "utf16-be-bom", "crlf", "flow-style", "merge-key",
        "comments-everywhere",
    ),
    "specs": (
        "bracket", "build-exact", "build-glob", "blanks-name-version-build", "selector-comments",
        "package-underscore-dot", "upper-case-package", "variables-text",
    ),
    "versions": (
        "channel-prefix", "version-epoch", "version-or", "version-not", "version-compatible",
        "spec-over-two-lines",
    ),
    "pip": ("pip-marker", "pip-extras", "pip-version-forms"),
}  # fmt: skip
CONDA = (
    ("numpy", "1.24.0", "py311_0"),
    ("numpy", "1.26.0", "py311_0"),
    ("numpy", "1.26.4", "py311_0"),
    ("numpy", "1.26.4", "py311h64a7726_0"),
    ("numpy", "2.1.0", "py311_0"),
    ("scipy", "1.8.1", "py311_0"),
    ("scipy", "1.10.1", "py311_0"),
    ("scipy", "1.11.4", "py311_0"),
    ("pytorch", "2.5.1", "cpu_py311_0"),
    ("pytorch", "2.5.1", "cuda124_py311_0"),
    ("blas", "1.0", "mkl"),
    ("blas", "1.1", "openblas"),
    ("x264", "1!164.3095", "h166bdaf_2"),
    ("x264", "2.0", "0"),
    ("pyyaml", "6.0", "0"),
    ("r-base", "4.3", "0"),
    ("_libgcc_mutex", "0.1", "main"),
    ("ruamel.yaml", "0.18", "0"),
    ("backports.zoneinfo", "0.2.1", "0"),
    ("libgcc-ng", "13.2", "0"),
    ("m2w64-gcc", "5.3", "0"),
)
WHEELS = (
    ("tqdm", "4.66.1"), ("tqdm", "4.67.0"), ("a", "1.0"), ("a", "2.0"), ("b", "1.5"), ("b", "2.0"),
    ("c", "1.4.2"), ("c", "2.0"), ("d", "1.4"), ("d", "1.5"), ("e", "1.0+local"), ("f", "1.2"),
    ("f", "2.0"), ("g", "1.0"), ("numpy", "1.26"), ("triton", "3.0"), ("transformers", "4.44.2"),
    ("dask", "2024.1"),
)  # fmt: skip


# The channel's python is the one that runs this, and the corpus asks for 3.11: both conda and
# envsync get the file with the minor version that is here.
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.mark.timeout(900)
@pytest.mark.parametrize("files", FILES.values(), ids=FILES)
def test_files_of_the_corpus_give_what_conda_gives_by_hand(
    make_cluster: Maker, tmp_path: Path, files: Sequence[str]
) -> None:
    cluster = make_cluster(1)
    (node,) = cluster.nodes
    serve(node, tmp_path)
    differences = [text for file in files for text in compared(cluster, node, f"{file}.yml")]
    assert not differences, "\n".join(differences)


def serve(node: Node, folder: Path) -> None:
    """Channels `conda-forge` and `pytorch`, and an index, that have what the files ask for."""
    forge, pytorch = Channel(folder / "conda-forge"), Channel(folder / "pytorch")
    forge.add(python_package(), pip_package(), *map(built, CONDA))
    pytorch.add(built(("pytorch", "2.1.0", "py311_cpu_0")))
    condarc = node.root / ".condarc"
    condarc.write_text(
        f"channel_alias: {folder.as_uri()}\ndefault_channels: [conda-forge]\n"
        "channels: [conda-forge]\nsolver: classic\n"
    )
    for name, version in WHEELS:
        wheel(folder / "wheels", name, version, {f"{name.lower()}_.py": "x = 1\n"})
    pip = node.home / ".config" / "pip" / "pip.conf"
    pip.write_text(f"[global]\nno-index = true\nfind-links = {folder / 'wheels'}\n")


def built(words: tuple[str, str, str]) -> Built:
    name, version, build = words
    return Built(name, version, build, files={f"share/of/{name}.txt": f"{version} {build}\n"})


def compared(cluster: Cluster, node: Node, file: str) -> list[str]:
    """What differs for one file, a line each."""
    cluster.lock.unlink(missing_ok=True)
    source = cluster.folder / "environment.yml"
    source.write_bytes(for_this_python((CORPUS / file).read_bytes()))
    pushed = cluster.run("push", "hosts.txt")
    prefix = node.root / "by-hand" / file
    by_hand = conda(node, "env", "create", "--quiet", "--prefix", prefix, "--file", source)
    if pushed.code or by_hand.returncode:
        said = pushed.out + pushed.err if pushed.code else by_hand.stdout + by_hand.stderr
        return [f"{file}: push ended with {pushed.code}, conda with {by_hand.returncode}: {said}"]
    ours, theirs = rows(node, node.envs / "train"), rows(node, prefix)
    assert theirs, f"{file}: conda made an empty environment"
    lines = [f"{file}: only pushed: {row}" for row in ours if row not in theirs]
    return lines + [f"{file}: only by hand: {row}" for row in theirs if row not in ours]


def for_this_python(raw: bytes) -> bytes:
    """The file, in its own encoding, with another Python where that is not 3.11."""
    encoding = next((each for mark, each in ENCODINGS.items() if raw.startswith(mark)), "utf-8")
    return raw.decode(encoding).replace("python=3.11", f"python={PYTHON}").encode(encoding)


def rows(node: Node, prefix: Path) -> Sequence[dict[str, Any]]:
    """`conda list --json`: name, version, build, channel, of conda's and pip's packages."""
    found: list[dict[str, Any]] = json.loads(conda(node, "list", "-p", prefix, "--json").stdout)
    return found


def conda(node: Node, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """What a person starts by hand."""
    return subprocess.run(
        [node.root / "bin" / "conda", *words],
        env={"HOME": str(node.home), "PATH": CLEAN_PATH},
        capture_output=True,
        text=True,
        check=False,
    )
