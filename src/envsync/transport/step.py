"""One srun for the same command on many nodes: each node's answer told apart, and its deadline.

Nothing runs anywhere before all tasks have said that they are there. So what does not start on
some nodes has run on none, and can be asked of the others again.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import IO

from envsync.errors import HostError, LinkLostError
from envsync.slurmnodes import complaint
from envsync.transport.answer import REFUSED, Answer
from envsync.transport.gather import Call
from envsync.transport.labels import Here, Labels, Voice
from envsync.transport.piped import end, write_some
from envsync.transport.sbcast import Delivery
from envsync.transport.shell import Exchange, spread, step_wire

_CHUNK = 1 << 18
_TICK = 0.2
_STRAGGLERS = 3.0
"""Seconds that nodes which are there wait for the others, or twice what the first one took."""
_PER_NODE = 0.005
"""More of them, for Slurm's tree."""
_NOBODY = 60.0
"""Seconds for the first to be there; srun gives up on a dead slurmd after ten to thirty."""
_GOING = 1.0
"""Seconds for a step to end by itself."""


@dataclass(frozen=True)
class Unstarted:
    """A step of which nothing has run on any node."""

    here: Sequence[Call]
    """Nodes that were ready."""
    missing: Sequence[Call]
    """Those of which nothing was heard."""
    unfit: Sequence[Call] = ()
    """Those to which the files could not be sent."""
    said: str = ""
    """In Slurm's words."""


@dataclass(frozen=True)
class Launch:
    """How a step is started."""

    argv: Sequence[str]
    """All of srun's words but the program's."""
    env: Mapping[str, str]
    delivery: Delivery | None = None
    """Sends the command's input; None: that goes through srun."""


class Step:
    """`run` it once, in any thread; `stop` or `cut` it from any other."""

    def __init__(self, calls: Sequence[Call], launch: Launch) -> None:
        self._calls = {call.node: call for call in calls}
        self._launch = launch
        whole = spread({call.node: call.command for call in calls})
        self._folder = launch.delivery.folder() if launch.delivery else ""
        """On the nodes, for files."""
        if launch.delivery:
            whole = replace(whole, stdin=b"")
        alone = calls[0].on_line if len(calls) == 1 else None
        self._exchange = Exchange(whole, alone, lead=b"go\n")
        self._labels = Labels(self._exchange.mark.encode())
        self._nodes: dict[int, str] = {}
        """The nodes by the numbers of their tasks."""
        self._here: dict[str, Here] = {}
        self._first = 0.0
        """Seconds until the first was there."""
        self._answers: dict[str, Answer] = {}
        """Of those whose command has begun and not ended."""
        self._settled: set[str] = set()
        """Those whose command has ended."""
        self._codes: dict[str, int] = {}
        self._over: set[str] = set()
        """Those whose standard output has ended."""
        self._begun = False
        self._cut = threading.Event()
        self._ended = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None

    def run(self) -> Unstarted | None:
        """None: it has run, and every call is settled. Raises OSError where there is no srun."""
        argv = [*self._launch.argv, step_wire(self._exchange, self._folder)]
        try:
            with subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._launch.env,
                start_new_session=True,  # a ^C is ours to pass on
            ) as process:
                self._process = process
                try:
                    return self._attend(process)
                finally:
                    self._let_go(process)
        finally:
            self._exchange.feed.close()
            self._ended.set()

    def stop(self) -> None:
        """Have it end on all nodes soon."""
        self._cut.set()
        if self._launch.delivery:
            self._launch.delivery.cut.set()

    def cut(self) -> None:
        """End it on all nodes. Returns when that is done, or after a second or two."""
        self.stop()
        self._ended.wait(2 * _GOING)
        if (process := self._process) is not None and process.poll() is None:
            end(process)

    def _attend(self, process: subprocess.Popen[bytes]) -> Unstarted | None:
        """Move bytes both ways until all that was begun has ended."""
        assert process.stdin is not None  # noqa: S101 (Popen was given PIPE)
        assert process.stdout is not None  # noqa: S101
        assert process.stderr is not None  # noqa: S101
        labels = self._labels
        feeds = {process.stdout: labels.feed_out, process.stderr: labels.feed_err}
        os.set_blocking(process.stdin.fileno(), False)
        with selectors.DefaultSelector() as selector:
            for stream in feeds:
                selector.register(stream, selectors.EVENT_READ)
            while feeds and not self._cut.is_set():
                for key, _ in selector.select(_TICK):
                    if key.fileobj is process.stdin:
                        self._write(selector, process.stdin)
                    elif data := os.read(key.fd, _CHUNK):
                        for number, voice in feeds[key.fileobj](data).items():  # type: ignore[index]
                            self._hear(number, voice)
                    else:
                        selector.unregister(key.fileobj)
                        del feeds[key.fileobj]  # type: ignore[arg-type]
                if not self._begun and len(self._here) == len(self._calls):
                    if unfit := self._files_sent():
                        return self._unstarted(unfit)
                    self._begin()
                    selector.register(process.stdin, selectors.EVENT_WRITE)
                if self._expired():
                    break
        return self._broken(process)

    def _hear(self, number: int, voice: Voice) -> None:
        if voice.here is not None and voice.here.node in self._calls:
            self._nodes[number] = voice.here.node
            self._here[voice.here.node] = voice.here
            self._first = self._first or self._exchange.seconds
        node = self._nodes.get(number, "")
        answer = self._answers.get(node)
        if answer is None:
            return
        answer.feed_stdout(voice.out)
        answer.feed_stderr(voice.err)
        if voice.exit_code is not None:
            self._codes[node] = voice.exit_code
        if voice.over:
            self._over.add(node)
        if node in self._codes and node in self._over:
            self._settle(node)

    def _settle(self, node: str) -> None:
        answer, call = self._answers.pop(node), self._calls[node]
        self._settled.add(node)
        try:
            call.answer(answer.finish(self._codes[node]))
        except HostError as error:
            call.fail(unlaunched(node, error.output) if error.cause == REFUSED else error)

    def _expired(self) -> bool:
        """Whether nobody waits any more, or some have waited for others long enough."""
        for node, answer in list(self._answers.items()):
            call = self._calls[node]
            if answer.overdue:
                call.fail(answer.timed_out())
            if call.result.done():
                del self._answers[node]
        if self._begun:
            return not self._answers
        return self._too_late or all(call.result.done() for call in self._calls.values())

    @property
    def _too_late(self) -> bool:
        waited = self._exchange.seconds
        if not self._here:
            return waited > _NOBODY
        patience = max(_STRAGGLERS + _PER_NODE * len(self._calls), 2 * self._first)
        return waited > self._first + patience

    def _files_sent(self) -> frozenset[str]:
        """Send the files to all nodes; those that did not get them."""
        if self._launch.delivery is None:
            return frozenset()
        roomless = frozenset(node for node, here in self._here.items() if not here.room)
        if roomless:
            return roomless
        return self._launch.delivery.send(self._number, self._folder, tuple(self._calls.values()))

    @property
    def _number(self) -> str:
        """The step's in its job, once anybody is there."""
        return next(iter(self._here.values())).step

    def _begin(self) -> None:
        self._begun = True
        for node, call in self._calls.items():
            limit = call.command.timeout
            self._answers[node] = Answer(self._exchange.mark, limit, call.on_line)

    def _write(self, selector: selectors.BaseSelector, stdin: IO[bytes]) -> None:
        write_some(stdin, self._exchange.feed)
        if not self._exchange.feed.pending:
            selector.unregister(stdin)
            if self._exchange.close_input:
                stdin.close()

    def _broken(self, process: subprocess.Popen[bytes]) -> Unstarted | None:
        """What is to be said when srun has ended before its tasks, or is to end."""
        if not self._begun:
            return self._unstarted(frozenset())
        code = process.poll()
        said = complaint("\n".join(self._labels.said)) or f"srun ended with exit code {code}"
        if self._cut.is_set():
            said = "it was closed"
        for node, answer in list(self._answers.items()):
            if node in self._codes:
                self._settle(node)
            else:
                self._calls[node].fail(answer.lost(said))
        return None

    def _unstarted(self, unfit: frozenset[str]) -> Unstarted:
        if self._cut.is_set():
            for call in self._calls.values():
                call.fail(self._exchange.lost("it was closed"))
        calls = [call for call in self._calls.values() if not call.result.done()]
        return Unstarted(
            [call for call in calls if call.node in self._here and call.node not in unfit],
            [call for call in calls if call.node not in self._here],
            [call for call in calls if call.node in unfit],
            complaint("\n".join(self._labels.said)),
        )

    def _let_go(self, process: subprocess.Popen[bytes]) -> None:
        """The end of its input ends what has not begun, and what has a tether."""
        assert process.stdin is not None  # noqa: S101 (Popen was given PIPE)
        with contextlib.suppress(OSError):
            process.stdin.close()
        if self._begun and self._launch.delivery and len(self._settled) < len(self._calls):
            self._launch.delivery.cancel(self._number)
        deadline = time.monotonic() + _GOING
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        if process.poll() is None:
            end(process)


def unlaunched(node: str, said: str) -> LinkLostError:
    """For a node on which nothing was begun, as far as one can see."""
    return LinkLostError(
        "launch",
        f"Slurm has not run it there: {complaint(said) or 'srun ended'}",
        hint=f"does `srun --overlap --jobid=ID --nodelist={node} true` work, with the id of a job"
        " there?",
        output=said,
    )
