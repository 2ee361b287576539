"""What is to be done about a node's conda; and the scripts that do it, run on this machine."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from envsync.diagnose import failure
from envsync.errors import HostError
from envsync.flavours import Conda
from envsync.installers import Flavour, Installer
from envsync.model import Host
from envsync.observation import Observation, observe
from envsync.observation import parse as parse_observation
from envsync.ports import Command, Completed
from envsync.provision import Installation, Plan, State, Step, Wishes, decide, look, parse, supplied
from envsync.transport.local import LocalTransport

BARE = Observation("/h", "jo", "n1", "linux-64", (), None)
WITH = replace(BARE, conda=Conda("/h/miniforge3/bin/conda", "/h/miniforge3"))
PREFIX = "/h/miniforge3"
ABSENT = Installation(PREFIX, State.ABSENT)
WHOLE = Installation(PREFIX, State.WHOLE, sha256="ab" * 32)
BEGUN = Installation(PREFIX, State.BEGUN, "install")
HALF_UPGRADED = Installation(PREFIX, State.BEGUN, "upgrade", environments=("train",))
FOREIGN = Installation(PREFIX, State.FOREIGN)
USED = replace(WHOLE, environments=("train",))
WISH = Wishes("~/miniforge3")
UPGRADE, REMOVE = replace(WISH, upgrade=True), replace(WISH, remove=True)


@pytest.mark.parametrize(
    ("seen", "there", "wishes", "step"),
    [
        (BARE, ABSENT, WISH, Step.INSTALL),
        (BARE, BEGUN, WISH, Step.INSTALL),
        (BARE, HALF_UPGRADED, WISH, Step.UPGRADE),  # its environments must stay
        (WITH, WHOLE, WISH, Step.NOTHING),
        (WITH, FOREIGN, WISH, Step.NOTHING),
        (WITH, WHOLE, UPGRADE, Step.UPGRADE),
        (WITH, FOREIGN, UPGRADE, Step.NOTHING),
        (BARE, ABSENT, UPGRADE, Step.INSTALL),
        (WITH, WHOLE, REMOVE, Step.REMOVE),
        (WITH, FOREIGN, REMOVE, Step.NOTHING),
        (BARE, ABSENT, REMOVE, Step.NOTHING),
        (BARE, BEGUN, REMOVE, Step.REMOVE),
        (WITH, USED, replace(REMOVE, force=True), Step.REMOVE),
        (BARE, replace(USED, state=State.BEGUN, begun="remove"), REMOVE, Step.REMOVE),
    ],
)
def test_step(seen: Observation, there: Installation, wishes: Wishes, step: Step) -> None:
    assert decide(seen, there, wishes).step is step


@pytest.mark.parametrize(
    ("seen", "there", "wishes", "cause"),
    [
        (BARE, FOREIGN, WISH, "in-the-way"),
        (BARE, WHOLE, WISH, "broken"),
        (replace(BARE, subdir=""), ABSENT, WISH, "no-platform"),
        (BARE, replace(ABSENT, prefix="/my home/miniforge3"), WISH, "path"),
        (WITH, USED, REMOVE, "in-use"),
        (BARE, HALF_UPGRADED, REMOVE, "in-use"),
    ],
)
def test_refusal(seen: Observation, there: Installation, wishes: Wishes, cause: str) -> None:
    with pytest.raises(HostError) as caught:
        decide(seen, there, wishes)
    assert caught.value.cause == cause
    assert caught.value.hint


def test_installer_must_be_for_the_host_and_must_fit() -> None:
    installer = Installer(Path("x"), Flavour.MINIFORGE, "linux-64", "x", "ab" * 32, 100_000_000)
    known = {"linux-64": installer}
    assert supplied(BARE, ABSENT, known) is installer
    with pytest.raises(HostError, match="linux-aarch64"):
        supplied(replace(BARE, subdir="linux-aarch64"), ABSENT, known)
    with pytest.raises(HostError, match="has 150 MB left"):
        supplied(BARE, replace(ABSENT, free_bytes=150_000_000), known)


def test_answer_that_makes_no_sense() -> None:
    with pytest.raises(HostError, match="makes no sense"):
        parse(Completed(0, b"prefix\t/x\nstate\tcurious\n"))


def run(home: Path, command: Command, path: str = "/usr/bin:/bin") -> Completed:
    home.mkdir(exist_ok=True)
    transport = LocalTransport({"HOME": str(home), "PATH": path, "SHELL": "/bin/bash"})
    return transport.connect(Host("here")).run(command)


def made(folder: Path, text: str) -> Installer:
    file = folder / "installer.sh"
    file.write_text(text)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return Installer(file, Flavour.MINIFORGE, "linux-64", "Small 1", digest, file.stat().st_size)


_NEEDED = (
    *("cat", "head", "timeout", "mkdir", "rm", "chmod", "sha256sum", "wc", "mv", "sh", "df"),
    "basename",
)
GOOD = """\
#!/bin/sh
mkdir -p "$3/bin" && printf '#!/bin/sh\\necho conda 1\\n' >"$3/bin/conda" && chmod +x "$3/bin/conda"
echo "$TMPDIR" >"$3/tmpdir"
"""


def whole(home: Path, installer: Installer) -> Installation:
    there = parse(run(home, look("~/mine", "")))
    for command in (there.upload(installer), there.install(installer, Step.INSTALL, 60)):
        done = run(home, command)
        assert done.exit_code == 0, done.log
    assert run(home, there.settle("a: 1\n", installer, "jo@here")).exit_code == 0
    return there


def test_installed_at_any_place_it_is_found(tmp_path: Path) -> None:
    home = tmp_path / "home"
    there = whole(home, made(tmp_path, GOOD))
    seen = parse_observation(run(home, observe("x")))
    assert seen.conda is not None
    assert seen.conda.root_prefix == there.prefix == str(home / "mine")
    after = parse(run(home, look("~/elsewhere", seen.conda.root_prefix)))
    assert (after.prefix, after.state, after.label) == (there.prefix, State.WHOLE, "Small 1")
    # Not in /tmp, which may be noexec.
    assert Path((home / "mine" / "tmpdir").read_text().strip()).is_relative_to(home)


def test_what_is_begun_is_no_conda_for_anybody(tmp_path: Path) -> None:
    home = tmp_path / "home"
    there = whole(home, made(tmp_path, GOOD))
    assert parse_observation(run(home, observe("x"))).conda is not None
    Path(there.work).mkdir(exist_ok=True)
    (Path(there.work) / "begun").write_text("upgrade\n")
    assert parse_observation(run(home, observe("x"))).conda is None
    after = parse(run(home, look("~/mine", "")))
    assert (after.state, after.begun) == (State.BEGUN, "upgrade")


def test_installer_for_bash_on_a_node_without_it(tmp_path: Path) -> None:
    home, programs = tmp_path / "home", tmp_path / "bin"
    programs.mkdir()
    for each in _NEEDED:
        (programs / each).symlink_to(Path("/usr/bin") / each)
    installer = made(tmp_path, "#!/usr/bin/env bash\nexit 0\n")
    there = parse(run(home, look("~/mine", "")))
    assert run(home, there.upload(installer)).exit_code == 0
    done = run(home, there.install(installer, Step.INSTALL, 60), str(programs))
    assert done.exit_code == 1
    assert failure("installing", 1, done.log).cause == "needs-bash"
    assert not list(Path(there.work).iterdir())


def test_installer_that_arrived_otherwise_is_not_run(tmp_path: Path) -> None:
    home = tmp_path / "home"
    installer = made(tmp_path, GOOD)
    there = parse(run(home, look("~/mine", "")))
    assert run(home, there.upload(installer)).exit_code == 0
    with (Path(there.work) / "installer.sh").open("a") as stream:
        stream.write("\n")
    done = run(home, there.install(installer, Step.INSTALL, 60))
    assert failure("installing", done.exit_code, done.log).cause == "installer-damaged"
    assert not (home / "mine").exists()


def test_place_of_somebody_else_is_not_removed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "mine").mkdir(parents=True)
    there = parse(run(home, look("~/mine", "")))
    assert there.state is State.FOREIGN
    assert decide(BARE, there, replace(WISH, remove=True)) == Plan(
        Step.NOTHING, "there is no conda to remove"
    )
    done = run(home, there.uninstall(60))
    assert failure("removing", done.exit_code, done.log).cause == "in-the-way"
    assert (home / "mine").exists()


def test_removal_takes_its_line_from_the_list_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    there = whole(home, made(tmp_path, GOOD))
    known = home / ".conda" / "environments.txt"
    known.write_text(f"/a\n{there.prefix}\n{there.prefix}/envs/train\n{there.prefix}-other\n")
    assert run(home, there.uninstall(60)).exit_code == 0
    assert known.read_text() == f"/a\n{there.prefix}-other\n"
    assert not (home / "mine").exists()
    assert not list(Path(there.work).iterdir())
