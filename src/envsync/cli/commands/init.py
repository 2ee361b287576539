"""envsync init."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from envsync.errors import ExitCode, InputError
from envsync.starter import CHANNELS, CPU, GPUS, Answers, hardware, starter
from envsync.store import write_whole


@dataclass(frozen=True)
class Target:
    """Where the file goes."""

    file: Path
    force: bool

    def check(self) -> None:
        """Before any question is asked. Raises InputError for a file that has to stay."""
        if self.file.exists() and not self.force:
            raise self._there()

    def write(self, text: str) -> None:
        """Raises InputError where it cannot be written, or is there already without --force."""
        try:
            with self.file.open("w" if self.force else "x", encoding="utf-8") as stream:
                stream.write(text)
        except FileExistsError as error:
            raise self._there() from error
        except OSError as error:
            raise InputError(
                f"{self.file} cannot be written: {error.strerror}",
                hint="name a folder that is there, or a file in one with -o FILE",
            ) from error

    def beside(self, name: str, raw: bytes) -> Path:
        """Write another file into the same folder, whose name says what is in it."""
        file = self.file.parent / name
        try:
            write_whole(file, raw, mode=0o644)
        except OSError as error:
            raise InputError(
                f"{file} cannot be written: {error.strerror}", hint="see to the folder's mode"
            ) from error
        return file

    def _there(self) -> InputError:
        return InputError(
            f"{self.file} is there already, and stays as it is",
            hint="write elsewhere with -o FILE, or replace it with --force",
        )


def init(target: Target, said: Mapping[str, str | None], *, yes: bool, as_json: bool) -> int:
    """Write a first environment file; `said` has the words of options, None where none was."""
    target.check()
    given = {key: value for key, value in said.items() if value is not None}
    missing = [key for key in QUESTIONS if key not in given]
    if missing and not yes and sys.stdin is not None and sys.stdin.isatty():
        given |= _ask(given)
    elif missing and not yes:
        _say(f"No terminal to ask on: taking the defaults for {', '.join(missing)}.")
    answers = Answers(**given)
    text = starter(answers)
    target.write(text)
    _say(f"Wrote {target.file}: {answers.called}. Next: envsync lint {target.file}")
    if as_json:
        from envsync.render.envelope import envelope  # noqa: PLC0415 (on need)

        result = {"file": str(target.file), "name": answers.called, "text": text}
        print(envelope("init", ExitCode.OK, result))
    return ExitCode.OK


QUESTIONS = {
    "name": "What is it for (such as nlp pretrain)?",
    "cuda": f"GPU ({', '.join(GPUS)}), version of CUDA, or {CPU}?",
    "torch": "Which torch?",
    "channel": f"Where does torch come from ({', '.join(CHANNELS)})?",
}
"""What is asked for when no option says it."""


def _ask(given: Mapping[str, str]) -> dict[str, str]:
    defaults = {
        "name": "pretrain",
        "cuda": Answers.cuda,
        "torch": Answers.torch,
        "channel": Answers.channel,
    }
    found: dict[str, str] = {}
    for key, question in QUESTIONS.items():
        if key not in given:
            print(f"{question} [{defaults[key]}] ", end="", file=sys.stderr, flush=True)
            found[key] = sys.stdin.readline().strip() or defaults[key]
    if "name" in found:
        work = re.sub(r"[^a-z0-9]+", "-", found["name"].lower()).strip("-")
        hard = hardware(given.get("cuda") or found["cuda"])
        found["name"] = work if work.endswith(f"-{hard}") else f"{work}-{hard}"
    return found


def _say(text: str) -> None:
    print(text, file=sys.stderr)
