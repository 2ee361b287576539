"""Slurm on this machine: munge, a controller, and a slurmd for each of its nodes.

All of it lies in one folder and listens on ports of its own. Tasks find their node's own home
by a TaskProlog, since all nodes are this machine and this user. Where root starts them, each
node has a folder for temporary files that others do not see under the same name.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from cluster.lab import CLEAN_PATH, Cluster, Lab, Ran, free_port
from envsync.demo.conda import install_conda

NAMES = ("n1", "n2", "n3", "n4")
_CONFIG = """\
ClusterName=lab
SlurmctldHost={hostname}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
ReturnToService=2
KillWait=2
SlurmdParameters=config_overrides
TmpFS={folder}/tmp
TaskProlog={folder}/task_prolog.sh
Prolog={folder}/prolog.sh
PrologFlags=Alloc
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmdSpoolDir={folder}/spool/%n
StateSaveLocation={folder}/state
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
{nodes}
PartitionName=gpu Nodes={names} Default=YES MaxTime=INFINITE State=UP
PartitionName=small Nodes=n[1-2] MaxTime=INFINITE State=UP
"""
_NODE = "NodeName={name} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} CPUs=8"
_TASK_PROLOG = """\
#!/bin/sh
home={folder}/homes/$SLURMD_NODENAME
[ ! -e {folder}/shared ] || home={folder}/homes/n1
echo "export HOME=$home"
"""
_PROLOG = """\
#!/bin/sh
# Runs what a test has put beside this, as root does on a node of its own, and notes how long it
# took, in milliseconds, and the processor time of its children, as `times` prints it.
[ -x {folder}/prolog ] || exit 0
HOME={folder}/homes/$SLURMD_NODENAME ENVSYNC_DEFAULTS={folder}/prolog.conf
export HOME ENVSYNC_DEFAULTS
began=$(date +%s%N)
{folder}/prolog
rc=$?
took=$((($(date +%s%N) - began) / 1000000))
{{ echo "$SLURMD_NODENAME $rc $took"; times; }} >>{folder}/prolog.log
exit $rc
"""


class Slurm:
    """The daemons; `start` them, and `stop` them whatever has happened."""

    def __init__(self, folder: Path, lab: Lab, names: Sequence[str] = NAMES) -> None:
        """`names` begin with those of four nodes."""
        self.names = names
        self.folder = folder
        self.lab = lab
        self.config = folder / "slurm.conf"
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        for name in ("state", "spool", "log", "tmp", "local"):
            (self.folder / name).mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        for name, text in (("task_prolog.sh", _TASK_PROLOG), ("prolog.sh", _PROLOG)):
            self.write_program(name, text.format(folder=self.folder))
        ports = iter(_free_ports(len(self.names) + 1))
        self.config.write_text(
            _CONFIG.format(
                hostname=socket.gethostname().partition(".")[0],
                port=next(ports),
                user=getpass.getuser(),
                folder=self.folder,
                nodes="\n".join(_NODE.format(name=name, port=next(ports)) for name in self.names),
                names=",".join(self.names),
            )
        )
        files = {"key-file": key.name, "socket": "munge.socket", "pid-file": "munged.pid"}
        files |= {"log-file": "log/munged.log", "seed-file": "munged.seed"}
        words = [f"--{option}={self.folder / name}" for option, name in files.items()]
        self._run("munged", "munged", "--foreground", "--force", "--num-threads=2", *words)
        self._await((self.folder / "munge.socket").exists)
        self._run("slurmctld", "slurmctld", "-D", "-f", str(self.config))
        self._await(lambda: self._says("scontrol", "ping").endswith("is UP"))
        for name in self.names:
            self.start_node(name)
        self._await(self._all_idle)

    def start_node(self, name: str) -> None:
        words = ["slurmd", "-D", "-N", name, "-f", str(self.config)]
        if os.geteuid() == 0:
            self.local(name).mkdir(exist_ok=True)
            mount = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
            places = [str(self.local(name)), str(self.folder / "tmp")]
            words = ["unshare", "--mount", "/bin/sh", "-c", mount, "sh", *places, *words]
        self._run(name, *words)

    def local(self, name: str) -> Path:
        """What the node sees as its folder for temporary files."""
        return self.folder / "local" / name

    def stop_node(self, name: str) -> None:
        """As if the node had lost its power, as far as others can tell."""
        daemon = self._daemons.pop(name)
        daemon.kill()
        daemon.wait()

    def stop(self) -> None:
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            subprocess.run(["scancel", "--user", getpass.getuser()], timeout=20, check=False)
            self.wait_for_empty_queue()
        for name in reversed(list(self._daemons)):
            daemon = self._daemons.pop(name)
            daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        for pid in self.commands():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def write_program(self, name: str, text: str) -> Path:
        file = self.folder / name
        file.write_text(text)
        file.chmod(0o755)
        return file

    def restart_nodes(self) -> None:
        """Bring back what a test has stopped."""
        for name in self.names:
            if name not in self._daemons:
                self.start_node(name)

    def mend(self) -> None:
        """Bring back what a test has drained."""
        if not self._all_idle():
            nodes = ",".join(self.names)
            for state in ("down", "resume"):
                words = [f"nodename={nodes}", f"state={state}", "reason=mend"]
                subprocess.run(["scontrol", "update", *words], capture_output=True, check=False)
        self._await(self._all_idle)

    def mount(self, name: str, options: str) -> None:
        """Give the node another folder for temporary files. Needs root."""
        words = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.folder / "tmp")]
        subprocess.run([*self._inside(name), *words], check=True)

    def unmount(self, name: str) -> None:
        """The one that it had before; a step that is about to end may still look at it."""
        subprocess.run(
            [*self._inside(name), "umount", "--lazy", str(self.folder / "tmp")], check=True
        )

    def _inside(self, name: str) -> list[str]:
        return ["nsenter", f"--target={self._daemons[name].pid}", "--mount"]

    def commands(self, name: str = "") -> list[int]:
        """The pids of what runs with the home of one of the nodes, or of this one."""
        mark = f"HOME={self.folder}/homes/{name and name + chr(0)}".encode()
        found = []
        for file in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if mark in file.read_bytes():
                    found.append(int(file.parent.name))
        return found

    def kill_commands(self, name: str) -> None:
        """All that runs for steps on the node, and what watches over it."""
        for pid in self.commands(name):
            with contextlib.suppress(OSError):
                status = Path(f"/proc/{pid}/status").read_text()
                parent = int(status.partition("PPid:")[2].split()[0])
                if Path(f"/proc/{parent}/comm").read_text().startswith("slurmstepd"):
                    os.kill(parent, signal.SIGKILL)
                os.kill(pid, signal.SIGKILL)

    def home(self, node: str) -> Path:
        return self.folder / "homes" / node

    def install_conda(self, node: str, packages: Path) -> None:
        """A conda in the node's home, with everything unpacked that the tests install."""
        root = self.home(node) / "miniforge3"
        install_conda(root, (self.lab.channel.url,))
        (root / "pkgs").rmdir()
        subprocess.run(["cp", "-al", str(packages), str(root / "pkgs")], check=True)
        pip = self.home(node) / ".config" / "pip" / "pip.conf"
        pip.parent.mkdir(parents=True)
        pip.write_text(f"[global]\nno-index = true\nfind-links = {self.lab.wheels}\n")

    def pip_install(self, node: str, name: str, *words: str) -> None:
        """What a person does by hand on a node."""
        python = self.home(node) / "miniforge3" / "envs" / name / "bin" / "python"
        env = {"HOME": str(self.home(node)), "PATH": CLEAN_PATH}
        subprocess.run([str(python), "-m", "pip", "install", "-q", *words], env=env, check=True)

    def project(self, folder: Path) -> Project:
        return Project([], folder, self.lab)

    def scontrol(self, *words: str) -> None:
        subprocess.run(["scontrol", *words], check=True)

    @contextlib.contextmanager
    def job(self, *words: str, running: bool = True) -> Iterator[str]:
        """A batch job that sleeps meanwhile; its id."""
        job = self.batch("sleep 120", *words)
        try:
            if running:
                self._await(lambda: f"{job} wrap RUNNING" in self.queue())
            yield job
        finally:
            subprocess.run(["scancel", job], check=True)

    def batch(self, command: str, *words: str) -> str:
        """Submit a job; its id."""
        fixed = ["sbatch", "--parsable", "--output=/dev/null", f"--wrap={command}"]
        done = subprocess.run([*fixed, *words], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def queue(self) -> str:
        """A line for each job: id, name, state, nodes."""
        return self._says("squeue", "--noheader", "--format=%i %j %T %N")

    def wait_for_empty_queue(self, patience: float = 20) -> str:
        """What is still in the queue by then: empty, if all is well."""
        deadline = time.monotonic() + patience
        while queue := self.queue():
            if time.monotonic() > deadline:
                break
            time.sleep(0.1)
        return queue

    def state(self, node: str) -> str:
        """State and reason, as sinfo shows them."""
        words = ["--Node", "--noheader", "--partition=gpu", f"--nodes={node}", "--format=%t %E"]
        return self._says("sinfo", *words)

    def _all_idle(self) -> bool:
        states = self._says("sinfo", "--Node", "--noheader", "--partition=gpu", "--format=%t")
        return states.split() == ["idle"] * len(self.names)

    def _says(self, *words: str) -> str:
        done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
        return done.stdout.strip()

    def _run(self, name: str, *words: str) -> None:
        with (self.folder / "log" / f"{name}.out").open("ab") as log:
            self._daemons[name] = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={"PATH": f"/usr/sbin:{CLEAN_PATH}", "SLURM_CONF": str(self.config)},
            )

    def _await(self, ready: object) -> None:
        assert callable(ready)
        for _ in range(300):
            if ready():
                return
            time.sleep(0.1)
        logs = sorted((self.folder / "log").glob("*.out"))
        raise AssertionError("\n".join(f"{log.name}\n{log.read_text()[-2000:]}" for log in logs))


class Project(Cluster):
    """A folder to push from, to nodes of Slurm."""

    def write_known_hosts(self) -> None:
        """Slurm has no use for them."""

    def command(self, *words: str) -> list[str]:
        return [*super().command(*words)[: 3 + len(words)], "--launcher", "slurm"]

    def inside(self, allocation: Sequence[str], *words: str) -> Ran:
        """The same as a job step's child: in an allocation that salloc's words describe."""
        done = subprocess.run(
            ["salloc", "--quiet", *allocation, *self.command(*words)],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
            env=self.environ,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    @property
    def environ(self) -> Mapping[str, str]:
        return {**os.environ, "COLUMNS": "200"}


def _free_ports(count: int) -> list[int]:
    ports: dict[int, None] = {}
    while len(ports) < count:
        ports[free_port()] = None
    return list(ports)
