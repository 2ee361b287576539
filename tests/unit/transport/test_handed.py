"""Input that another host hands on, through an `ssh` that is a few lines of shell."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from cluster.waiting import wait_until
from envsync.ports import NO_WAY, Command, Completed, Handed, Peer
from envsync.transport.shell import Exchange
from unit.transport.test_shell import HOSTILE, whole

SSH = """\
#!/bin/sh
# Goes to `there` alone, whose login shell says something first; notes its own words.
for word; do printf '%s\\n' "$word"; done >>"$0.words"
for word; do
    case $word in
    UserKnownHostsFile=*) file=${word#*\\"}; cat "${file%\\"}" >>"$0.known" ;;
    esac
    before=$address address=$last last=$word
done
[ "$address" = there ] || { echo "connect to $address: no route" >&2; exit 255; }
[ "$before" = -- ] || exit 255
echo Welcome
echo Motto >&2
exec /bin/sh -c "$last"
"""
WAYS = (("me", "elsewhere", "22"), ("me", "there", ""))
KEY = "ssh-ed25519 AAAA"


@pytest.fixture
def path(tmp_path: Path) -> str:
    program = tmp_path / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text(SSH)
    program.chmod(0o755)
    return f"{program.parent}:/usr/bin:/bin"


def run(command: Command, path: str, folder: Path) -> Completed:
    exchange = Exchange(command)
    assert not exchange.close_input
    with subprocess.Popen(
        ["/bin/sh", "-c", exchange.wire],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={"PATH": path, "TMPDIR": str(folder)},
    ) as shell:  # fmt: skip
        assert shell.stdin and shell.stdout and shell.stderr  # noqa: PT018 (for the type checker)
        shell.stdin.write(whole(exchange))
        shell.stdin.flush()
        exchange.feed_stdout(shell.stdout.read())
        exchange.feed_stderr(shell.stderr.read())
        return exchange.finish(shell.wait())


def handed(script: str, *words: str, ways: tuple[tuple[str, str, str], ...] = WAYS) -> Handed:
    return Handed(Command(script, words, stdin=b""), Peer(ways, KEY))


def test_script_reads_what_the_other_host_prints(path: str, tmp_path: Path) -> None:
    there = handed('printf "%s\\0" "$@"; head -c 3000000 /dev/zero', *HOSTILE)
    done = run(Command('cat; echo "$1"; exit 7', ("it's",), there), path, tmp_path)
    assert done.exit_code == 7
    said = done.stdout.split(b"\0", len(HOSTILE))
    assert [each.decode() for each in said[:-1]] == HOSTILE
    assert said[-1].startswith(b"\0" * 3_000_000)
    assert said[-1].endswith(b"it's\n")
    assert "connect to elsewhere: no route" in done.log


def test_only_the_right_key_counts_and_nothing_of_it_stays(path: str, tmp_path: Path) -> None:
    assert run(Command("cat", stdin=handed("echo x")), path, tmp_path).exit_code == 0
    assert (tmp_path / "bin" / "ssh.known").read_text() == f"envsync-peer {KEY}\n" * 2
    words = (tmp_path / "bin" / "ssh.words").read_text().splitlines()
    assert words.count("StrictHostKeyChecking=yes") == words.count("BatchMode=yes") == 2
    assert words.count("HostKeyAlias=envsync-peer") == 2
    assert words.count("Port=22") == 1
    assert [each.name for each in tmp_path.iterdir()] == ["bin"]


def test_no_way_is_told_from_what_the_script_comes_to(path: str, tmp_path: Path) -> None:
    nowhere = handed("echo x", ways=WAYS[:1])
    done = run(Command("echo ran", stdin=nowhere), path, tmp_path)
    assert (done.exit_code, done.stdout) == (NO_WAY, b"")
    assert [each.name for each in tmp_path.iterdir()] == ["bin"]
    (tmp_path / "bin" / "ssh").unlink()
    for name in ("sh", "mktemp", "rm", "head", "timeout", "sleep", "cat"):
        (tmp_path / "bin" / name).symlink_to(f"/usr/bin/{name}")
    done = run(Command("echo ran", stdin=nowhere), str(tmp_path / "bin"), tmp_path)
    assert (done.exit_code, done.stdout) == (NO_WAY, b"")
    assert "there is no ssh on this host" in done.log


def test_end_of_the_other_host_is_the_end_of_the_input(path: str, tmp_path: Path) -> None:
    done = run(Command("wc -c; exit 3", stdin=handed("echo half; exit 1")), path, tmp_path)
    assert done.exit_code == 3
    assert int(done.text) >= 5


@pytest.mark.parametrize("count", [10, 5000])
def test_script_of_any_length(path: str, tmp_path: Path, count: int) -> None:
    words = tuple(f"https://channel.example/linux-64/package-{n}.conda" for n in range(count))
    done = run(Command('cat; echo "$#"', words, handed('echo "$#"', *words)), path, tmp_path)
    assert done.text.startswith(f"{count}\n")
    assert done.text.endswith(f"{count}\n")
    assert run(Command('wc -c; echo "$#"', words), path, tmp_path).text.split() == ["0", str(count)]


@pytest.mark.parametrize("long", [False, True])
def test_end_of_the_tether_ends_both_sides(path: str, tmp_path: Path, *, long: bool) -> None:
    words = ("x" * 300_000,) if long else ()
    signs = [tmp_path / "here", tmp_path / "there"]
    there = handed('while :; do date +%N >"$1"; echo; sleep 0.1; done', str(signs[1]))
    script = 'while read -r line; do date +%N >"$1"; done'
    exchange = Exchange(Command(script, (str(signs[0]), *words), there))
    with subprocess.Popen(
        ["/bin/sh", "-c", exchange.wire],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={"PATH": path, "TMPDIR": str(tmp_path)},
    ) as shell:  # fmt: skip
        assert shell.stdin is not None
        shell.stdin.write(whole(exchange))
        shell.stdin.flush()
        wait_until(lambda: all(sign.exists() for sign in signs))
        # Nobody listens any more, either: what a shell says of its end is an end for it.
        for stream in (shell.stderr, shell.stdout, shell.stdin):
            assert stream is not None
            stream.close()
        shell.wait(10)
    wait_until(lambda: not list(tmp_path.glob("envsync.*")))
    for sign in signs:
        sign.unlink()
    time.sleep(0.5)
    # The giver ends when it finds that nobody reads: at its next word.
    for sign in signs:
        sign.unlink(missing_ok=True)
    time.sleep(0.5)
    assert [each.name for each in tmp_path.iterdir()] == ["bin"]
