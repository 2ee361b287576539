"""Ansible's inventories, in INI form and in YAML."""

from __future__ import annotations

import pytest

from envsync.errors import InputError
from envsync.inventory import Inventory, parse_inventory
from envsync.model import Host

INI = """\
; as in "How to build your inventory"
mail.example.com

[webservers]
foo.example.com
www[01:03:2].example.com:2222

[gpu]
dgx-[a:b] ansible_user=ops   # inline
jumper ansible_port=5555 ansible_host=192.0.2.50 gpus="8 x A100"

[prod:children]
gpu
webservers

[prod:vars]
ansible_user = deploy
ntp_server=ntp.example.com

[all:vars]
ansible_port=22
ansible_ssh_private_key_file=~/.ssh/key
"""
YAML = """\
ungrouped:
  hosts:
    mail.example.com:
all:
  vars: {ansible_port: 22}
prod:
  vars:
    ansible_user: deploy
    motd: "{{ not_for_us }}"
  children:
    gpu:
      hosts:
        dgx-[a:b]:
          ansible_user: ops
        jumper: {ansible_port: 5555, ansible_host: 192.0.2.50}
    webservers:
      hosts:
        foo.example.com:
        www[01:03:2].example.com: {ansible_port: 2222}
"""


def read(text: str, source: str = "hosts") -> Inventory:
    return parse_inventory(text, source=source)


EXPECTED = {
    Host("mail.example.com", "", 22),
    Host("foo.example.com", "deploy", 22),
    Host("www01.example.com", "deploy", 2222),
    Host("www03.example.com", "deploy", 2222),
    Host("dgx-a", "ops", 22),
    Host("dgx-b", "ops", 22),
    Host("jumper", "deploy", 5555, "192.0.2.50"),
}


@pytest.mark.parametrize("text", [INI, YAML])
def test_both_forms_say_the_same(text: str) -> None:
    found = read(text)
    assert set(found.hosts) == EXPECTED
    assert found.hosts[0].name == "mail.example.com"
    assert [host.name for host in found.groups["gpu"]] == ["dgx-a", "dgx-b", "jumper"]
    assert len(found.groups["prod"]) == 6


def test_what_is_not_followed_is_said_once() -> None:
    (warning,) = read(INI).warnings
    assert "ansible_ssh_private_key_file" in str(warning)
    assert "hosts:22:" in str(warning)


def test_single_line_with_a_variable_is_enough_to_tell() -> None:
    assert read("gpu01 ansible_host=10.0.0.1\n").hosts == (Host("gpu01", "", 0, "10.0.0.1"),)


def test_child_group_wins_over_its_parent_and_the_host_over_both() -> None:
    text = "[p:children]\nc\n[p:vars]\nansible_user=p\n[c]\na\nb ansible_user=h\n"
    assert read(text).hosts == (Host("a", "p"), Host("b", "h"))
    assert read(f"{text}[c:vars]\nansible_user=c\n").hosts == (Host("a", "c"), Host("b", "h"))


def test_host_of_several_groups_is_one() -> None:
    found = read("[a]\nx ansible_user=u\n[b]\nx ansible_port=2222\n")
    assert found.hosts == (Host("x", "u", 2222),)
    assert not found.warnings


def test_ipv6_addresses() -> None:
    found = read("[a]\n[2001:db8::7]:2222\n2001:db8::8\nn ansible_host=2001:db8::9\n")
    assert found.hosts == (
        Host("2001:db8::7", "", 2222),
        Host("2001:db8::8"),
        Host("n", "", 0, "2001:db8::9"),
    )


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("[gpu\na\n", 1, "not a range"),
        ("[gpu]\na;b\n", 2, "not a host name"),
        ("[gpu]\nops@a\n", 2, "not a host for Ansible"),
        ("[gpu]\na b\n", 2, "not name=value"),
        ("[gpu]\na x='1\n", 2, "quotation mark"),
        ("[gpu:childs]\na\n", 1, "not a section"),
        ("[all:children]\ngpus\n[gpu]\na\n", 2, "no group 'gpus'"),
        ("[a:children]\nb\n[b:children]\na\n", 4, "holds itself"),
        ("[gpu:vars]\nnonsense\n[gpu]\na\n", 2, "not a variable"),
        ("[gpu]\na ansible_port=http\n", 2, "not a port"),
        ("[gpu]\na ansible_user='x;y'\n", 2, "not a user name"),
        ("[gpu]\na ansible_host=$(id)\n", 2, "not a host name"),
        ("[gpu]\na ansible_host='{{ ip }}'\n", 2, "template"),
        ("[gpu]\na[01-50]\n", 2, "not a range of hosts"),
        ("[gpu]\na[5:1]\n", 2, "not a range of hosts"),
        ("[gpu]\na[1:9999999]\n", 2, "more than 65536"),
        ("[gpu]\n", 0, "names no host"),
        ("all:\n  hosts:\n    - a\n", 3, "must be a mapping"),
        ("all:\n  host:\n    a:\n", 2, "'host' is not a part of a group"),
        ("all: [a]\n", 1, "must be a mapping"),
        ("---\n- a\n", 2, "must be a mapping"),
        ('{"_meta": {"hostvars": {}}}', 1, "Ansible's scripts"),
        ("all:\n  hosts:\n    a;b:\n", 3, "not a host name"),
        ("all:\n  hosts: {\n", 3, "not YAML"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, line: int, says: str) -> None:
    source = "h.yml" if text.startswith(("all:", "---", "{")) else "h"
    with pytest.raises(InputError, match=says) as caught:
        read(text, source)
    assert caught.value.line == line
    assert caught.value.hint


def test_password_is_never_repeated() -> None:
    found = read("[gpu]\na ansible_password=hunter2 ansible_become_pass=hunter2\n")
    assert "hunter2" not in "".join(map(str, found.warnings))
