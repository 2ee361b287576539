"""Proxies and certificates as users write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from envsync.errors import InputError
from envsync.network import read_certificates, read_proxy


def test_proxy_with_the_values_of_its_variables() -> None:
    assert read_proxy("http://p.test:3128/", {}) == "http://p.test:3128"
    assert read_proxy("HTTP://me:$PW@p.test:3128", {"PW": "a@b"}) == "http://me:a%40b@p.test:3128"
    with pytest.raises(InputError, match="PW is not set"):
        read_proxy("http://me:${PW}@p.test", {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p.test:3128", "no address of a proxy"),
        ("ftp://p.test", "no address of a proxy"),
        ("http://", "no address of a proxy"),
        ("http://p.test/path", "no address of a proxy"),
        ("http://:$PW@p.test", "no address of a proxy"),
        ("http://$HOST", "no address of a proxy"),
        ("http://me:secret@p.test", "a password stands in it"),
    ],
)
def test_bad_proxies_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        read_proxy(text, {"PW": "x", "HOST": "x"})
    assert message in str(error.value)
    assert "secret" not in str(error.value)


def test_what_is_no_file_of_certificates_is_refused(tmp_path: Path) -> None:
    for raw, message in (
        (b"", "no certificates"),
        (b"text\n", "no certificates"),
        (b"\xff\xfe", "no certificates"),
        (b"-----BEGIN PRIVATE KEY-----\n", "a private key"),
    ):
        (tmp_path / "ca.pem").write_bytes(raw)
        with pytest.raises(InputError, match=message):
            read_certificates(tmp_path / "ca.pem")
    with pytest.raises(InputError, match="cannot be read"):
        read_certificates(tmp_path / "none.pem")
