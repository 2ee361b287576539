"""Versions as conda and pip write them."""

from __future__ import annotations

import pytest

from envsync.lint.wishes import lowest, only


@pytest.mark.parametrize(
    ("version", "least", "alone"),
    [
        ("2.5.*", (2, 5), (2, 5)),
        ("==2.5.1+cu118", (2, 5), (2, 5)),
        ("~=2.5.0", (2, 5), (2, 5)),
        ("~=2.5", (2, 5), None),
        (">=2.1,<3", (2, 1), None),
        ("<3,>=2.1", (2, 1), None),
        (">2.5", (2, 5), None),
        ("12.*", (12, 0), None),
        ("<2", None, None),
        ("2.1.*|2.5.*", None, None),
        ("*", None, None),
        ("", None, None),
    ],
)
def test_versions(
    version: str, least: tuple[int, int] | None, alone: tuple[int, int] | None
) -> None:
    assert lowest(version) == least
    assert only(version) == alone
