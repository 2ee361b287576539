"""An allocation of Slurm for one run: made when it is needed, given back however the run ends."""

from __future__ import annotations

import contextlib
import select
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence

from envsync.errors import ConnectError
from envsync.hostnames import fold_names
from envsync.slurmnodes import complaint
from envsync.transport.piped import end
from envsync.transport.slurmtools import missing, outside

_TICK = 0.2
_GIVING_BACK = 10.0
"""Seconds that salloc may take for it."""


class Allocation:
    """`salloc` with a program that ends when our end of its pipe does.

    So a run that is killed gives the nodes back as well: nothing of it is left to do so.
    """

    def __init__(self, nodes: Sequence[str], partition: str, environ: Mapping[str, str]) -> None:
        """Ask for `nodes`, of `partition` if that is no empty text. Raises InputError."""
        self._granted = False
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 (as long as the process)
        argv = ["salloc", "--no-bell", "--job-name=envsync", f"--nodelist={fold_names(nodes)}"]
        argv += [f"--nodes={len(nodes)}", f"--ntasks={len(nodes)}", "--ntasks-per-node=1"]
        argv += [f"--partition={partition}"] if partition else []
        argv += ["/bin/sh", "-c", 'echo "$SLURM_JOB_ID"; exec cat >/dev/null']
        try:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                env=outside(environ),
                start_new_session=True,  # a ^C is ours to pass on
            )
        except OSError as error:
            self._said.close()
            raise missing("salloc", error) from error

    @property
    def ended(self) -> bool:
        """Whether the nodes are ours no longer: cancelled, or over its time."""
        return self._process.poll() is not None

    def job(self, patience: float) -> str:
        """The job's id, once it has the nodes. Raises ConnectError after `patience` seconds."""
        assert self._process.stdout is not None  # noqa: S101 (Popen was given PIPE)
        with self._process.stdout as stdout:
            deadline = time.monotonic() + patience
            while time.monotonic() < deadline:
                if not select.select([stdout], [], [], _TICK)[0]:
                    continue
                if job := stdout.readline().strip():
                    self._granted = True
                    return str(job.decode())
                raise self._refused()
        self._said.seek(0)
        granted = b"Granted" in self._said.read()
        self.close()
        if granted:  # but its prologs have not ended, or a node of it does not answer
            raise ConnectError(
                "no-allocation",
                f"Slurm has given the nodes, but not all were ready within {patience:.0f} s",
                hint="a prolog may take long, or a slurmd may not answer: see `sinfo -N`; or wait"
                " longer with --connect-timeout",
            )
        raise ConnectError(
            "no-allocation",
            f"Slurm has not given the nodes within {patience:.0f} s: they are busy",
            hint="wait longer with --connect-timeout; or run it inside a job that has them"
            " (`srun --pty`, or HOSTS as slurm:job=ID)",
        )

    def close(self) -> None:
        """Give the nodes back; what runs there is ended by Slurm."""
        stdin = self._process.stdin
        assert stdin is not None  # noqa: S101 (Popen was given PIPE)
        with contextlib.suppress(OSError):
            stdin.close()
        if not self._granted:  # the program at the pipe's other end was not started yet
            end(self._process)
        try:
            self._process.wait(_GIVING_BACK)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._said.close()

    def _refused(self) -> ConnectError:
        self._process.wait()  # it has closed its output
        self._said.seek(0)
        said = self._said.read().decode("utf-8", "replace")
        self.close()
        return ConnectError(
            "no-allocation",
            f"Slurm does not give the nodes: {complaint(said) or 'salloc ended'}",
            hint="does `salloc --nodelist=NODE true` work? SALLOC_ACCOUNT, SALLOC_PARTITION and"
            " the like count here as well",
            output=said,
        )
