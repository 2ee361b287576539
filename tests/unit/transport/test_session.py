"""paramiko's session with our own waiting: against small servers on a socket pair."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import paramiko
import pytest

from envsync.transport.session import Session


class Server(paramiko.ServerInterface):
    """Takes one key, and says when it has been asked; `answers` lets it answer."""

    def __init__(self, good: paramiko.PKey) -> None:
        self.good = good
        self.asked = threading.Event()
        self.answers = threading.Event()
        self.answers.set()

    def get_allowed_auths(self, username: str) -> str:  # noqa: ARG002 (paramiko's)
        return "publickey"

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:  # noqa: ARG002
        self.asked.set()
        self.answers.wait(20)
        return paramiko.AUTH_SUCCESSFUL if key == self.good else paramiko.AUTH_FAILED


@pytest.fixture(scope="module")
def keys() -> tuple[paramiko.PKey, paramiko.PKey]:
    return paramiko.ECDSAKey.generate(), paramiko.ECDSAKey.generate()


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@pytest.fixture
def server(
    ends: tuple[socket.socket, socket.socket], keys: tuple[paramiko.PKey, paramiko.PKey]
) -> Iterator[tuple[Server, paramiko.Transport]]:
    transport = paramiko.Transport(ends[1])
    transport.add_server_key(paramiko.ECDSAKey.generate())
    answers = Server(keys[0])
    transport.start_server(threading.Event(), answers)
    yield answers, transport
    answers.answers.set()
    transport.close()


def test_no_thread_counts_the_seconds_of_a_handshake(
    ends: tuple[socket.socket, socket.socket],
    server: tuple[Server, paramiko.Transport],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    del server  # which has a timer of its own, of 15 s
    counted: list[float] = []
    timer = threading.Timer

    def counting(interval: float, *rest: object) -> threading.Timer:
        counted.append(interval)
        return timer(interval, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(threading, "Timer", counting)
    session = Session(ends[0])
    session.handshake_timeout = 7
    session.start_client(timeout=10)
    session.close()
    assert 7 not in counted


def test_a_server_that_is_silent_ends_the_wait_at_the_limit(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    ends[1].sendall(b"SSH-2.0-silent\r\n")
    session = Session(ends[0])
    started = time.monotonic()
    session.start_client(timeout=1.5)
    assert 1.4 < time.monotonic() - started < 3
    with pytest.raises(paramiko.SSHException):
        session.get_remote_server_key()
    session.close()


def test_a_server_that_hangs_up_is_noticed_at_once(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    ends[1].sendall(b"SSH-2.0-short\r\n")
    session = Session(ends[0])
    threading.Timer(0.3, lambda: ends[1].shutdown(socket.SHUT_RDWR)).start()
    started = time.monotonic()
    with pytest.raises((EOFError, paramiko.SSHException, OSError)):
        session.start_client(timeout=20)
    assert time.monotonic() - started < 5
    session.close()


def test_keys_are_taken_and_refused(
    ends: tuple[socket.socket, socket.socket],
    server: tuple[Server, paramiko.Transport],
    keys: tuple[paramiko.PKey, paramiko.PKey],
) -> None:
    del server
    session = Session(ends[0])
    session.start_client(timeout=10)
    with pytest.raises(paramiko.AuthenticationException):
        session.auth_publickey("me", keys[1])
    assert session.auth_publickey("me", keys[0]) == []
    assert session.is_authenticated()
    session.close()


def test_a_server_that_hangs_up_during_the_login_is_noticed(
    ends: tuple[socket.socket, socket.socket],
    server: tuple[Server, paramiko.Transport],
    keys: tuple[paramiko.PKey, paramiko.PKey],
) -> None:
    answers, _ = server
    answers.answers.clear()
    session = Session(ends[0])
    session.start_client(timeout=10)

    def hang_up() -> None:
        answers.asked.wait(10)
        ends[1].shutdown(socket.SHUT_RDWR)

    threading.Thread(target=hang_up, daemon=True).start()
    started = time.monotonic()
    with pytest.raises(paramiko.AuthenticationException):
        session.auth_publickey("me", keys[0])
    assert time.monotonic() - started < 10
    session.close()


def test_a_login_that_gets_no_answer_ends_at_its_limit(
    ends: tuple[socket.socket, socket.socket],
    server: tuple[Server, paramiko.Transport],
    keys: tuple[paramiko.PKey, paramiko.PKey],
) -> None:
    server[0].answers.clear()
    session = Session(ends[0])
    session.auth_timeout = 1.5
    session.start_client(timeout=10)
    started = time.monotonic()
    with pytest.raises(paramiko.AuthenticationException):
        session.auth_publickey("me", keys[0])
    assert time.monotonic() - started < 5
    session.close()
