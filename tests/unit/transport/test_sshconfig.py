"""When one answer of `ssh -G` is good for every host, and when each has to be asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from envsync.model import Host
from envsync.transport import sshconfig
from envsync.transport.sshconfig import settings

USUAL = "# ControlPath ~/.ssh/%r\nInclude /etc/ssh/ssh_config.d/*.conf\nHost *\n    SendEnv LANG\n"


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The hosts that OpenSSH was asked for, on a machine whose only file is the system's."""
    hosts: list[str] = []

    def ask(host: Host, _: Path | None) -> dict[str, list[str]]:
        hosts.append(host.name)
        return {"hostname": [f"{host.name}.lan"], "port": ["22"], "user": ["me"]}

    monkeypatch.setattr(sshconfig, "USER_FILE", tmp_path / "config")
    monkeypatch.setattr(sshconfig, "SYSTEM_FILE", tmp_path / "ssh_config")
    monkeypatch.setattr(sshconfig, "_ask_openssh", ask)
    monkeypatch.setattr(sshconfig.shutil, "which", lambda _: "/usr/bin/ssh")
    sshconfig._ask_once.cache_clear()  # noqa: SLF001 (another machine, another answer)
    (tmp_path / "ssh_config").write_text(USUAL)
    return hosts


def test_settings_that_are_alike_for_all_hosts_are_asked_for_once(asked: list[str]) -> None:
    first = settings(Host("gpu01"), None)
    second = settings(Host("gpu02", "ops", 2222), None)
    assert (first.address, first.port, first.user) == ("gpu01", 22, "me")
    assert (second.address, second.port, second.user) == ("gpu02", 2222, "ops")
    assert len(asked) == 1


@pytest.mark.parametrize(
    "line",
    ["Host gpu*", "host = gpu01", "Match exec true", "Include /elsewhere", "IdentityFile ~/%h"],
)
def test_settings_of_particular_hosts_are_asked_for_each(
    asked: list[str], tmp_path: Path, line: str
) -> None:
    (tmp_path / "ssh_config.d").mkdir()
    (tmp_path / "ssh_config.d" / "site.conf").write_text(f"{line}\n")
    assert settings(Host("gpu01"), None).address == "gpu01.lan"
    assert settings(Host("gpu02"), None).address == "gpu02.lan"
    assert asked == ["gpu01", "gpu02"]


@pytest.mark.parametrize("whose", ["given", "the user's"])
def test_file_of_the_user_is_always_asked_for(asked: list[str], tmp_path: Path, whose: str) -> None:
    (tmp_path / "config").write_text("Host *\n")
    given = tmp_path / "config" if whose == "given" else None
    settings(Host("gpu01"), given)
    settings(Host("gpu02"), given)
    assert asked == ["gpu01", "gpu02"]
