"""envsync demo: the whole job on this machine, with nothing faked but the size of torch."""

from __future__ import annotations

import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from rich.console import Console
from rich.text import Text

from envsync.demo.cluster import DemoCluster, by_hand, running
from envsync.errors import EnvsyncError, ExitCode
from envsync.render.console import console
from envsync.render.envelope import envelope


@dataclass(frozen=True)
class Step:
    """One command of the demo, as it was run."""

    command: str
    exit_code: int
    expected: int


def demo(*, keep: bool, as_json: bool) -> int:
    """Push, drift, verify, diff, repair on three loopback nodes; removes all of it again."""
    signal.signal(signal.SIGTERM, _as_interrupt)
    out = console(stderr=as_json)
    base = Path(tempfile.mkdtemp(prefix="envsync-demo-"))
    started = time.monotonic()
    try:
        out.print("Making three SSH nodes, a conda for each, and a channel ...")
        with running(base) as cluster:
            steps = _Story(out, cluster, as_json=as_json).tell()
        seconds = round(time.monotonic() - started)
        out.print(Text(f"The whole job took {seconds} s.", "bold"))
    finally:
        if keep:
            out.print(f"Everything is in {base}")
        else:
            _remove(base)
    if as_json:
        print(envelope("demo", ExitCode.OK, {"seconds": seconds, "steps": steps}))
    return ExitCode.OK


def _remove(base: Path) -> None:
    """What an interrupted demo leaves running on its nodes ends within moments, not at once."""
    for _ in range(50):
        shutil.rmtree(base, ignore_errors=True)
        if not base.exists():
            return
        time.sleep(0.2)


class _Story:
    """Tells each step before it is done, and remembers how it went."""

    def __init__(self, out: Console, cluster: DemoCluster, *, as_json: bool) -> None:
        self._out = out
        self._cluster = cluster
        # With --json the commands' own output is for people, and standard output is not.
        self._stdout = sys.stderr if as_json else None
        self._steps: list[Step] = []

    def tell(self) -> tuple[Step, ...]:
        """The whole job; raises EnvsyncError when a step goes another way than it should."""
        self._say(
            f"node1, node2 and node3 listen on 127.0.0.1 and use {self._cluster.conda}. numpy"
            " and torch are stand-ins of a few lines, so that nothing is downloaded."
        )
        self._show("hosts.txt", "environment.yml")
        self._envsync(ExitCode.OK, "push", "hosts.txt", "-F", "ssh_config")
        self._say("It was solved once; every node has installed what the lock says:")
        self._show("environment.lock")
        self._envsync(ExitCode.OK, "verify")
        self._say("Somebody changes node2 by hand:")
        words = ("python", "-m", "pip", "install", "numpy==2.1.0")
        self._prompt(shlex.join(words), "node2$")
        by_hand(self._cluster, "node2", *words[2:])
        self._envsync(ExitCode.DIFFERENT, "verify")
        self._envsync(ExitCode.DIFFERENT, "diff", "node1", "node2")
        self._say("Pushing again builds just that node anew, and leaves the others alone:")
        self._envsync(ExitCode.OK, "push", "hosts.txt", "-F", "ssh_config")
        self._envsync(ExitCode.OK, "verify")
        return tuple(self._steps)

    def _envsync(self, expected: ExitCode, *words: str) -> None:
        """Run envsync as a user would; a demo that goes another way than told must not pass."""
        command = shlex.join(("envsync", *words))
        self._prompt(command)
        done = subprocess.run(
            [sys.executable, "-m", "envsync", *words],
            cwd=self._cluster.folder,
            stdout=self._stdout,
            check=False,
        )
        self._out.print(Text(f"exit code {done.returncode}", "dim"))
        self._steps.append(Step(command, done.returncode, expected))
        if done.returncode != expected:
            raise EnvsyncError(
                f"the demo expected exit code {expected:d} from `{command}`,"
                f" and it was {done.returncode}",
                hint="run `envsync demo --keep` and look into the folder it names",
            )

    def _show(self, *names: str) -> None:
        self._prompt(shlex.join(("cat", *names)))
        for name in names:
            self._out.print(Text((self._cluster.folder / name).read_text().rstrip(), "dim"))

    def _prompt(self, command: str, prompt: str = "$") -> None:
        self._out.print()
        self._out.print(Text.assemble((f"{prompt} ", "bold green"), (command, "bold")))

    def _say(self, text: str) -> None:
        self._out.print()
        self._out.print(Text(text, "italic"))


def _as_interrupt(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001
    """A terminated demo cleans up as an interrupted one does."""
    raise KeyboardInterrupt
