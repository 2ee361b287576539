"""How steps of Slurm are put together, and how it goes on when one does not begin."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from envsync.ports import Command, Piece
from envsync.transport.gather import Call
from envsync.transport.labels import Here, Labels, Voice
from envsync.transport.sbcast import LARGE, Delivery, Site, is_large, volumes
from envsync.transport.shell import Exchange, spread, step_wire
from envsync.transport.step import Unstarted
from envsync.transport.steps import Part, parts, srun

HOSTILE = ("x; touch /tmp/p", "it's", '"', "$(id)", "a\nb", "", "-n", "é")


def calls(*names: str) -> list[Call]:
    return [Call(name, "7", Command("true")) for name in names]


def one_task(exchange: Exchange, node: str) -> Voice:
    """What a task says, through the wire in a real shell, as srun would label it."""
    sent = b""
    while piece := bytes(exchange.feed.pending):
        exchange.feed.sent(len(piece))
        sent += piece
    env = {"SLURMD_NODENAME": node, "SLURM_STEP_ID": "4", "PATH": "/usr/bin:/bin"}
    words = ["/bin/sh", "-c", step_wire(exchange)]
    done = subprocess.run(words, input=sent, capture_output=True, check=True, env=env)
    labels = Labels(exchange.mark.encode())
    out, err = labels.feed_out(labelled(done.stdout))[3], labels.feed_err(labelled(done.stderr))[3]
    exchange.feed_stdout(out.out)
    exchange.feed_stderr(err.err)
    assert out.over
    return err


def labelled(stream: bytes) -> bytes:
    return b"".join(b"3: " + line for line in stream.splitlines(keepends=True))


def test_each_node_takes_its_own_arguments() -> None:
    script = 'printf "%s\\0" "$@"; cat; exit 9'
    many = {
        "n1": Command(script, HOSTILE, b"in"),
        "n'2": Command(script, ("two",), b"in"),
        "n3": Command(script, HOSTILE, b"in"),
    }
    for node, command in many.items():
        exchange = Exchange(spread(many), lead=b"go\n")
        voice = one_task(exchange, node)
        assert (voice.here, voice.exit_code) == (Here(node, "4", room=False), 9)
        done = exchange.finish(9)
        *arguments, rest = done.text.split("\0")
        assert tuple(arguments) == command.args
        assert rest == "in"


def test_what_is_the_same_everywhere_is_said_once() -> None:
    many = {f"n{n}": Command('echo "$@"', (str(n), "x" * 999, f"{n}'s")) for n in range(12)}
    whole = spread(many)
    assert whole.script.count("x" * 999) == 1
    for node, command in many.items():
        done = subprocess.run(
            ["/bin/sh", "-c", whole.script],
            env={"SLURMD_NODENAME": node},
            capture_output=True,
            check=True,
        )
        assert done.stdout.decode().strip() == " ".join(command.args)


def test_equal_commands_need_no_cases() -> None:
    assert spread(dict.fromkeys(("n1", "n2"), Command("true", HOSTILE))).script == "true"


def test_files_in_a_folder_are_the_input_and_gone_afterwards(tmp_path: Path) -> None:
    folder = tmp_path / "it's here"
    exchange = Exchange(Command('cat; ls "$1" | wc -l', (str(folder),), b""), lead=b"go\n")
    # Whoever fills it does so while the task waits.
    fill = step_wire(exchange, str(folder))
    fill = fill.replace("read -r go", f'echo one >"{folder}/1"; echo two >"{folder}/2"; read -r go')
    sent = bytes(exchange.feed.pending)
    done = subprocess.run(["/bin/sh", "-c", fill], input=sent, capture_output=True, check=True)
    labels = Labels(exchange.mark.encode())
    exchange.feed_stdout(labels.feed_out(labelled(done.stdout))[3].out)
    assert exchange.finish(0).text.split() == ["one", "two", "0"]
    assert b" here   yes" in done.stderr
    assert not folder.exists()


def test_task_that_is_told_to_end_before_it_begins_does_nothing(tmp_path: Path) -> None:
    exchange = Exchange(Command(f"touch {tmp_path}/ran", stdin=b""), lead=b"go\n")
    wire = step_wire(exchange, f"{tmp_path}/room")
    subprocess.run(["/bin/sh", "-c", wire], stdin=subprocess.DEVNULL, check=True)
    assert not list(tmp_path.iterdir())


def test_srun_is_asked_for_one_task_a_node() -> None:
    words = srun("7", ["n1", "n2", "n3"])
    assert {"--nodelist=n[1-3]", "--nodes=3", "--ntasks=3", "--jobid=7"} <= set(words)


def test_ready_nodes_go_on_and_others_do_not_hold_them_up() -> None:
    ready, slow, full = calls("n1", "n2"), calls("n3", "n4"), calls("n5")
    made = parts(Unstarted(ready, slow, full), large=True)
    assert made == [
        Part(ready, large=True),
        Part(full, large=False),
        Part(slow, large=True),
    ]


def test_where_none_was_ready_each_half_is_tried() -> None:
    slow = calls("n1", "n2", "n3")
    made = parts(Unstarted([], slow), large=False)
    assert made == [Part(slow[:2], large=False), Part(slow[2:], large=False)]
    one = calls("n1")
    assert parts(Unstarted([], [], one), large=True) == [Part(one, large=False)]


def test_large_files_are_sent_as_they_are_and_others_together() -> None:
    big, small = Path("big"), Path("small")
    sizes = {big: 100 << 20, small: 5}
    pieces = [
        Piece(small),
        Piece(small),
        Piece(big),
        Piece(big, 0, 100 << 20),
        Piece(big, 1),
        Piece(small),
    ]
    assert volumes(pieces, sizes) == [
        (pieces[0], pieces[1]),
        (pieces[2],),
        (pieces[3],),
        (pieces[4], pieces[5]),
    ]


@pytest.fixture
def sbcast(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that keeps what it is to send, and fails on a node that is told to."""
    program = tmp_path / "bin" / "sbcast"
    program.parent.mkdir()
    program.write_text(
        '#!/bin/sh\necho "$1" >>$0.log\ncat "$2" >>$0.sent\n[ ! -e $0.fail ] && exit\n'
        "cat $0.fail >&2; exit 28\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    return program


@pytest.mark.parametrize("kind", ["bytes", "file", "pieces"])
def test_what_is_sent_is_the_input(tmp_path: Path, sbcast: Path, kind: str) -> None:
    content = bytes(range(256)) * 5000
    file = tmp_path / "input"
    file.write_bytes(b"before" + content)
    whole = tmp_path / "whole"
    whole.write_bytes(content)
    stdin: bytes | Path | tuple[Piece, ...] = content
    if kind == "file":
        stdin = whole
    elif kind == "pieces":
        stdin = (Piece(file, 6, 70), Piece(file, 76))
    command = Command("cat", stdin=stdin)
    assert is_large(command)
    assert not is_large(Command("cat", stdin=content[: LARGE - 1]))
    env = {"PATH": f"{sbcast.parent}:/usr/bin:/bin"}
    lines: list[str] = []
    made = [Call("n1", "7", command, lines.append)]
    with Delivery(command, Site("7", "/scratch/", env)) as delivery:
        assert delivery.folder().startswith("/scratch/envsync-")
        assert delivery.folder() != delivery.folder()
        assert delivery.send("3", "/scratch/x", made) == frozenset()
    assert sbcast.with_name("sbcast.sent").read_bytes() == content
    assert sbcast.with_name("sbcast.log").read_text() == "--jobid=7.3\n"
    assert lines == ["1.3 of 1.3 MB by sbcast"]


@pytest.mark.parametrize(
    ("said", "failed"),
    [
        ("sbcast: error: REQUEST_FILE_BCAST(n2): No space left on device", {"n2"}),
        ("sbcast: error: whatever", {"n1", "n2"}),
    ],
)
def test_nodes_that_did_not_get_it(sbcast: Path, said: str, failed: set[str]) -> None:
    sbcast.with_name("sbcast.fail").write_text(said)
    command = Command("cat", stdin=b"x" * LARGE)
    env = {"PATH": f"{sbcast.parent}:/usr/bin:/bin"}
    with Delivery(command, Site("7", "/tmp", env)) as delivery:
        assert delivery.send("0", "/tmp/x", calls("n1", "n2")) == failed
        delivery.cut.set()
        assert delivery.send("0", "/tmp/x", calls("n1", "n2"))
    with Delivery(command, Site("7", "/tmp", {"PATH": "/nowhere"})) as delivery:
        assert delivery.send("0", "/tmp/x", calls("n1")) == {"n1"}
