"""What a command's bytes go through on this side: cut out of noise, into lines, read from files."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from envsync.errors import HostError
from envsync.ports import LineSink, Piece


class Frame:
    """Cuts the script's own bytes out of a stream that starts and ends with noise."""

    def __init__(self, mark: bytes) -> None:
        self.noise = bytearray()
        self.opened = False
        self.closed = False
        self._open = b"\n" + mark + b"\n"
        self._close = mark
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Take bytes as they come; give back those that belong to the script."""
        if self.closed:
            return b""
        self._held += data
        if not self.opened:
            before, found, after = self._held.partition(self._open)
            if not found:
                return b""
            self.noise += before
            self.opened, self._held = True, after
        inside, found, _ = self._held.partition(self._close)
        if found:
            self.closed, self._held = True, b""
            return inside
        # Only what may be the beginning of the closing mark waits for more.
        keep = next(n for n in range(len(self._close), -1, -1) if inside.endswith(self._close[:n]))
        cut = len(inside) - keep
        ready, self._held = inside[:cut], inside[cut:]
        return ready

    def rest(self) -> bytes:
        """What is held back when the stream ends early; noise if the frame never opened."""
        held, self._held = self._held, b""
        if self.opened:
            return held
        self.noise += held
        return b""


class Lines:
    """Cuts text into lines as bytes arrive; a carriage return (a progress bar) ends one too."""

    def __init__(self, sink: LineSink | None) -> None:
        self._sink = sink
        self._held = b""

    def feed(self, data: bytes) -> None:
        if self._sink is None:
            return
        *lines, self._held = (self._held + data).replace(b"\r", b"\n").split(b"\n")
        for line in lines:
            if text := line.decode("utf-8", "replace").strip():
                self._sink(text)


class Feed:
    """What is still to be sent: the prologue, then the script's own input.

    Files are read a piece at a time, so that big ones take no more memory for many hosts.
    """

    PIECE = 1 << 20

    def __init__(
        self,
        prologue: bytes,
        stdin: bytes | Path | tuple[Piece, ...] | None,
        on_line: LineSink | None = None,
    ) -> None:
        """`on_line` is told how much of the files is sent."""
        files = (Piece(stdin),) if isinstance(stdin, Path) else stdin
        self._files = list(files) if isinstance(files, tuple) else []
        self._open: BinaryIO | None = None
        self._piece = memoryview(prologue + (stdin if isinstance(stdin, bytes) else b""))
        self._on_line = on_line
        self._done = 0

    @property
    def pending(self) -> memoryview:
        """The next bytes to send; empty when there are no more."""
        while not self._piece and self._files:
            self._piece = memoryview(self._read(self._files[0]))
        return self._piece

    def sent(self, count: int) -> None:
        """So many of the pending bytes are on their way."""
        self._piece = self._piece[count:]

    def close(self) -> None:
        """Send no more, whoever may have wanted it."""
        self._piece = self._piece[:0]
        self._files.clear()
        self._shut()

    def _shut(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def _read(self, piece: Piece) -> bytes:
        try:
            if self._open is None:
                self._open = piece.file.open("rb")
                self._open.seek(piece.start)
            most = self.PIECE
            if piece.size is not None:
                most = min(most, piece.start + piece.size - self._open.tell())
            data = self._open.read(most)
        except OSError as error:
            raise HostError(
                "local-file",
                f"{piece.file} could not be read on this machine: {error.strerror}",
                hint="see to the file, then run the same command again",
            ) from error
        if data and self._on_line:
            self._done += len(data)
            self._on_line(f"{self._done / 1e6:.1f} MB")
        if not data:
            self._files.pop(0)
            self._shut()
        return data
