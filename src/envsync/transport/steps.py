"""Groups of equal calls as steps of a job: one srun for all, and smaller ones where need be."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from envsync.errors import InputError, LinkLostError
from envsync.hostnames import fold_names
from envsync.slurmnodes import job_nodes, temporary_folder
from envsync.transport.gather import Call
from envsync.transport.sbcast import Delivery, Site, is_large
from envsync.transport.slurmtools import ask, missing, outside
from envsync.transport.step import Launch, Step, Unstarted, unlaunched

_PATH = "/usr/local/bin:/usr/bin:/bin"
"""As sshd has it: that of this machine is no business of the nodes."""
_PASSED_ON = "HOME,USER,LOGNAME,SHELL,LANG"


@dataclass(frozen=True)
class Part:
    """Calls to be made together, and how."""

    calls: Sequence[Call]
    large: bool
    """Whether their input is sent as files."""


def parts(left: Unstarted, *, large: bool) -> Sequence[Part]:
    """How to go on after a step that was not begun, in an order that makes progress.

    Nodes that were ready go on together, and do not wait for the others again. Where none was
    ready one of them may be to blame: each half is tried by itself.
    """
    made = [Part(left.here, large)] if left.here else []
    made += [Part([call], large=False) for call in left.unfit]
    if left.here or left.unfit:
        return [*made, *([Part(left.missing, large)] if left.missing else [])]
    middle = (len(left.missing) + 1) // 2
    return [Part(half, large) for half in (left.missing[:middle], left.missing[middle:]) if half]


class Steps:
    """The steps of one run."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._env = outside(environ)
        self._lock = threading.Lock()
        self._running: set[Step] = set()
        self._slow: set[str] = set()
        """Nodes that others have waited for in vain; they have steps of their own now."""
        self._base = ""
        self._closed = False

    def carry(self, calls: Sequence[Call]) -> None:
        """Settle every call of a group of equal ones."""
        large = is_large(calls[0].command)
        quick = [call for call in calls if call.node not in self._slow]
        slow = [call for call in calls if call.node in self._slow]
        self._all([Part(group, large) for group in (quick, slow) if group])

    def close(self) -> None:
        """End what runs."""
        self._closed = True
        with self._lock:
            running = tuple(self._running)
        for step in running:
            step.stop()
        for step in running:
            step.cut()

    def _all(self, todo: Sequence[Part]) -> None:
        """All at the same time."""
        threads = [
            threading.Thread(target=self._one, args=(part,), name="envsync-step", daemon=True)
            for part in todo[1:]
        ]
        for thread in threads:
            thread.start()
        for part in todo[:1]:
            self._one(part)
        for thread in threads:
            thread.join()

    def _one(self, part: Part) -> None:
        try:
            self._step(part)
        except BaseException as error:  # noqa: BLE001 (raised again where it was asked for)
            for call in part.calls:
                call.fail(error)

    def _step(self, part: Part) -> None:
        with contextlib.ExitStack() as stack:
            delivery = self._delivery(part, stack) if part.large else None
            if part.large and delivery is None:
                left: Unstarted | None = Unstarted((), (), part.calls)
            else:
                left = self._run(part.calls, delivery)
        if left is not None:
            self._go_on(part, left)

    def _delivery(self, part: Part, stack: contextlib.ExitStack) -> Delivery | None:
        """None: there is no room on this machine for the files; they go through srun, then."""
        site = Site(part.calls[0].job, self._folder(), self._env)
        try:
            return stack.enter_context(Delivery(part.calls[0].command, site))
        except OSError:
            return None

    def _run(self, calls: Sequence[Call], delivery: Delivery | None) -> Unstarted | None:
        step = Step(calls, Launch(srun(calls[0].job, [c.node for c in calls]), self._env, delivery))
        with self._lock:
            self._running.add(step)
        try:
            if self._closed:
                step.stop()
            return step.run()
        except OSError as error:
            raise LinkLostError("launch", missing("srun", error).message) from error
        finally:
            with self._lock:
                self._running.discard(step)

    def _go_on(self, part: Part, left: Unstarted) -> None:
        """What was not begun is tried in smaller parts, as long as that may help."""
        if left.here:
            self._slow.update(call.node for call in left.missing)
        elif left.missing:
            gone = _gone(part.calls[0].job)
            if gone or len(part.calls) == 1:
                for call in left.missing:
                    call.fail(gone or unlaunched(call.node, left.said))
                return
        self._all(parts(left, large=part.large))

    def _folder(self) -> str:
        if not self._base:
            try:
                self._base = temporary_folder(ask)
            except InputError:
                self._base = "/tmp"  # noqa: S108 (a folder of our own is made in it)
        return self._base


def _gone(job: str) -> LinkLostError | None:
    """Why nothing can be run in the job; None: it is there."""
    try:
        job_nodes(ask, job)
    except InputError as error:
        return LinkLostError("launch", error.message, hint=error.hint)
    return None


def srun(job: str, nodes: Sequence[str]) -> Sequence[str]:
    """The words for a step with one task on each of the nodes, all but what it runs."""
    return [
        "srun",
        f"--jobid={job}",
        f"--nodelist={fold_names(nodes)}",
        f"--nodes={len(nodes)}",
        f"--ntasks={len(nodes)}",
        "--overlap",  # whatever else runs in the job
        "--mpi=none",
        "--cpu-bind=none",
        "--propagate=NONE",  # limits are those of the node
        "--quiet",
        "--label",
        "--kill-on-bad-exit=0",  # each node ends for itself,
        "--wait=0",  # however long the others take,
        "--no-kill",  # and whatever becomes of them
        "--chdir=/",  # the folder we stand in may not be there
        f"--export={_PASSED_ON},PATH={_PATH},ENVSYNC_JOB={job}",
        "/bin/sh",
        "-c",
    ]


def closed() -> LinkLostError:
    """For a command whose connection is there no more."""
    return LinkLostError(
        "link-lost", "the connection was closed", hint="run the same command again"
    )
