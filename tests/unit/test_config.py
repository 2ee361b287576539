"""envsync.toml and [tool.envsync]: values, their lines, and what is refused."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from envsync.config import KEYS, read_config
from envsync.errors import InputError
from envsync.inventory import read_inventory

GOOD = '''\
# of our cluster
name = "train"
hosts = [
    # the big ones
    "gpu[01-16]",
    "login1",
]

"fan-out" = 8
connect-timeout = 2.5
timeout = 600
deadline = 7200
flavour = "micromamba"
report = ["report.html", """
name.xml"""]
proxy = "http://me:$PW@proxy.test:3128"
no-proxy = ["localhost", ".own.test"]
ca-bundle = "ca.pem"
override-node-settings = true

[channel-map]
"https://conda.anaconda.org" = "https://mirror.test/conda"
'''


def write(folder: Path, text: str, name: str = "envsync.toml") -> Path:
    (folder / name).write_text(text)
    return folder


def test_every_key_with_its_line(tmp_path: Path) -> None:
    config = read_config(write(tmp_path, GOOD))
    assert {key: each.line for key, each in config.settings.items()} == {
        "name": 2,
        "hosts": 3,
        "fan-out": 9,
        "connect-timeout": 10,
        "timeout": 11,
        "deadline": 12,
        "flavour": 13,
        "report": 14,
        "proxy": 16,
        "no-proxy": 17,
        "ca-bundle": 18,
        "override-node-settings": 19,
        "channel-map": 21,
    }
    assert set(config.settings) == set(KEYS)
    assert config.hosts() == "gpu[01-16],login1"
    assert config.settings["fan-out"].value == 8


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[project]\nname = "x"\n\n[tool.envsync]\n# name = "y"\nname = "z"\n', 6),
        ('[project]\nname = "x"\n[tool]\nenvsync.name = "z"\n', 4),
        ('tool.envsync.name = "z"\n', 1),
        ('[project]\nname = "x"\n[tool]\nenvsync = { timeout = 9, name = "z" }\n', 4),
        ('[tool.other]\nx = """\n[tool.envsync]\nname = 3\n"""\n[tool.envsync]\nname = "z"\n', 7),
        ('[tool.envsync]\r\n\r\nname = "z"\r\n', 3),
        ('[tool.envsync]\n"na\\u006de" = "z"\n', 2),
    ],
)
def test_line_in_a_pyproject(tmp_path: Path, text: str, line: int) -> None:
    (tmp_path / "pyproject.toml").write_bytes(text.encode())
    config = read_config(tmp_path)
    assert (config.settings["name"].value, config.settings["name"].line) == ("z", line)


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ('name = "x"\nfanout = 3\n', 2, "fan-out"),
        ("fan_out = 3\n", 1, "fan-out"),
        ("\nzebra = 1\n", 2, "there are hosts"),
        ('fan-out = "8"\n', 1, "whole number"),
        ("fan-out = true\n", 1, "whole number"),
        ("fan-out = 0\n", 1, "whole number"),
        ("timeout = 0\n", 1, "seconds"),
        ("timeout = nan\n", 1, "seconds"),
        ("deadline = inf\n", 1, "seconds"),
        (f"connect-timeout = 1{'0' * 400}\n", 1, "seconds"),
        (f"hosts = {'[' * 5000}{']' * 5000}\n", 0, "nested too deeply"),
        ("hosts = []\n", 1, "text"),
        ("hosts = [1]\n", 1, "text"),
        ('name = ""\n', 1, "text"),
        ('flavour = "anaconda"\n', 1, "miniforge"),
        ('name = "x"\n\nname = "y"\n', 3, "not TOML"),
        ('name = "x"\nhosts = [\n', 2, "not TOML"),
        ("name = x\n", 1, "not TOML"),
    ],
)
def test_refused_with_its_line(tmp_path: Path, text: str, line: int, word: str) -> None:
    with pytest.raises(InputError) as caught:
        read_config(write(tmp_path, text))
    assert (caught.value.file, caught.value.line) == (str(tmp_path / "envsync.toml"), line)
    assert word in f"{caught.value} {caught.value.hint}"


def test_two_places_are_one_too_many(tmp_path: Path) -> None:
    write(tmp_path, 'name = "x"\n')
    write(tmp_path, '[project]\nname = "y"\n', "pyproject.toml")
    assert read_config(tmp_path).settings["name"].value == "x"
    write(tmp_path, '[project]\n[tool.envsync]\nname = "y"\n', "pyproject.toml")
    with pytest.raises(InputError, match="only one of them") as caught:
        read_config(tmp_path)
    assert caught.value.line == 2


def test_nothing_there_or_nothing_of_ours(tmp_path: Path) -> None:
    assert read_config(tmp_path).file is None
    write(tmp_path, "[project\n", "pyproject.toml")  # whoever it is for will say so
    assert read_config(tmp_path).file is None
    write(tmp_path, '[project]\ndescription = "uses envsync"\n', "pyproject.toml")
    assert read_config(tmp_path).file is None
    write(tmp_path, "[tool]\nenvsync = 3\n", "pyproject.toml")
    with pytest.raises(InputError, match="is no table"):
        read_config(tmp_path)


def test_files_are_looked_for_beside_the_config(tmp_path: Path) -> None:
    write(tmp_path, 'hosts = "hosts.txt"\nreport = "out/report.md"\n')
    assert read_config(tmp_path).hosts() == "hosts.txt"
    (tmp_path / "hosts.txt").touch()
    config = read_config(tmp_path)
    assert config.hosts() == str(tmp_path / "hosts.txt")
    assert config.reports() == [tmp_path / "out" / "report.md"]


def test_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "envsync.toml").write_bytes(b'name = "\xff"\n')
    with pytest.raises(InputError, match="not UTF-8") as caught:
        read_config(tmp_path)
    assert caught.value.line == 1


def test_home_of_nobody_is_a_file_that_is_not_there(tmp_path: Path) -> None:
    config = read_config(write(tmp_path, 'hosts = "~nobody-of-that-name/hosts.txt"\n'))
    with pytest.raises(InputError):
        read_inventory(config.hosts() or "", None)


def test_word_that_stands_everywhere_is_found_at_once(tmp_path: Path) -> None:
    lines = ["[project]", "dependencies = [", *['  "name-name==1.0",'] * 3000, "]"]
    (tmp_path / "pyproject.toml").write_text(
        "\n".join([*lines, "[tool.envsync]", 'name = "x"', ""])
    )
    began = time.process_time()
    assert read_config(tmp_path).settings["name"].line == 3005
    assert time.process_time() - began < 2  # seconds; it took 17
