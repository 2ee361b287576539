"""The demo's three nodes, their channel, and the folder from which a user would push."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import paramiko
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from envsync.demo.channel import Channel, pip_package, python_library, python_package, wheel
from envsync.demo.conda import find_conda, install_conda
from envsync.demo.server import DemoNode

NAMES = ("node1", "node2", "node3")

# A stand-in that answers what envsync asks; the real one is 200 MB and more.
_TORCH = '''\
"""A stand-in for torch in envsync's demo."""

__version__ = "2.5.1"


class version:
    cuda = None
    hip = None


class cuda:
    @staticmethod
    def is_available():
        return False


class backends:
    class cudnn:
        @staticmethod
        def version():
            return None
'''

_ENVIRONMENT = """\
name: nlp-pretrain-demo
channels:
  - {channel}
  - nodefaults
dependencies:
  - python={python}
  - pip
  - numpy=1.26
  - pytorch=2.5
  - pip:
      - einops==0.8.0
variables:
  OMP_NUM_THREADS: "8"
"""


@dataclass(frozen=True)
class DemoCluster:
    """Where things are; `folder` has hosts.txt, environment.yml and ssh_config."""

    folder: Path
    homes: Mapping[str, Path]
    envs: Mapping[str, Mapping[str, str]]
    """The environment variables of each node."""
    conda: str
    """What the nodes use, in words."""


@contextlib.contextmanager
def running(base: Path) -> Iterator[DemoCluster]:
    """Three nodes under `base`, listening while the block lasts."""
    channel = _channel(base / "channel")
    _wheels(base / "wheels")
    client = _key(base / "id_ed25519")
    theirs = find_conda()
    homes = {name: base / name for name in NAMES}
    envs = {name: _home(home, channel, base / "wheels", theirs) for name, home in homes.items()}
    with contextlib.ExitStack() as stack:
        ports, known = {}, []
        for name in NAMES:
            host_key = _key(base / f"{name}_host_key")
            node = DemoNode(envs[name], host_key, client)
            stack.callback(node.close)
            ports[name] = node.port
            known.append(f"[127.0.0.1]:{node.port} {host_key.get_name()} {host_key.get_base64()}\n")
        (base / "known_hosts").write_text("".join(known))
        folder = _project(base, channel, ports)
        yield DemoCluster(folder, homes, envs, str(theirs or "a conda made from PyPI"))


def by_hand(cluster: DemoCluster, name: str, *words: str) -> None:
    """What somebody does on a node, past envsync."""
    prefix = _environment(cluster, name)
    subprocess.run(
        [str(prefix / "bin" / "python"), "-m", *words],
        env=cluster.envs[name],
        check=True,
        capture_output=True,
    )


def _environment(cluster: DemoCluster, name: str) -> Path:
    return next(cluster.homes[name].glob("*/envs/nlp-pretrain-demo"))


def _channel(folder: Path) -> Channel:
    channel = Channel(folder)
    channel.add(
        python_package(),
        pip_package(),
        python_library("numpy", "1.26.4", {"numpy/__init__.py": '__version__ = "1.26.4"\n'}),
        python_library(
            "pytorch",
            "2.5.1",
            {"torch/__init__.py": _TORCH},
            build="cpu_demo_0",
            depends=("python", "numpy"),
        ),
    )
    return channel


def _wheels(folder: Path) -> None:
    wheel(folder, "einops", "0.8.0", {"einops.py": '__version__ = "0.8.0"\n'})
    wheel(folder, "numpy", "2.1.0", {"numpy/__init__.py": '__version__ = "2.1.0"\n'})


def _key(file: Path) -> paramiko.PKey:
    text = Ed25519PrivateKey.generate().private_bytes(
        Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()
    )
    file.touch(mode=0o600)
    file.write_bytes(text)
    return paramiko.Ed25519Key.from_private_key_file(str(file))


def _home(home: Path, channel: Channel, wheels: Path, conda: Path | None) -> dict[str, str]:
    """Furnish a node's home; the environment in which its commands run."""
    pip = home / ".config" / "pip" / "pip.conf"
    pip.parent.mkdir(parents=True)
    pip.write_text(f"[global]\nno-index = true\nfind-links = {wheels.as_uri()}\n")
    env = {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
    if conda is None:
        install_conda(home / "miniforge3", [channel.url])
        return env
    # The machine's own conda, with everything that it writes kept in the node's home.
    own = home / ".conda"
    return env | {
        "CONDA_EXE": str(conda),
        "CONDA_ENVS_DIRS": str(own / "envs"),
        "CONDA_PKGS_DIRS": str(own / "pkgs"),
    }


def _project(base: Path, channel: Channel, ports: Mapping[str, int]) -> Path:
    """What a user would have: the three files, and `.envsync/` later."""
    folder = base / "project"
    folder.mkdir()
    python = ".".join(python_package().version.split(".")[:2])
    (folder / "hosts.txt").write_text("# three nodes of this machine\nnode[1-3]\n")
    text = _ENVIRONMENT.format(channel=json.dumps(channel.url), python=python)
    (folder / "environment.yml").write_text(text)
    lines = [f"Host {name}\n  HostName 127.0.0.1\n  Port {port}\n" for name, port in ports.items()]
    lines.append(
        f"Host *\n  IdentityFile {_word(base / 'id_ed25519')}\n  IdentitiesOnly yes\n"
        f"  UserKnownHostsFile {_word(base / 'known_hosts')}\n"
    )
    (folder / "ssh_config").write_text("".join(lines))
    return folder


def _word(path: Path) -> str:
    """A path as one word of ssh_config, which knows double quotes."""
    return f'"{path}"' if " " in str(path) else str(path)
