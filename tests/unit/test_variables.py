"""Values that would be shell text when an environment is activated are refused."""

from __future__ import annotations

import pytest

from envsync.errors import InputError
from envsync.spec import parse_environment


def read(value: str, name: str = "KEY") -> dict[str, str]:
    text = f"name: x\ndependencies: [python]\nvariables:\n  {name}: {value}\n"
    return dict(parse_environment(text.encode(), "environment.yml").variables)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("8", "8"),
        ("-1", "-1"),
        ("0.5", "0.5"),
        ("eth0,eth1", "eth0,eth1"),
        ('"1.10"', "1.10"),
        ('"true"', "true"),
        ("on", "on"),
        ('""', ""),
        ("a; b & c | d > e", "a; b & c | d > e"),
        ("max_split_size_mb:128", "max_split_size_mb:128"),
        ("1_000x", "1_000x"),
    ],
)
def test_what_conda_would_set(value: str, said: str) -> None:
    assert read(value) == {"KEY": said}


@pytest.mark.parametrize(
    "value", ["1.10", "1e5", "0x1F", "0o17", "0755", "true", "2026-12-02", "+1"]
)
def test_what_yaml_would_change_wants_quotes(value: str) -> None:
    with pytest.raises(InputError, match="in another way") as caught:
        read(value)
    assert caught.value.line == 4


@pytest.mark.parametrize(
    "value", ['"it\'s"', "'\"'", "$(id)", "a`id`", "'a\\b'", "$HOME/x", '"a\\nb"']
)
def test_shell_text_is_refused(value: str) -> None:
    with pytest.raises(InputError, match="shell text") as caught:
        read(value)
    assert caught.value.line == 4
    assert "hunter2" not in str(caught.value)


def test_secret_value_is_not_shown() -> None:
    with pytest.raises(InputError) as caught:
        read('"hunter2\'"')
    assert "hunter2" not in str(caught.value) + caught.value.hint


@pytest.mark.parametrize("name", ["http_proxy", "Path"])
def test_name_that_conda_would_change_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=name.upper()):
        read("x", name)
