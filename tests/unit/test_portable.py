"""The text of an export."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from envsync.portable import channels_of, clean, explicit, portable
from envsync.reference import CondaRecord, PipRecord, Reference

FORGE = "https://conda.anaconda.org/conda-forge"
COMMIT = "0" * 40


def record(name: str, version: str, channel: str = FORGE) -> CondaRecord:
    url = f"{channel}/linux-64/{name}-{version}-h0_0.conda"
    return CondaRecord(name, version, "h0_0", channel, url, "a" * 32)


def reference(*pip: PipRecord, **more: Any) -> Reference:
    conda = (record("zlib", "1.10"), record("python", "3.11.7"))
    return Reference("train", "linux-64", **{"conda": conda, "pip": pip, **more})


def test_text() -> None:
    made = portable(reference(PipRecord("einops", "0.8"), variables=(("A", "1e3"),)))
    assert made.text == (
        "name: train\nchannels:\n  - conda-forge\n  - nodefaults\ndependencies:\n"
        "  - python=3.11.7\n  - zlib=1.10\n  - pip:\n      - einops==0.8\n"
        'variables:\n  A: "1e3"\n'
    )


def test_a_name_that_looks_like_a_number_stays_text() -> None:
    made = portable(Reference("1.10", "linux-64", (record("zlib", "1"),), ()))
    assert yaml.safe_load(made.text)["name"] == "1.10"


def test_builds() -> None:
    assert portable(reference(), builds=True).conda == ("python=3.11.7=h0_0", "zlib=1.10=h0_0")


def test_from_history_keeps_what_was_asked_for() -> None:
    pip = (PipRecord("a", "1"), PipRecord("b", "1", needed=True))
    made = portable(reference(*pip, asked=("python=3.11",)), from_history=True)
    assert (made.conda, made.pip) == (("python=3.11",), ("a==1",))
    unknown = portable(reference(), from_history=True)
    assert len(unknown.conda) == 2
    assert unknown.notes


def test_explicit_is_in_linking_order_with_hashes() -> None:
    lines = explicit(reference(PipRecord("a", "1"))).text.splitlines()
    assert lines[:2] == ["# platform: linux-64", "@EXPLICIT"]
    assert lines[2] == f"{FORGE}/linux-64/zlib-1.10-h0_0.conda#{'a' * 32}"
    assert lines[-2:] == ["# pip:", "#   a==1"]


def test_origins() -> None:
    vcs = {"url": "https://u:hunter2@g.test/r.git", "vcs_info": {"vcs": "git", "commit_id": COMMIT}}
    direct = {"url": "https://u:hunter2@g.test/x-1.whl", "archive_info": {}}
    here = {"url": "file:///home/me/x", "dir_info": {"editable": True}}
    made = portable(
        reference(
            PipRecord("a", "1", vcs),
            PipRecord("b", "1", direct),
            PipRecord("c", "1", here),
            indexes=(
                ("--index-url", "https://u:hunter2@p.test/simple"),
                ("--find-links", "/srv/wheels"),
            ),
        )
    )
    assert made.pip == (
        "--index-url https://p.test/simple",
        f"a @ git+https://g.test/r.git@{COMMIT}",
        "b @ https://g.test/x-1.whl",
    )
    assert "# c 1 cannot be exported: installed as editable from file:///home/me/x" in made.text
    assert "hunter2" not in made.text


def test_variables_that_are_secret_or_shell_text_are_left_out() -> None:
    given = (
        ("A", "$(id)"),
        ("HF_TOKEN", "hunter2"),
        ("URL", "https://u:hunter2@h.test"),
        ("B", "ghp_hunter2hunter2"),
    )
    made = portable(reference(variables=given))
    assert made.variables == {}
    assert len(made.notes) == 4
    assert "hunter2" not in made.text


def test_channels_in_the_order_asked_for_then_the_most_used() -> None:
    nvidia, main = "https://conda.anaconda.org/nvidia", "https://repo.anaconda.com/pkgs/main"
    conda = (record("a", "1"), record("b", "1"), record("c", "1", nvidia))
    assert channels_of(reference(conda=conda)) == ["conda-forge", "nvidia", "nodefaults"]
    asked = channels_of(reference(conda=conda, channels=("nvidia", "conda-forge")))
    assert asked == ["nvidia", "conda-forge", "nodefaults"]
    assert channels_of(reference(conda=(record("d", "1", main),))) == ["defaults"]


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("https://u:pw@h.test/t/tk-1/c", "https://h.test/c"),
        ("https://h.test/x?token=abc", "https://h.test/x"),
        ("ssh://git@h.test/r.git", "ssh://git@h.test/r.git"),
        ("ssh://git:pw@h.test/r.git", "ssh://h.test/r.git"),
    ],
)
def test_clean(url: str, plain: str) -> None:
    assert clean(url) == plain


def test_a_repository_of_the_node_itself_cannot_be_exported() -> None:
    origin = {"url": "file:///srv/r", "vcs_info": {"vcs": "git", "commit_id": COMMIT}}
    made = portable(reference(PipRecord("a", "1", origin)))
    assert made.pip == ()
    assert "# a 1 cannot be exported" in made.text
