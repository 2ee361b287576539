"""The framing of commands: what a login shell sees, what comes back, what is noise."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

import pytest

from envsync.errors import CommandTimeoutError, HostError, LinkLostError
from envsync.ports import Command, Piece
from envsync.transport.shell import Exchange, script_text
from envsync.transport.streams import Frame, Lines

LONG = "# a line that does nothing and takes its time\n" * 100
HOSTILE = ["x; touch /tmp/p", "it's", '"', "$(id)", "`id`", "a\nb", "", "-n", "!!", "*", "~", "é"]


def whole(exchange: Exchange) -> bytes:
    """All that an exchange sends, as a transport takes it."""
    sent = b""
    while piece := bytes(exchange.feed.pending):
        exchange.feed.sent(len(piece))
        sent += piece
    return sent


def through(shell: list[str], exchange: Exchange) -> subprocess.CompletedProcess[bytes]:
    """Let a shell run an exchange's words, as sshd would."""
    return subprocess.run(
        [*shell, "-c", exchange.wire], input=whole(exchange), capture_output=True, check=False
    )


def test_login_shell_sees_only_constant_words_and_numbers() -> None:
    wires = {
        re.sub(r"\d+", "N", Exchange(Command(script, tuple(HOSTILE), stdin)).wire)
        for stdin in (None, b"", b"payload")
        for script in ("exit 0", LONG + "exit 0")
    }
    lines = (
        "_s=;_n=N;while [ $_n -gt N ];do IFS= read -r _l||exit;"
        '_s=$_s$_l${IFS#??};_n=$((_n-N));done;eval "$_s"'
    )
    assert wires == {
        f"exec /bin/sh -c '{lines}'",
        f"exec timeout -k N N /bin/sh -c '{lines}'",
        "exec /bin/sh -c 'eval \"$(head -c N)\"'",
        "exec timeout -k N N /bin/sh -c 'eval \"$(head -c N)\"'",
    }


@pytest.mark.parametrize("before", ["", LONG], ids=["short", "long"])
@pytest.mark.parametrize("shell", [["/bin/sh"], ["/bin/bash"], ["tcsh"], ["fish"]])
def test_arguments_arrive_unchanged_through_any_login_shell(shell: list[str], before: str) -> None:
    exchange = Exchange(Command(before + 'printf "%s\\0" "$@"', tuple(HOSTILE), stdin=b""))
    done = through(shell, exchange)
    exchange.feed_stdout(done.stdout)
    exchange.feed_stderr(done.stderr)
    assert exchange.finish(done.returncode).text.split("\0")[:-1] == HOSTILE


def test_script_reads_exactly_its_own_input() -> None:
    payload = bytes(range(256)) * 1000
    exchange = Exchange(Command("cat", stdin=payload))
    done = through(["/bin/sh"], exchange)
    exchange.feed_stdout(done.stdout)
    assert exchange.finish(done.returncode).stdout == payload


@pytest.mark.parametrize("sh", ["dash", "bash --posix"])
@pytest.mark.parametrize(
    "script",
    [
        "exit 7",
        "(exit 7)",
        "f() { echo said; return 7; }; f",
        "set -e; (exit 7); echo not said",
        "( echo said; exit 7 ) | cat >/dev/null; exit 7",
        "x=$(echo said; exit 7)",
        "exec sh -c 'exit 7'",
        "trap 'exit 7' EXIT",
        "trap '' TERM; exit 7",
        'eval "exit 7"',
    ],
)
def test_exit_code_is_data_however_the_script_ends(script: str, sh: str) -> None:
    exchange = Exchange(Command(f"echo begun; echo begun >&2; {script}", stdin=b""))
    wire = exchange.wire.replace("/bin/sh", sh)
    done = subprocess.run(
        ["/bin/sh", "-c", wire], input=whole(exchange), capture_output=True, check=False
    )
    exchange.feed_stdout(done.stdout)
    exchange.feed_stderr(done.stderr)
    answer = exchange.finish(done.returncode)
    assert (answer.exit_code, answer.stdout.splitlines()[0]) == (7, b"begun")
    assert answer.stderr == b"begun\n"


@pytest.mark.parametrize("sh", ["dash", "bash --posix"])
def test_short_script_finds_the_environment_as_it_was(sh: str) -> None:
    exchange = Exchange(
        Command('printf "%s|" "$n" "$s" "$l" "$IFS"; a="1 2"; set -- $a; echo $#', stdin=b"")
    )
    done = subprocess.run(
        ["/bin/sh", "-c", exchange.wire.replace("/bin/sh", sh)],
        input=whole(exchange),
        capture_output=True,
        check=False,
        env={"n": "1", "s": "2", "l": "3", "IFS": "x", "PATH": "/usr/bin:/bin"},
    )
    exchange.feed_stdout(done.stdout)
    assert exchange.finish(done.returncode).text == "1|2|3| \t\n|2\n"


def test_frame_cuts_noise_even_byte_by_byte() -> None:
    stream = b"Welcome to node1!\nno newline here\nMARK\nline 1\nMAR\nline 3MARKlogout\n"
    for size in (1, 2, 3, 7, len(stream)):
        frame = Frame(b"MARK")
        parts = [frame.feed(stream[i : i + size]) for i in range(0, len(stream), size)]
        assert b"".join(parts) + frame.rest() == b"line 1\nMAR\nline 3"
        assert frame.noise == b"Welcome to node1!\nno newline here"
        assert frame.closed


def test_shell_that_never_ran_the_script_is_named_with_its_words() -> None:
    exchange = Exchange(Command("exit 0"))
    exchange.feed_stdout(b"This account is currently not available.\n")
    with pytest.raises(HostError) as caught:
        exchange.finish(1)
    assert caught.value.cause == "login-shell"
    assert "not available" in caught.value.output


def test_frame_that_never_closes_means_a_lost_link_and_keeps_the_log() -> None:
    exchange = Exchange(Command("exit 0"))
    mark = re.search(rb"envsync-[0-9a-f]+", whole(exchange))
    assert mark is not None
    exchange.feed_stdout(b"\n" + mark[0] + b"\nhalf an ans")
    exchange.feed_stderr(b"\n" + mark[0] + b"\nSolving environment\n")
    with pytest.raises(LinkLostError) as caught:
        exchange.finish(255)
    assert caught.value.output == "Solving environment\n"


def test_file_is_sent_as_its_bytes_would_be_and_a_piece_at_a_time(tmp_path: Path) -> None:
    file = tmp_path / "installer"
    file.write_bytes(bytes(range(256)) * 4096 * 3)
    exchange = Exchange(Command("cksum", stdin=file))
    assert len(exchange.feed.pending) < 4096
    exchange.feed.sent(len(exchange.feed.pending))
    assert len(exchange.feed.pending) == exchange.feed.PIECE
    exchange.feed.close()
    assert not exchange.feed.pending
    answers = []
    for stdin in (file, file.read_bytes()):
        exchange = Exchange(Command("cksum", stdin=stdin))
        done = through(["/bin/sh"], exchange)
        exchange.feed_stdout(done.stdout)
        answers.append(exchange.finish(done.returncode).stdout)
    assert answers[0] == answers[1] != b""


def test_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    exchange = Exchange(Command("cat", stdin=tmp_path / "gone"))
    exchange.feed.sent(len(exchange.feed.pending))
    with pytest.raises(HostError, match="gone could not be read on this machine"):
        _ = exchange.feed.pending


def test_time_limit_is_kept_on_the_far_side() -> None:
    exchange = Exchange(Command("echo begun >&2; sleep 60", stdin=b"", timeout=1))
    done = through(["/bin/sh"], exchange)
    exchange.feed_stdout(done.stdout)
    exchange.feed_stderr(done.stderr)
    with pytest.raises(CommandTimeoutError) as caught:
        exchange.finish(done.returncode)
    assert caught.value.output == "begun\n"
    assert exchange.seconds < 10


@pytest.mark.parametrize("delay", [0.0] * 20 + [0.3])
def test_end_of_the_tether_ends_the_script_and_its_children(delay: float) -> None:
    exchange = Exchange(Command("sleep 20 & wait"))
    with subprocess.Popen(
        ["/bin/sh", "-c", exchange.wire], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as shell:
        assert shell.stdin is not None
        shell.stdin.write(whole(exchange))
        shell.stdin.flush()
        time.sleep(delay)
        # communicate() closes standard input, then waits for all that hold the output open.
        shell.communicate(timeout=10)
        assert shell.returncode != 0


def test_nul_byte_in_an_argument_is_refused() -> None:
    with pytest.raises(ValueError, match="NUL"):
        script_text(Command("exit 0", ("a\0b",)))


def test_lines_end_at_newlines_and_carriage_returns_wherever_chunks_break() -> None:
    seen: list[str] = []
    lines = Lines(seen.append)
    for chunk in (b"Coll", b"ecting\n10%\r2", b"0%\r\n\n", "ö".encode()[:1], "ö".encode()[1:]):
        lines.feed(chunk)
    lines.feed(b"\n")
    assert seen == ["Collecting", "10%", "20%", "ö"]


def test_files_are_sent_one_after_the_other_each_from_a_byte_on(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(b"0123456789")
    second.write_bytes(b"abc")
    said: list[str] = []
    pieces = (Piece(first, 6), Piece(second), Piece(first, 10), Piece(first, 1, 2))
    exchange = Exchange(Command("cat", stdin=pieces), said.append)
    exchange.feed_stdout(through(["/bin/sh"], exchange).stdout)
    assert exchange.finish(0).stdout == b"6789abc12"
    assert said == ["0.0 MB"] * 3
