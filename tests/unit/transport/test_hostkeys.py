"""Looking up a host's key, by plain and by hashed name."""

from __future__ import annotations

from pathlib import Path

import paramiko
import pytest

from envsync.errors import ConnectError
from envsync.transport.hostkeys import KnownHosts

KEY = paramiko.ECDSAKey.generate()
OTHER = paramiko.ECDSAKey.generate()


def known(folder: Path, *lines: str) -> KnownHosts:
    file = folder / "known_hosts"
    file.write_text("".join(f"{line}\n" for line in lines))
    return KnownHosts((file,), accept_new=False)


def line(names: str, key: paramiko.PKey) -> str:
    return f"{names} {key.get_name()} {key.get_base64()}"


def test_every_name_of_a_line_leads_to_its_key(tmp_path: Path) -> None:
    hashed = paramiko.HostKeys.hash_host("[gpu02]:2222")
    hosts = known(tmp_path, line("gpu01,10.0.0.1", KEY), line(hashed, OTHER))
    hosts.check("gpu01", KEY)
    hosts.check("10.0.0.1", KEY)
    hosts.check("[gpu02]:2222", OTHER)
    assert hosts.key_types("[gpu02]:2222") == [OTHER.get_name()]
    assert hosts.key_types("gpu03") == []


def test_revoked_key_is_refused_though_another_line_trusts_it(tmp_path: Path) -> None:
    hashed = paramiko.HostKeys.hash_host("gpu01")
    hosts = known(tmp_path, line("gpu01", KEY), f"@revoked {line(hashed, KEY)}")
    with pytest.raises(ConnectError, match="revoked"):
        hosts.check("gpu01", KEY)


def test_second_key_of_a_host_is_as_good_as_the_first(tmp_path: Path) -> None:
    hosts = known(tmp_path, line("gpu01", KEY), line("gpu01", OTHER))
    hosts.check("gpu01", OTHER)
