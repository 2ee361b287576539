"""Secrets that people put into URLs, and text that must stay as it is."""

from __future__ import annotations

import time

import pytest

from envsync.redact import bare, redact, restore


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("https://user:hunter2@host.test/x", "https://***@host.test/x"),
        ("git+https://tok3n@host.test/x.git", "git+https://***@host.test/x.git"),
        ("https://conda.test/t/tk-123-abc/chan", "https://conda.test/t/***/chan"),
        ("see https://h.test/x?token=abc&y=1", "see https://h.test/x?token=***&y=1"),
        ("https://h.test/x?private_token=abc", "https://h.test/x?private_token=***"),
        ("https://user:p@ss@host.test/x", "https://***@host.test/x"),
        ("https://a:b@h.test/x,https://c:d@h.test", "https://***@h.test/x,https://***@h.test"),
        ("https://a:b@h.test/t/tk-1/c", "https://***@h.test/t/***/c"),
        (
            "'https://a:b@h.test' \"http://c:d@h.test\"",
            "'https://***@h.test' \"http://***@h.test\"",
        ),
    ],
)
def test_secrets_go(text: str, clean: str) -> None:
    assert redact(text) == clean


@pytest.mark.parametrize(
    "text", ["user@host:22", "https://host.test/pkg@1.0", "/t/file", "numpy=1.26", "a@b"]
)
def test_the_rest_stays(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "text", ["://" * 50_000, "x://t/" * 50_000, "a." * 100_000, "https://" + "a@" * 100_000]
)
def test_time_is_linear_in_what_a_node_may_print(text: str) -> None:
    started = time.monotonic()
    redact(text)
    assert time.monotonic() - started < 8


def test_bare_address_and_back() -> None:
    channel = "https://me:p%40w@c.test/t/tk-1/private"
    assert bare(channel) == "https://c.test/private"
    assert bare("https://c.test/a@b/c") == "https://c.test/a@b/c"
    assert bare("file:///a/b") == "file:///a/b"
    text = "https://c.test/private/linux-64/x.conda\nhttps://c.test/public/y.conda\n"
    assert restore(text, [channel, "conda-forge"]).splitlines() == [
        f"{channel}/linux-64/x.conda",
        "https://c.test/public/y.conda",
    ]


def test_reference_to_a_branch_is_no_part_of_the_address() -> None:
    asked = "git+https://tok@g.test/a/flash@main#egg=flash"
    text = "flash @ git+https://g.test/a/flash@0123abc"
    assert restore(text, [asked]) == "flash @ git+https://tok@g.test/a/flash@0123abc"
