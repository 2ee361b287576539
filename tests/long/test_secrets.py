"""No credential is shown, logged, kept or seen in a process list, whatever needs it."""

from __future__ import annotations

import base64
import contextlib
import html
import io
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import BinaryIO

import pytest

from cluster.conftest import Maker
from cluster.lab import Cluster, Ran
from cluster.secrecy import Watch, holders
from envsync.demo.channel import Built, Channel, wheel

SECRETS = PASSWORD, TOKEN, INDEX = "pw-3f9a1c77", "tk-5b2e8d40", "ix-91c6e0ab"


class Private(SimpleHTTPRequestHandler):
    """/private and /simple want a password, and /t/TOKEN/tok the right token."""

    def send_head(self) -> io.BytesIO | BinaryIO | None:
        top, _, rest = self.path.lstrip("/").partition("/")
        wanted = {"private": PASSWORD, "simple": INDEX, "t": ""}.get(top)
        if wanted is None or (top == "t" and not rest.startswith(f"{TOKEN}/")):
            self.send_error(404)
        elif wanted and self.headers.get("Authorization") != basic(wanted):
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            return super().send_head()
        return None

    def log_message(self, *_: object) -> None:
        """Nothing: what it is asked for holds the token."""


def basic(password: str) -> str:
    return "Basic " + base64.b64encode(f"user:{password}".encode()).decode()


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve a folder on a loopback address of its own; yields host and port."""
    server = ThreadingHTTPServer(("127.0.0.9", 0), partial(Private, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.9:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def private(make_cluster: Maker, tmp_path: Path) -> Iterator[Cluster]:
    """Two nodes, and an environment whose packages all need a credential."""
    cluster = make_cluster(2)
    served = tmp_path / "served"
    (served / "simple" / "einlike").mkdir(parents=True)
    (served / "private").symlink_to(cluster.lab.channel.folder)
    secret = Channel(served / "t" / TOKEN / "tok")
    secret.add(Built("hushed", "1.0", files={"share/hushed.txt": "x\n"}))
    file = wheel(served / "simple" / "einlike", "einlike", "0.8.0", {"einlike.py": "x = 1\n"})
    name = html.escape(file.name)
    (file.parent / "index.html").write_text(f'<a href="{name}">{name}</a>\n')
    with serving(served) as at:
        for node in cluster.nodes:
            pip = node.home / ".config" / "pip" / "pip.conf"
            pip.write_text(f"[global]\nindex-url = http://{at}/open\nretries = 0\n")
        write(cluster, at, "hushed")
        yield cluster


def write(cluster: Cluster, at: str, package: str) -> None:
    (cluster.folder / "environment.yml").write_text(
        "name: train\nchannels:\n"
        f"  - http://user:{PASSWORD}@{at}/private\n  - http://{at}/t/{TOKEN}/tok\n  - nodefaults\n"
        f"dependencies:\n  - python=3\n  - pip\n  - {package}\n  - pip:\n"
        f"      - --extra-index-url http://user:{INDEX}@{at}/simple\n      - einlike==0.8.0\n"
    )


def test_no_credential_is_shown_kept_or_seen(private: Cluster, tmp_path: Path) -> None:
    home = tmp_path / "operator"
    home.mkdir()
    one, two = private.nodes

    def run(*words: str, code: int = 0) -> Ran:
        done = private.run(*words, env={"HOME": str(home)})
        assert done.code == code, f"{words}: {done.out}{done.err}"
        for secret in SECRETS:
            assert secret not in done.out + done.err, words
        return done

    with Watch(*SECRETS) as watch:
        run("lint")
        run("lint", "--json")
        run("lock", "hosts.txt")
        run("push", "hosts.txt", "-v")
        run("push", "hosts.txt", "--rebuild", "--relock", "--json")
        for words in (("verify",), ("status",), ("log",), ("diff", one.host, two.host)):
            run(*words)
            run(*words, "--json")
        run("export", one.host)
        run("export", one.host, "--explicit")
        run("push", "hosts.txt", "--no-lock", "-v")
        run("verify")
        text = (private.folder / "environment.yml").read_text()
        (private.folder / "environment.yml").write_text(text.replace("0.8.0", "9.9"))
        run("push", "hosts.txt", "-v", code=1)
        run("push", "hosts.txt", "--no-lock", "--json", code=1)
        run("log", "--json")
    assert watch.rounds > 20
    assert not watch.seen
    own = (private.folder / "environment.yml",)
    # conda keeps the addresses of its package cache as it needs them for the next download.
    caches = tuple(node.root / "pkgs" for node in private.nodes)
    folders = (private.folder, home, *(node.home for node in private.nodes))
    kept = [line for folder in folders for line in holders(folder, SECRETS, (*own, *caches))]
    assert not kept, "\n".join(kept)
