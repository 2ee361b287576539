"""A channel and an index over HTTP: counts what is asked of it, and may break off."""

from __future__ import annotations

import base64
import re
import ssl
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self


class Web:
    """Serves a folder on loopback, with ranges."""

    def __init__(
        self,
        folder: Path,
        *,
        address: str = "127.0.0.1",
        login: str = "",
        context: ssl.SSLContext | None = None,
    ) -> None:
        """`login` is what is wanted of whoever asks (`user:password`); `context` makes it TLS."""
        self.asked: list[tuple[str, str, str]] = []
        """Path, User-Agent and Range of each request."""
        self.break_after = 0
        """Bytes of a file after which the next answer is cut off; 0: none is."""
        self.gate = threading.Event()
        """No archive is given out before it is set."""
        self.gate.set()
        self.wants = f"Basic {base64.b64encode(login.encode()).decode()}" if login else ""
        handler = partial(_Handler, self, directory=str(folder))
        self._server = ThreadingHTTPServer((address, 0), handler)
        self._server.daemon_threads = True
        if context:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"http{'s' if context else ''}://{address}:{self._server.server_port}"

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
        if self._web.wants and self.headers.get("Authorization") != self._web.wants:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="mirror"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if self.path.endswith(".tar.bz2"):
            self._web.gate.wait(60)
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
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(raw) - 1}/{len(raw)}")
        self.send_header("Content-Length", str(len(raw) - start))
        self.end_headers()
        part = raw[start:]
        if self._web.break_after:
            part, self._web.break_after = part[: self._web.break_after], 0
            self.close_connection = True
        self.wfile.write(part)

    def log_message(self, *_: object) -> None:
        """Say nothing on standard error."""
