"""A fleet of sixteen nodes, eight of them with a fault of their own, as people make them."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from cluster.lab import CLEAN_PATH, Cluster, Lab, Node, free_port
from envsync.demo.channel import PYTHON, Built, python_library, wheel

FAKETIME = next(Path("/usr").glob("lib*/**/faketime/libfaketime.so.1"), Path("libfaketime.so.1"))
"""Debian and Fedora put it into folders of their own."""

CLEAN = tuple(f"gpu{number:02}" for number in range(9, 17))
FAULTY = ("gpu01", "gpu02", "gpu03", "gpu04", "gpu05", "gpu06", "gpu07", "gpu08")
(USER_SITE, CPU_TORCH, EDITED, PIP_OVER_CONDA, OTHER_CUDART, BROKEN_TORCH, CLOCK, REMOVED) = FAULTY

AHEAD = 90
"""Seconds by which one clock is wrong."""

_DEPENDS = ("numpy=1.26", "pytorch=2.5.1=cuda*", "tiny", "like-conda")

# A virtual environment leaves the user's own packages out; a conda prefix has them first.
_LIKE_CONDA = (
    "import os, site, sys; user = site.getusersitepackages();"
    " os.path.isdir(user) and not sys.flags.no_user_site"
    " and sys.path.insert(sys.path.index(sitedir), user)\n"
)

# What of torch the probes ask. It loads libcudart as the real one does: by its name, so that the
# loader takes that of LD_LIBRARY_PATH if there is one, and else the environment's.
_TORCH = """
import ctypes
import os
import sys
from types import SimpleNamespace

__version__ = "2.5.1"
_CUDA = {cuda!r}


def _load(name):
    for folder in [*os.environ.get("LD_LIBRARY_PATH", "").split(":"), sys.prefix + "/lib"]:
        if folder and os.path.exists(os.path.join(folder, name)):
            return ctypes.CDLL(os.path.join(folder, name))
    raise OSError(name + ": cannot open shared object file: No such file or directory")


if _CUDA:
    _load("libcudart.so.12")

_yes, _no = (lambda: True), (lambda: False)
version = SimpleNamespace(cuda=_CUDA, hip=None, git_version="a8d6afb511a6", debug=False)
cuda = SimpleNamespace(is_available=_no, nccl=SimpleNamespace(version=lambda: (2, 21, 5)))
_parts = ("mkl", "mkldnn", "openmp")
backends = SimpleNamespace(
    cudnn=SimpleNamespace(version=lambda: 90100 if _CUDA else None),
    **dict.fromkeys(_parts, SimpleNamespace(is_available=_yes)),
)
distributed = SimpleNamespace(
    is_available=_yes,
    is_gloo_available=_yes,
    is_nccl_available=lambda: bool(_CUDA),
    is_mpi_available=_no,
)
_C = SimpleNamespace(
    _GLIBCXX_USE_CXX11_ABI=False, _cuda_getArchFlags=lambda: "sm_80 sm_86 sm_90"
)
get_num_threads = get_num_interop_threads = lambda: 4
from_numpy = lambda array: SimpleNamespace(numpy=lambda: array)
"""

_NUMPY = '__version__ = "{version}"\nzeros = lambda count: [0.0] * count\n'


def furnish(lab: Lab) -> None:
    """Put what the fleet needs into the channel and the wheelhouse."""
    cudart = {"lib/libcudart.so.12": _some_library()}
    lab.channel.add(
        Built("cuda-cudart", "12.4.127", files=cudart),
        *(
            python_library(
                "pytorch", "2.5.1", {"torch/__init__.py": _TORCH.format(cuda=cuda)},
                build=build, depends=("python", "numpy", *more),
            )
            for build, cuda, more in (
                ("cuda124_0", "12.4", ("cuda-cudart",)), ("cpu_0", None, ())
            )
        ),
        python_library("like-conda", "1.0", {"like_conda.pth": _LIKE_CONDA}),
        python_library("numpy", "1.26.4", {"numpy/__init__.py": _NUMPY.format(version="1.26.4")}),
    )  # fmt: skip
    for version in ("1.24.0", "2.1.0"):
        text = _NUMPY.format(version=version)
        wheel(lab.wheels, "numpy", version, {"numpy/__init__.py": text})


@dataclass
class Planted:
    """Running nodes by their names, and the folder to push from."""

    cluster: Cluster
    nodes: dict[str, Node]

    def stop(self) -> None:
        for node in self.nodes.values():
            node.stop()

    def plant(self) -> None:
        """Do to eight nodes what people and programs do to them; to be done after the push."""
        user_site = self.nodes[USER_SITE].home / ".local" / "lib" / PYTHON / "site-packages"
        wheels = self.nodes[USER_SITE].lab.wheels
        self.nodes[USER_SITE].pip_install(
            "train", "--no-deps", "--target", str(user_site), str(_wheel(wheels, "1.24.0"))
        )
        _conda(self.nodes[CPU_TORCH], "install", "pytorch=2.5.1=cpu_0")
        _rewrite(_site(self.nodes[EDITED]) / "tiny.py", "x = 2  # by hand\n")
        self.nodes[PIP_OVER_CONDA].pip_install("train", str(_wheel(wheels, "2.1.0")))
        _export(self.nodes[OTHER_CUDART], LD_LIBRARY_PATH=str(_other_cuda(self.cluster.folder)))
        (_prefix(self.nodes[BROKEN_TORCH]) / "lib" / "libcudart.so.12").unlink()
        _export(self.nodes[CLOCK], LD_PRELOAD=str(FAKETIME), FAKETIME=f"+{AHEAD}s")
        python = _prefix(self.nodes[REMOVED]) / "bin" / "python"
        words = [str(python), "-m", "pip", "uninstall", "-q", "-y", "einlike"]
        subprocess.run(words, check=True, capture_output=True)


def make_fleet(lab: Lab, packages: Path, folder: Path) -> Planted:
    """Sixteen running nodes without a fault.

    Those that will not be spoilt below their home have one home together, as over NFS.
    """
    furnish(lab)
    shared = {OTHER_CUDART, CLOCK, *CLEAN}
    nodes: dict[str, Node] = {}
    port = free_port()  # one for all, as on real nodes
    for number, name in enumerate((*FAULTY, *CLEAN), 1):
        home = folder / ("shared" if name in shared else f"home-{name}")
        new = not home.exists()
        address = f"127.0.9.{number}"
        shell = folder / f"{name}-shell"
        nodes[name] = Node(lab, home, address, port, folder / name, str(shell))
        _export(nodes[name])
        if new:
            nodes[name].install_conda()
            (nodes[name].root / "pkgs").rmdir()
            cache = str(nodes[name].root / "pkgs")
            subprocess.run(["cp", "-al", str(packages), cache], check=True)
        nodes[name].start()
    cluster = Cluster(list(nodes.values()), folder / "project", lab)
    (cluster.folder / "hosts.ini").write_text(
        "".join(
            f"{name} ansible_host={node.address} ansible_port={node.port}\n"
            for name, node in nodes.items()
        )
    )
    cluster.write_environment(*_DEPENDS, pip=["einlike==0.8.0"])
    return Planted(cluster, nodes)


def _export(node: Node, **variables: str) -> None:
    """Give all commands of a node these variables, as its /etc/environment would."""
    lines = [f"export {name}='{value}'" for name, value in variables.items()]
    shell = Path(node.login_shell)
    shell.write_text("\n".join(["#!/bin/sh", *lines, 'exec /bin/sh "$@"', ""]))
    shell.chmod(0o755)


def _prefix(node: Node) -> Path:
    return node.envs / "train"


def _site(node: Node) -> Path:
    return _prefix(node) / "lib" / PYTHON / "site-packages"


def _wheel(folder: Path, version: str) -> Path:
    return folder / f"numpy-{version}-py3-none-any.whl"


def _conda(node: Node, *words: str) -> None:
    command = [str(node.root / "bin" / "conda"), *words, "--yes", "--quiet", "-p"]
    env = {"HOME": str(node.home), "PATH": CLEAN_PATH}
    prefix = str(_prefix(node).resolve())
    subprocess.run([*command, prefix], env=env, check=True, capture_output=True)


def _rewrite(file: Path, text: str) -> None:
    file.unlink()  # a hard link to the package cache, which is not to be edited
    file.write_text(text)


def _other_cuda(folder: Path) -> Path:
    """A libcudart that is a library, and not the environment's."""
    other = folder / "cuda-11" / "lib64"
    other.mkdir(parents=True)
    (other / "libcudart.so.12").write_bytes(_some_library())
    return other


def _some_library() -> bytes:
    """A small library that can be loaded."""
    return next(Path("/usr/lib").glob("*-linux-gnu/libutil.so.1")).read_bytes()
