"""When one answer of `ssh -G` is good for every host, and when each has to be asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from envsync.errors import ConnectError
from envsync.model import Host
from envsync.transport import sshconfig
from envsync.transport.sshconfig import SshConfig

USUAL = "# ControlPath ~/.ssh/%r\nInclude /etc/ssh/ssh_config.d/*.conf\nHost *\n    SendEnv LANG\n"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The hosts that OpenSSH was asked for."""
    hosts: list[str] = []

    def ask(host: Host, _: Path | None) -> dict[str, list[str]]:
        hosts.append(host.target)
        return {"hostname": [host.target.lower()], "port": ["22"], "user": ["me"]}

    monkeypatch.setattr(sshconfig, "_ask", ask)
    monkeypatch.setattr(sshconfig.shutil, "which", lambda _: "/usr/bin/ssh")
    return hosts


def config(tmp_path: Path, text: str) -> SshConfig:
    (tmp_path / "config").write_text(text)
    return SshConfig(tmp_path / "config")


def test_hosts_that_no_line_tells_apart_are_asked_for_once(
    asked: list[str], tmp_path: Path
) -> None:
    made = config(tmp_path, USUAL + "Host login*\n  User root\n")
    first = made.settings(Host("gpu01"))
    second = made.settings(Host("GPU02", "ops", 2222))
    third = made.settings(Host("login1"))
    assert (first.address, first.port, first.user) == ("gpu01", 22, "me")
    assert (second.address, second.port, second.user) == ("GPU02", 2222, "ops")
    assert third.address == "login1"
    assert asked == ["gpu01", "login1"]


@pytest.mark.parametrize(
    "line",
    ["Match exec true", "IdentityFile ~/%h", "HostName %h.lan", "CanonicalizeHostname yes"],
)
@pytest.mark.parametrize("included", [False, True])
def test_settings_made_of_a_name_are_asked_for_each(
    asked: list[str], tmp_path: Path, line: str, *, included: bool
) -> None:
    (tmp_path / "more.conf").write_text(f"{line}\n")
    made = config(tmp_path, f"Include {tmp_path}/*.conf\n" if included else f"{line}\n")
    made.settings(Host("gpu01"))
    made.settings(Host("gpu02"))
    assert asked == ["gpu01", "gpu02"]


@pytest.mark.parametrize("what", ["variable", "ring", "unreadable"])
def test_what_ssh_may_read_and_we_do_not_is_asked_for_each(
    asked: list[str], tmp_path: Path, what: str
) -> None:
    """Else hosts that ssh tells apart would be taken for one."""
    (tmp_path / "folder.conf").mkdir()
    lines = {
        "variable": "Include ${HOME}/more.conf",
        "ring": f"Include {tmp_path}/config",
        "unreadable": f"Include {tmp_path}/*.conf",
    }
    made = config(tmp_path, f"{lines[what]}\n")
    made.settings(Host("gpu01"))
    made.settings(Host("gpu02"))
    assert asked == ["gpu01", "gpu02"]


def test_file_that_is_included_and_not_there_is_none(asked: list[str], tmp_path: Path) -> None:
    made = config(tmp_path, f"Include {tmp_path}/nothing*\nInclude {tmp_path}/none\n")
    made.settings(Host("gpu01"))
    made.settings(Host("gpu02"))
    assert asked == ["gpu01"]


def test_negated_pattern_and_case_are_as_in_openssh(asked: list[str], tmp_path: Path) -> None:
    made = config(tmp_path, "Host *.LAN !b.lan\n  Port 2222\nHost = b.lan\n  Port 2223\n")
    for name in ("a.lan", "c.lan", "b.lan", "d"):
        made.settings(Host(name))
    assert asked == ["a.lan", "b.lan", "d"]


def real(tmp_path: Path, text: str) -> SshConfig:
    (tmp_path / "config").write_text(text)
    return SshConfig(tmp_path / "config")


def test_jump_hosts_in_their_order(tmp_path: Path) -> None:
    made = real(
        tmp_path,
        "Host far\n ProxyJump outer,ops@inner:2222\nHost outer\n ProxyJump ssh://gate\n"
        "Host inner\n ProxyJump elsewhere\n",
    )
    route = made.route(made.settings(Host("far")))
    assert [(way.name, way.user, way.port) for way in route][1:] == [
        ("outer", route[0].user, 22),
        ("inner", "ops", 2222),
    ]
    assert route[0].name == "gate"


def test_ring_of_jump_hosts_is_refused(tmp_path: Path) -> None:
    made = real(tmp_path, "Host a\n ProxyJump b\nHost b\n ProxyJump a\n")
    with pytest.raises(ConnectError, match="ring"):
        made.route(made.settings(Host("a")))


def test_tokens_of_a_proxy_command_are_filled_in(tmp_path: Path) -> None:
    text = "Host far\n HostName 10.0.0.7\n User ops\n ProxyCommand nc %h %p # %r %n 100%%\n"
    assert real(tmp_path, text).settings(Host("far", port=2222)).command == (
        "nc 10.0.0.7 2222 # ops far 100%"
    )
    with pytest.raises(ConnectError, match="%C"):
        real(tmp_path, "ProxyCommand nc %C\n").settings(Host("far"))


def test_only_what_somebody_chose_replaces_the_fastest(tmp_path: Path) -> None:
    assert not real(tmp_path, "Host x\n").settings(Host("far")).kex
    chosen = real(tmp_path, "Ciphers aes256-ctr\nKexAlgorithms ecdh-sha2-nistp256\n")
    assert chosen.settings(Host("far")).ciphers == ("aes256-ctr",)
    assert chosen.settings(Host("far")).kex == ("ecdh-sha2-nistp256",)


def test_what_makes_a_difference_and_is_not_followed_is_told(tmp_path: Path) -> None:
    made = real(tmp_path, "SendEnv LANG\nPKCS11Provider /usr/lib/token.so\n")
    assert made.settings(Host("far")).unread == ("pkcs11provider /usr/lib/token.so",)


def test_without_ssh_its_files_are_read_and_include_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sshconfig.shutil, "which", lambda _: None)
    made = real(tmp_path, "Include other\nHost far\n HostName 10.0.0.7\n User ops\n")
    found = made.settings(Host("far"))
    assert (found.address, found.user) == ("10.0.0.7", "ops")
    assert "Include" in made.unread[0]


@pytest.mark.parametrize(("said", "lent"), [("yes", True), ("no", False), ("$SOME_SOCK", False)])
def test_agent_is_lent_where_it_is_said_and_nowhere_else(
    tmp_path: Path, said: str, *, lent: bool
) -> None:
    made = config(tmp_path, f"Host gpu01\n  ForwardAgent {said}\n")
    assert made.settings(Host("gpu01")).forward_agent is lent
    assert not made.settings(Host("gpu02")).forward_agent
    assert made.settings(Host("gpu01")).unread == ()
