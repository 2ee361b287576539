"""Which keys are tried, and in which order."""

from __future__ import annotations

from pathlib import Path

import paramiko
import pytest

from envsync.errors import InputError
from envsync.transport.identities import Identities, Wanted


def make(file: Path) -> paramiko.PKey:
    key = paramiko.ECDSAKey.generate()
    key.write_private_key_file(str(file))
    return key


def names(identities: Identities, *files: Path, only: bool = True) -> list[bytes]:
    wanted = Wanted(files, only_these=only, agent="none")
    return [key.asbytes() for key in identities.keys(wanted)]


def test_named_keys_come_before_those_of_ssh_config(tmp_path: Path) -> None:
    one, two = (make(tmp_path / name) for name in ("one", "two"))
    identities = Identities((tmp_path / "two",))
    assert names(identities, tmp_path / "one") == [two.asbytes(), one.asbytes()]
    assert names(identities, tmp_path / "two") == [two.asbytes()]


def test_key_that_fitted_is_first_only_where_it_is_meant(tmp_path: Path) -> None:
    one, two, three = (make(tmp_path / name) for name in ("one", "two", "three"))
    identities = Identities(())
    both = (tmp_path / "one", tmp_path / "two")
    identities.remember(two, Wanted(both, only_these=True, agent="none"))
    assert names(identities, *both) == [two.asbytes(), one.asbytes()]
    # A jump host's key is none for the hosts behind it (IdentitiesOnly).
    assert names(identities, tmp_path / "three") == [three.asbytes()]


@pytest.mark.parametrize("text", ["", "no key at all", "-----BEGIN PRIVATE KEY-----\nx\n"])
def test_named_file_that_is_no_key_is_bad_input(tmp_path: Path, text: str) -> None:
    (tmp_path / "key").write_text(text)
    with pytest.raises(InputError, match="not a private key"):
        Identities((tmp_path / "key",))
    # One of ssh_config's is passed over, and named when nothing else fits.
    identities = Identities(())
    assert names(identities, tmp_path / "key") == []
    assert str(tmp_path / "key") in identities.skipped(Wanted((tmp_path / "key",)))[0]
