"""envsync demo: the whole job on this machine, with nothing faked but the size of torch."""

from __future__ import annotations

import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType

from rich.console import Console
from rich.text import Text

from envsync.demo.cluster import DemoCluster, by_hand, running
from envsync.errors import EnvsyncError, ExitCode
from envsync.render.console import console


def demo(*, keep: bool) -> int:
    """Push, drift, verify, diff, repair on three loopback nodes; removes all of it again."""
    signal.signal(signal.SIGTERM, _as_interrupt)
    out = console()
    base = Path(tempfile.mkdtemp(prefix="envsync-demo-"))
    started = time.monotonic()
    try:
        out.print("Making three SSH nodes, a conda for each, and a channel ...")
        with running(base) as cluster:
            _story(out, cluster)
        out.print(Text(f"The whole job took {time.monotonic() - started:.0f} s.", "bold"))
    finally:
        if keep:
            out.print(f"Everything is in {base}")
        else:
            _remove(base)
    return ExitCode.OK


def _remove(base: Path) -> None:
    """What an interrupted demo leaves running on its nodes ends within moments, not at once."""
    for _ in range(50):
        shutil.rmtree(base, ignore_errors=True)
        if not base.exists():
            return
        time.sleep(0.2)


def _story(out: Console, cluster: DemoCluster) -> None:
    _say(
        out,
        f"node1, node2 and node3 listen on 127.0.0.1 and use {cluster.conda}. numpy and torch"
        " are stand-ins of a few lines, so that nothing is downloaded.",
    )
    _show(out, cluster, "cat", "hosts.txt", "environment.yml")
    _envsync(out, cluster, ExitCode.OK, "push", "hosts.txt", "-F", "ssh_config")
    _envsync(out, cluster, ExitCode.OK, "verify")
    _say(out, "Somebody changes node2 by hand:")
    words = ("python", "-m", "pip", "install", "numpy==2.1.0")
    _command(out, shlex.join(words), prompt="node2$")
    by_hand(cluster, "node2", *words[2:])
    _envsync(out, cluster, ExitCode.DIFFERENT, "verify")
    _envsync(out, cluster, ExitCode.DIFFERENT, "diff", "node1", "node2")
    _say(out, "Pushing again builds just that node anew, and leaves the others alone:")
    _envsync(out, cluster, ExitCode.OK, "push", "hosts.txt", "-F", "ssh_config")
    _envsync(out, cluster, ExitCode.OK, "verify")


def _envsync(out: Console, cluster: DemoCluster, expected: ExitCode, *words: str) -> None:
    """Run envsync as a user would; a demo that goes another way than told must not pass."""
    _command(out, shlex.join(("envsync", *words)))
    done = subprocess.run(
        [sys.executable, "-m", "envsync", *words], cwd=cluster.folder, check=False
    )
    out.print(Text(f"exit code {done.returncode}", "dim"))
    if done.returncode != expected:
        raise EnvsyncError(
            f"the demo expected exit code {expected} from `envsync {words[0]}`,"
            f" and it was {done.returncode}",
            hint="run `envsync demo --keep` and look into the folder it names",
        )


def _show(out: Console, cluster: DemoCluster, *words: str) -> None:
    _command(out, shlex.join(words))
    for name in words[1:]:
        out.print(Text((cluster.folder / name).read_text().rstrip(), "dim"))


def _command(out: Console, text: str, prompt: str = "$") -> None:
    out.print()
    out.print(Text.assemble((f"{prompt} ", "bold green"), (text, "bold")))


def _say(out: Console, text: str) -> None:
    out.print()
    out.print(Text(text, "italic"))


def _as_interrupt(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001
    """A terminated demo cleans up as an interrupted one does."""
    raise KeyboardInterrupt
