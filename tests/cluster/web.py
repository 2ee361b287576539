"""A channel and an index over HTTP: counts what is asked of it, and may break off."""

from __future__ import annotations

import re
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self


class Web:
    """Serves a folder on loopback, with ranges."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[tuple[str, str, str]] = []
        """Path, User-Agent and Range of each request."""
        self.break_after = 0
        """Bytes of a file after which the next answer is cut off; 0: none is."""
        handler = partial(_Handler, self, directory=str(folder))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def agents(self, ending: str) -> set[str]:
        """Who asked for files of that ending, in the first word of what they call themselves."""
        return {agent.partition("/")[0] for path, agent, _ in self.asked if path.endswith(ending)}


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, web: Web, *args: Any, **words: Any) -> None:
        self._web = web
        super().__init__(*args, **words)

    def do_GET(self) -> None:
        wanted = self.headers.get("Range", "")
        self._web.asked.append((self.path, self.headers.get("User-Agent", ""), wanted))
        file = Path(self.translate_path(self.path))
        if not file.is_file():
            super().do_GET()
            return
        raw = file.read_bytes()
        found = re.fullmatch(r"bytes=(\d+)-", wanted)
        start = int(found[1]) if found else 0
        if start and start >= len(raw):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(raw) - start))
        self.end_headers()
        part = raw[start:]
        if self._web.break_after:
            part, self._web.break_after = part[: self._web.break_after], 0
            self.close_connection = True
        self.wfile.write(part)

    def log_message(self, *_: object) -> None:
        """Say nothing on standard error."""
