"""Secrets that people put into URLs, and text that must stay as it is."""

from __future__ import annotations

import pytest

from envsync.redact import redact


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("https://user:hunter2@host.test/x", "https://***@host.test/x"),
        ("git+https://tok3n@host.test/x.git", "git+https://***@host.test/x.git"),
        ("https://conda.test/t/tk-123-abc/chan", "https://conda.test/t/***/chan"),
        ("see https://h.test/x?token=abc&y=1", "see https://h.test/x?token=***&y=1"),
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
