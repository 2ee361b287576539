"""What pip records of where a package came from, beside what a lock says of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from envsync.lock import local_line
from envsync.model import UNKNOWN
from envsync.origin import locked, recorded

COMMIT = "0123456789abcdef0123456789abcdef01234567"
SENT = "file:///home/ada/envs/.envsync/train/0a1b2c.files"
HASH = "a" * 64


@pytest.mark.parametrize(
    ("record", "line"),
    [
        ({}, "tiny==1.0 --hash=sha256:aa"),
        (
            {"url": "https://me:pw@h.test/t.git", "vcs_info": {"vcs": "git", "commit_id": COMMIT}},
            f"tiny @ git+https://h.test/t.git@{COMMIT}",
        ),
        (
            {"url": "ssh://git@h.test/t", "vcs_info": {"vcs": "git", "commit_id": COMMIT},
             "subdirectory": "py"},
            f"tiny @ git+ssh://h.test/t@{COMMIT}#subdirectory=py",
        ),
        (
            {"url": "https://h.test/t-1.0.zip", "archive_info": {"hash": "sha256=aa"}},
            "tiny @ https://h.test/t-1.0.zip --hash=sha256:aa",
        ),
        (
            {"url": f"{SENT}/wheels/t%2Bcpu.whl", "archive_info": {}},
            local_line("tiny", "wheels/t+cpu.whl", HASH, tree=False, editable=False),
        ),
        (
            {"url": SENT, "dir_info": {"editable": True}},
            local_line("tiny", ".", HASH, tree=True, editable=True),
        ),
        (
            {"url": f"{SENT}/lib", "dir_info": {}},
            local_line("tiny", "../lib", HASH, tree=True, editable=False),
        ),
    ],
)  # fmt: skip
def test_what_was_locked_is_what_pip_records(record: Mapping[str, Any], line: str) -> None:
    assert recorded(record) == locked(line)


def test_another_commit_a_folder_of_a_node_and_an_index_are_told_apart() -> None:
    git: Mapping[str, Any] = {"url": "https://h.test/t", "vcs_info": {"vcs": "git"}}
    found = [
        recorded({}),
        recorded({**git, "vcs_info": {"vcs": "git", "commit_id": COMMIT}}),
        recorded({**git, "vcs_info": {"vcs": "git", "commit_id": "f" * 40}}),
        recorded({"url": "file:///home/ada/my%20lib", "dir_info": {"editable": True}}),
        recorded({"url": SENT, "dir_info": {"editable": True}}),
    ]
    assert len(set(found)) == len(found)
    assert found[3] == "/home/ada/my lib (editable)"


def test_branch_in_a_lock_of_another_tool_is_not_compared() -> None:
    assert locked("tiny @ git+https://h.test/t@main") == UNKNOWN


def test_no_secret_is_kept() -> None:
    assert "pw" not in recorded({"url": "https://me:pw@h.test/t.zip"})
