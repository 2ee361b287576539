"""Builds and runs images as a builder and a kubelet would, from Dockerfiles of ours.

A stage is a folder that is laid over this machine's root (overlayfs, in a mount namespace of each
command's own), and what a base image has is what this machine has. So it needs root. What is read
of a Dockerfile is what `envsync image` writes; anything else is an error.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_ENTER = r"""
root=$1 upper=$2 work=$3 options=$4 user=$5 folder=$6
shift 6
mount -t overlay overlay -o "lowerdir=/,upperdir=$upper,workdir=$work" "$root"
for each in proc sys dev; do mount --rbind "/$each" "$root/$each"; done
while [ "$1" != -- ]; do
    mount --bind "$1" "$root$2"
    shift 2
done
shift
[ "$options" != ro ] || mount -o remount,ro "$root"
exec chroot --userspec="+$user:+$user" --groups= "$root" sh -c 'cd "$0" && exec "$@"' "$folder" "$@"
"""


@dataclass
class Stage:
    """A root file system in the making, and what its instructions have set."""

    folder: Path
    env: dict[str, str] = field(default_factory=lambda: {"PATH": PATH})
    user: str = "0"
    workdir: str = "/"

    def __post_init__(self) -> None:
        for part in (self.upper, self.folder / "work", self.folder / "root"):
            part.mkdir(parents=True)
        # The Python of the lab's packages may lie in root's home, which is closed to others.
        for parent in list(reversed(Path(sys.base_prefix).parents))[1:]:
            there = self.upper / str(parent).lstrip("/")
            there.mkdir()
            there.chmod(0o755)

    @property
    def upper(self) -> Path:
        """What differs from this machine's own root."""
        return self.folder / "upper"

    def run(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        binds: Mapping[Path, str] | None = None,
        *,
        read_only: bool = False,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program in it; `binds` are folders of this machine, by where they are there."""
        for there in (binds or {}).values():
            (self.upper / there.lstrip("/")).mkdir(parents=True, exist_ok=True)
        mounts = [str(word) for pair in (binds or {}).items() for word in pair]
        places = [self.folder / "root", self.upper, self.folder / "work"]
        words = [*map(str, places), "ro" if read_only else "rw", self.user, self.workdir]
        alone = [
            "unshare",
            "--mount",
            "--propagation",
            "private",
            *(["--net"] if read_only else []),
        ]
        return subprocess.run(
            [*alone, "sh", "-euc", _ENTER, "sh", *words, *mounts, "--", *argv],
            env=dict(env),
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )


def build(context: Path, folder: Path, bases: Mapping[str, Path], env: Mapping[str, str]) -> Stage:
    """The last stage of `context/Dockerfile`.

    `bases` has files for the images that stages begin with, and `env` what this machine's own
    settings add to those of the builder.
    """
    stages: dict[str, Stage] = {}
    stage = None
    for word, rest in _instructions((context / "Dockerfile").read_text()):
        if word == "FROM":
            found = re.fullmatch(r"--platform=\S+ (\S+?)(?::\S+)?(?: AS (\w+))?", rest)
            assert found, rest
            stage = stages[found[2] or "final"] = Stage(folder / (found[2] or "final"))
            if found[1] in bases:
                shutil.copytree(bases[found[1]], stage.upper, dirs_exist_ok=True)
            continue
        assert stage is not None
        _follow(stage, stages, context, word, rest, env)
    return stages["final"]


def _follow(
    stage: Stage, stages: Mapping[str, Stage], context: Path, word: str, rest: str,
    env: Mapping[str, str],
) -> None:  # fmt: skip
    if word == "RUN":
        done = stage.run(["/bin/sh", "-euc", rest], {"HOME": "/root", **env, **stage.env})
        assert done.returncode == 0, rest + done.stdout + done.stderr
    elif word == "ENV":
        for name, value in re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', rest):
            text = re.sub(r"(?<!\\)\$PATH", stage.env["PATH"], value)
            stage.env[name] = re.sub(r"\\(.)", r"\1", text)
    elif word == "USER":
        stage.user = rest
    elif word == "WORKDIR":
        stage.workdir = rest
    elif word == "COPY":
        _copy(stage, stages, context, rest)
    else:
        assert word in {"SHELL", "LABEL"}, word


def _copy(stage: Stage, stages: Mapping[str, Stage], context: Path, rest: str) -> None:
    if here := re.match(r"(--chmod=755 )?<<'\w+' (\S+)\n", rest):
        target = stage.upper / here[2].lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(rest[here.end() :])
        target.chmod(0o755 if here[1] else 0o644)
        return
    words = rest.split()
    source = context
    if words[0].startswith("--from="):
        source = stages[words.pop(0).removeprefix("--from=")].upper
    target = stage.upper / words[1].lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    if words[1].endswith("/"):
        target.mkdir(exist_ok=True)
    subprocess.run(["cp", "-a", str(source / words[0].lstrip("/")), str(target)], check=True)


def _instructions(text: str) -> Iterator[tuple[str, str]]:
    """Continued lines are joined; a here-document follows its first line."""
    lines = iter(text.splitlines())
    for line in lines:
        if not line or line.startswith("#"):
            continue
        whole = line
        while whole.endswith("\\"):
            whole = whole[:-1] + next(lines)
        word, _, rest = whole.partition(" ")
        if end := re.search(r"<<'(\w+)'", rest) if word == "COPY" else None:
            rest += "\n"
            while (each := next(lines)) != end[1]:
                rest += f"{each}\n"
        yield word, rest
