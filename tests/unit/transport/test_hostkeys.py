"""Looking up a host's key, by plain and hashed names and by patterns."""

from __future__ import annotations

from pathlib import Path

import paramiko
import pytest

from envsync.errors import ConnectError
from envsync.transport.hostkeys import Asked, KnownHosts, Strictness

KEY = paramiko.ECDSAKey.generate()
OTHER = paramiko.ECDSAKey.generate()


def known(folder: Path, *lines: str, hashed: bool = False) -> KnownHosts:
    file = folder / "known_hosts"
    file.write_text("".join(f"{line}\n" for line in lines))
    return KnownHosts((file,), hashed=hashed)


def line(names: str, key: paramiko.PKey) -> str:
    return f"{names} {key.get_name()} {key.get_base64()}"


def check(
    hosts: KnownHosts,
    name: str,
    key: paramiko.PKey,
    port: int = 22,
    strictness: Strictness = Strictness.STRICT,
) -> bool:
    return hosts.check(Asked(name, port), key, strictness)


def test_every_name_of_a_line_leads_to_its_key(tmp_path: Path) -> None:
    hashed = paramiko.HostKeys.hash_host("[gpu02]:2222")
    hosts = known(tmp_path, line("gpu01,10.0.0.1", KEY), line(hashed, OTHER))
    assert check(hosts, "gpu01", KEY)
    assert check(hosts, "GPU01", KEY)
    assert check(hosts, "10.0.0.1", KEY)
    assert check(hosts, "gpu02", OTHER, 2222)
    assert hosts.key_types(Asked("gpu02", 2222)) == [OTHER.get_name()]
    assert hosts.key_types(Asked("gpu03", 22)) == []


@pytest.mark.parametrize(
    ("names", "fits"),
    [
        ("gpu*", True),
        ("gpu??", True),
        ("gpu?", False),
        ("*,!gpu01", False),
        ("!login*,gpu*", True),
        ("[gpu01]:22", False),
        ("|1|not base64|at all", False),
        ("|1|", False),
    ],
)
def test_patterns(tmp_path: Path, names: str, *, fits: bool) -> None:
    hosts = known(tmp_path, line(names, KEY))
    assert bool(hosts.key_types(Asked("gpu01", 22))) is fits


def test_revoked_key_is_refused_though_another_line_trusts_it(tmp_path: Path) -> None:
    hashed = paramiko.HostKeys.hash_host("gpu01")
    hosts = known(tmp_path, line("gpu01", KEY), f"@revoked {line(hashed, KEY)}")
    with pytest.raises(ConnectError, match="revoked"):
        check(hosts, "gpu01", KEY)


def test_second_key_of_a_host_is_as_good_as_the_first(tmp_path: Path) -> None:
    hosts = known(tmp_path, line("gpu01", KEY), line("gpu01", OTHER))
    assert check(hosts, "gpu01", OTHER)


def test_key_that_is_new_is_remembered_as_openssh_would_write_it(tmp_path: Path) -> None:
    hosts = known(tmp_path, "# no end of line", hashed=True)
    assert check(hosts, "gpu01", KEY, strictness=Strictness.ACCEPT_NEW)
    assert check(hosts, "gpu01", KEY)
    with pytest.raises(ConnectError, match="changed"):
        check(hosts, "gpu01", OTHER, strictness=Strictness.ACCEPT_NEW)
    assert check(hosts, "gpu01", OTHER, strictness=Strictness.OFF) is False
    again = KnownHosts((tmp_path / "known_hosts",))
    assert check(again, "gpu01", KEY)
    assert "gpu01" not in (tmp_path / "known_hosts").read_text()


@pytest.mark.parametrize("text", ["", "gpu01", "gpu01 ssh-ed25519", "gpu01 ssh-ed25519 !!", "@x y"])
def test_lines_that_are_none_are_passed_over(tmp_path: Path, text: str) -> None:
    hosts = known(tmp_path, text, line("gpu01", KEY))
    assert check(hosts, "gpu01", KEY)
