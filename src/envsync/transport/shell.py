"""The one place where shell text is made.

A login shell may be bash, dash, csh, fish or zsh, and its start-up files may print. So the
only words it ever sees are `exec timeout -k 10 S /bin/sh -c 'eval "$(head -c N)"'`, which all
of them read alike. The program itself comes down standard input: N bytes of a *prologue*, which
holds the script with its arguments and prints the marks that frame the answer; then the
script's own input. Nothing but numbers, a random mark and quoted text varies in what is
evaluated; quoting is `shlex`'s, for POSIX `sh` alone.

`head -c N` reads no byte too many, also from a pipe (unlike a shell that reads its script
from standard input, which POSIX lets read ahead only on seekable files, and dash does). A
command line can be read by every user of the node, so no script and no argument stands in one;
and each program on the way costs a node a millisecond of CPU, so there are no more of them.
"""

from __future__ import annotations

import secrets
import shlex
import time
from collections.abc import Callable
from dataclasses import replace

from envsync import scripts
from envsync.errors import CommandTimeoutError, HostError, LinkLostError
from envsync.ports import Command, Completed, Handed, LineSink
from envsync.transport.streams import Feed, Frame, Lines

REFUSED = "login-shell"
"""The cause of a failure in which the script never began, as far as one can see."""

KILL_GRACE = 10
"""Seconds between the polite end of a command past its limit (TERM) and KILL."""

_EVAL = "/bin/sh -c 'eval \"$(head -c {size})\"'"
_LIMIT = "timeout -k {grace} {limit}"

_BEGIN = """\
printf '\\n%s\\n' {mark}; printf '\\n%s\\n' {mark} >&2
"""

_END = """\
printf %s {mark}; printf %s {mark} >&2
exit $rc
"""

# With input of its own the script reads what follows the prologue. All of it is under the limit,
# and the script in a subshell, so that its `exit` does not take the closing mark with it.
_FED_WIRE = f"exec {_LIMIT} {_EVAL}"
_FED = f"{_BEGIN}( eval {{script}} )\nrc=$?\n{_END}"

# Without input, standard input is a tether: its end means that nobody listens any more, and
# the script is ended. `timeout` leads a process group, so its children end with it. A
# signal in the moment when it forks ends it alone, so the group is ended as well. The script
# reaches the shell that is limited in time through its environment; a long one through a pipe,
# which takes one more process (execve(2): MAX_ARG_STRLEN is 128 KiB).
_TETHERED_WIRE = f"exec {_EVAL}"
_TETHERED = f"""\
exec 3<&0 </dev/null
script={{script}}
{_BEGIN}\
{{start}} 3<&- &
job=$!
{{{{
    read -r nobody <&3
    trap '' TERM
    kill $job
    for second in 1 2 3 4 5 6 7 8 9 10; do kill -TERM -$job || break; sleep 1; done
    kill -KILL -$job
}}}} >/dev/null 2>&1 &
watch=$!
exec 3<&-
wait $job; rc=$?
kill $watch 2>/dev/null
{_END}"""
_SHORT = f"""\
ENVSYNC_SCRIPT=$script {_LIMIT} /bin/sh -c \
'script=$ENVSYNC_SCRIPT; unset ENVSYNC_SCRIPT; eval "$script"'"""
_LONG = f"""printf %s "$script" | {_LIMIT} /bin/sh -c 'eval "$(cat)"'"""
_MOST_IN_ENVIRONMENT = 100_000
"""Bytes."""


def script_text(command: Command) -> str:
    """The script with its positional parameters set, as POSIX `sh` reads it."""
    if any("\0" in arg for arg in command.args):
        raise ValueError("a command argument holds a NUL byte")
    arguments = " ".join(shlex.quote(arg) for arg in command.args)
    return f"set -- {arguments}\n{command.script}"


def fetching(command: Command, handed: Handed) -> Command:
    """`command` with its input fetched on the far side, which then needs none of ours."""
    there, peer = Exchange(handed.command), handed.peer
    words = (script_text(command), there.mark, there.wire, bytes(there.feed.pending).decode())
    ways = (word for way in peer.ways for word in way)
    script = scripts.load("handed.sh")
    return replace(command, script=script, args=(*words, peer.host_key, *ways), stdin=None)


def to_the_end(exchange: Exchange) -> str:
    """The wire for a carrier that loses output when a program leaves input unread, as srun does.

    Input that nobody sends has no end to wait for.
    """
    if not exchange.close_input:
        return exchange.wire
    return f"({exchange.wire}); code=$?; cat >/dev/null; exit $code"


class Exchange:
    """One command's way over the wire, whatever carries the bytes.

    A transport starts `wire`, sends what `feed` has, closes the far side's standard input when
    `close_input` says so, feeds what comes back, and asks `finish` for the result.
    """

    def __init__(
        self,
        command: Command,
        on_line: LineSink | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        stdin = command.stdin
        if isinstance(stdin, Handed):
            command, stdin = fetching(command, stdin), None
        self.mark = mark = f"envsync-{secrets.token_hex(12)}"
        """What stands before and after the script's own output."""
        limit = {"grace": KILL_GRACE, "limit": max(1, round(command.timeout))}
        tethered = stdin is None
        wire, template = (_TETHERED_WIRE, _TETHERED) if tethered else (_FED_WIRE, _FED)
        script = shlex.quote(script_text(command))
        start = _SHORT if len(script.encode()) < _MOST_IN_ENVIRONMENT else _LONG
        words = {"mark": mark, "script": script, "start": start.format(**limit)}
        prologue = template.format(**words, **limit).encode()
        self.wire = wire.format(size=len(prologue), **limit)
        self.feed = Feed(prologue, stdin, on_line)
        self.close_input = stdin is not None
        self.limit = command.timeout
        self._clock = clock
        self._started = clock()
        self._out, self._err = Frame(mark.encode()), Frame(mark.encode())
        self._stdout, self._stderr = bytearray(), bytearray()
        self._lines = Lines(on_line)

    @property
    def seconds(self) -> float:
        return self._clock() - self._started

    @property
    def overdue(self) -> bool:
        """True when even the far side's KILL should have happened: time for the backstop."""
        return self.seconds > self.limit + KILL_GRACE + 5

    def feed_stdout(self, data: bytes) -> None:
        self._stdout += self._out.feed(data)

    def feed_stderr(self, data: bytes) -> None:
        inside = self._err.feed(data)
        self._stderr += inside
        self._lines.feed(inside)

    def finish(self, exit_code: int) -> Completed:
        """The result of a far side that ended with `exit_code`.

        Raises CommandTimeoutError, and HostError when the login shell never ran the script.
        """
        self._stdout += self._out.rest()
        self._stderr += self._err.rest()
        if not self._out.opened:
            raise self._refused(exit_code)
        if exit_code in (124, 137) and self.seconds >= self.limit:
            raise self.timed_out()
        if self._out.closed:
            return Completed(exit_code, bytes(self._stdout), bytes(self._stderr), self.seconds)
        raise self.lost(f"the remote shell was ended (exit code {exit_code})")

    def timed_out(self) -> CommandTimeoutError:
        return CommandTimeoutError(
            "timeout",
            f"the command ran past its limit of {self.limit:.0f} s and was ended",
            hint="see what the host printed; raise the limit with --timeout if it was just slow",
            output=self._log(),
        )

    def lost(self, why: str) -> LinkLostError:
        return LinkLostError(
            "link-lost",
            f"the connection was lost after {self.seconds:.0f} s: {why}",
            hint="run the same command again: finished work is kept, half-built work is redone",
            output=self._log(),
        )

    def _log(self) -> str:
        return self._stderr.decode("utf-8", "replace")

    def _refused(self, exit_code: int) -> HostError:
        noise = bytes(self._out.noise + self._err.noise).decode("utf-8", "replace").strip()
        return HostError(
            REFUSED,
            f"the login shell ended with exit code {exit_code} before it ran anything",
            hint="check that `ssh HOST timeout 1 /bin/sh -c true` works for this user",
            output=noise,
        )
