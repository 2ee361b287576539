"""The one place where shell text is made.

A login shell may be bash, dash, csh, fish or zsh, and its start-up files may print. So the
only words it ever sees are `exec timeout -k 10 S /bin/sh -c 'eval "$(head -c N)"'`, or a loop of
`read` in place of `head`, which all of them read alike. The program itself comes down standard
input: N bytes of a *prologue*, which holds the script with its arguments and prints the marks
that frame the answer; then the script's own input. Nothing but numbers, a random mark and quoted
text varies in what is evaluated; quoting is `shlex`'s, for POSIX `sh` alone.

`head -c N` reads no byte too many, also from a pipe (unlike a shell that reads its script
from standard input, which POSIX lets read ahead only on seekable files, and dash does). A
command line can be read by every user of the node, so no script and no argument stands in one;
and each process on the way costs a node a millisecond of CPU. So a short prologue is read by the
shell's own `read`, which takes a byte at a time from a pipe, and a script runs in a subshell only
where it must.
"""

from __future__ import annotations

import re
import secrets
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from envsync import scripts
from envsync.ports import Command, Handed, LineSink
from envsync.transport.answer import KILL_GRACE, Answer
from envsync.transport.streams import Feed

_EVAL = "/bin/sh -c 'eval \"$(head -c {size})\"'"
# What is left of IFS is its last character, a newline: in csh none can stand between quotes.
_EVAL_LINES = (
    "/bin/sh -c '_s=;_n={lines};while [ $_n -gt 0 ];do IFS= read -r _l||exit;"
    '_s=$_s$_l${{IFS#??}};_n=$((_n-1));done;eval "$_s"\''
)
_CHEAP_LINES = 1500
"""Bytes of a prologue up to which that takes less CPU than the start of `head`, in dash."""
_LIMIT = "timeout -k {grace} {limit}"

_BEGIN = """\
printf '\\n%s\\n' {mark}; printf '\\n%s\\n' {mark} >&2
"""

_END = """\
printf %s {mark}; printf %s {mark} >&2
exit $rc
"""

# With input of its own the script reads what follows the prologue. All of it is under the limit.
# The script's `exit` does not take the closing mark with it; where it makes itself another
# program, or has a trap of its own, only a subshell is safe from that.
_FED = f"""\
{_BEGIN}\
trap 'printf %s {{mark}}; printf %s {{mark}} >&2' EXIT
eval {{script}}
"""
_FED_APART = f"{_BEGIN}( eval {{script}} )\nrc=$?\n{_END}"
_APART = re.compile(r"\b(exec|trap|eval)\b")

# Without input, standard input is a tether: its end means that nobody listens any more, and
# the script is ended. `timeout` leads a process group, so its children end with it. A
# signal in the moment when it forks ends it alone, so the group is ended as well. The script
# reaches the shell that is limited in time through its environment; a long one through a pipe,
# which takes one more process (execve(2): MAX_ARG_STRLEN is 128 KiB).
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

LINE_END = "\x1e"
"""ASCII's record separator: ends each line that a step prints on standard error."""

# A step that is told to end before it began, as by the end of its input, leaves no folder.
_ROOM = """\
folder={folder}
mkdir -m 700 "$folder" 2>/dev/null &&
    trap 'rm -rf "$folder"' EXIT && trap 'exit 143' TERM && room=yes || room=no"""
# Each file is gone as soon as it is read: what the script makes of it takes room as well.
_FILES = '{{ head -c {size}; for file in "$folder"/*; do cat "$file"; rm -f "$file"; done; }} | '
_STEP = """\
cd
{room}
printf '\\n%s here %s %s %s\\n' {mark} "$SLURMD_NODENAME" "$SLURM_STEP_ID" "$room" >&2
read -r go || exit 0
printf '%s\\n' {mark}
{{ {{
{files}({wire}); code=$?{drain}
printf '\\n%s exit %s\\n' {mark} "$code" >&2
}} 2>&1 >&3 3>&- | sed -u 's/$/{end}/' >&2 3>&-; }} 3>&1 | base64 -w 900
echo .
"""


def script_text(command: Command) -> str:
    """The script with its positional parameters set, as POSIX `sh` reads it."""
    return f"{_arguments(command.args)}\n{command.script}"


def _arguments(args: Sequence[str]) -> str:
    return f"set -- {' '.join(map(_quoted, args))}"


def _quoted(arg: str) -> str:
    if "\0" in arg:
        raise ValueError("a command argument holds a NUL byte")
    return shlex.quote(arg)


def fetching(command: Command, handed: Handed) -> Command:
    """`command` with its input fetched on the far side, which then needs none of ours."""
    there, peer = Exchange(handed.command), handed.peer
    words = (script_text(command), there.mark, there.wire, bytes(there.feed.pending).decode())
    ways = (word for way in peer.ways for word in way)
    script = scripts.load("handed.sh")
    return replace(command, script=script, args=(*words, peer.host_key, *ways), stdin=None)


def varying(lists: Sequence[Sequence[str]]) -> Sequence[int]:
    """The places in which lists of arguments differ; all of them where they are not equally long.

    The longest ones, programs for a probe, are mostly the same everywhere.
    """
    longest = max(map(len, lists))
    if any(len(args) != longest for args in lists):
        return range(longest)
    return [place for place in range(longest) if len({args[place] for args in lists}) > 1]


def spread(commands: Mapping[str, Command]) -> Command:
    """One command for many nodes of Slurm, by name, each of which takes its own arguments.

    The commands differ in nothing else.
    """
    whole = next(iter(commands.values()))
    lists = [command.args for command in commands.values()]
    places = varying(lists)
    if not places:
        return whole
    nodes: dict[tuple[str, ...], list[str]] = {}
    for node, command in commands.items():
        own = tuple(command.args[place] for place in places if place < len(command.args))
        nodes.setdefault(own, []).append(node)
    cases = "".join(
        f"{'|'.join(map(shlex.quote, names))}) {_arguments(own)} ;;\n"
        for own, names in nodes.items()
    )
    text = f"case $SLURMD_NODENAME in\n{cases}*) exit 1 ;;\nesac\n"
    if len(places) < len(whole.args):
        picked = {place: f'"${{{number}}}"' for number, place in enumerate(places, 1)}
        words = (picked.get(place) or _quoted(arg) for place, arg in enumerate(whole.args))
        text += f"set -- {' '.join(words)}\n"
    return replace(whole, script=text + whole.script, args=())


def step_wire(exchange: Exchange, folder: str = "") -> str:
    """The wire for all nodes of a step, whose answers come in one stream, line by line.

    Each says that it is there, under its name, and waits for a line before it does anything.
    Standard output comes in base64 with a full stop at its end, and every line of standard error
    ends in `LINE_END`: so it does no harm where srun breaks a line. With `folder` the command's
    own input is not sent, but lies there by then, in files; the folder is made, and is gone in
    the end.
    """
    return _STEP.format(
        mark=exchange.mark,
        room=_ROOM.format(folder=shlex.quote(folder)) if folder else "room=no",
        files=_FILES.format(size=exchange.prologue_size) if folder else "",
        wire=exchange.wire,
        # srun loses output when a program leaves input unread; a tether has no end to wait for.
        drain="; cat >/dev/null" if exchange.close_input else "",
        end=LINE_END,
    )


def _reader(prologue: bytes) -> str:
    """The words that have a prologue read from standard input, and evaluated."""
    if len(prologue) > _CHEAP_LINES:
        return _EVAL.format(size=len(prologue))
    return _EVAL_LINES.format(lines=prologue.count(b"\n"))


class Exchange(Answer):
    """One command's way over the wire, whatever carries the bytes.

    A transport starts `wire`, sends what `feed` has, closes the far side's standard input when
    `close_input` says so, feeds what comes back, and asks `finish` for the result.
    """

    def __init__(
        self,
        command: Command,
        on_line: LineSink | None = None,
        clock: Callable[[], float] = time.monotonic,
        lead: bytes = b"",
    ) -> None:
        """`lead` is sent before all else, to whoever has the wire run."""
        stdin = command.stdin
        if isinstance(stdin, Handed):
            command, stdin = fetching(command, stdin), None
        self.mark = f"envsync-{secrets.token_hex(12)}"
        """What stands before and after the script's own output."""
        super().__init__(self.mark, command.timeout, on_line, clock)
        limit = {"grace": KILL_GRACE, "limit": max(1, round(command.timeout))}
        script = shlex.quote(script_text(command))
        template = _TETHERED
        if stdin is not None:
            template = _FED_APART if _APART.search(command.script) else _FED
        start = _SHORT if len(script.encode()) < _MOST_IN_ENVIRONMENT else _LONG
        words = {"mark": self.mark, "script": script, "start": start.format(**limit)}
        prologue = template.format(**words, **limit).encode()
        limited = "" if stdin is None else f"{_LIMIT.format(**limit)} "
        self.wire = f"exec {limited}{_reader(prologue)}"
        self.prologue_size = len(prologue)
        self.feed = Feed(lead + prologue, stdin, on_line)
        self.close_input = stdin is not None
