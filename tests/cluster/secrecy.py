"""Looks for secrets where everybody can look: in process lists and in files."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Collection
from pathlib import Path
from typing import Self


class Watch(threading.Thread):
    """Reads all command lines of this machine, which is the client and the nodes, over and over."""

    def __init__(self, *secrets: str) -> None:
        super().__init__(daemon=True)
        self._secrets = [each.encode() for each in secrets]
        self.seen: set[bytes] = set()
        self.rounds = 0
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.is_set():
            for file in Path("/proc").glob("[0-9]*/cmdline"):
                with contextlib.suppress(OSError):
                    text = file.read_bytes()
                    if any(secret in text for secret in self._secrets):
                        self.seen.add(text)
            self.rounds += 1
            time.sleep(0.003)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()


def holders(folder: Path, secrets: Collection[str], but: Collection[Path] = ()) -> list[str]:
    """The files below a folder that hold a credential, with the place where they do."""
    files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    contents = {
        file: file.read_bytes()
        for file in files
        if not file.is_symlink() and not {file, *file.parents} & {*but}
    }
    return [
        f"{file}: {raw[max(0, at - 60) : at + 20]!r}"
        for file, raw in contents.items()
        for secret in secrets
        if (at := raw.find(secret.encode())) >= 0
    ]
