"""Which addresses are asked in place of others, and which maps are refused."""

from __future__ import annotations

import pytest

from envsync.errors import InputError
from envsync.mirrors import read_mirrors

FORGE = "https://conda.anaconda.org/conda-forge"
MAP = read_mirrors(
    [
        f"{FORGE}=https://m.test/cf/",
        "https://conda.anaconda.org/=https://m.test/org",
        "https://repo.anaconda.com=https://m.test/main",
        "https://pypi.org/simple=https://m.test/pypi",
        "https://files.test=http://m.test:8080/files",
    ]
)


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        (
            f"{FORGE}/noarch/a-1-0.conda#{'a' * 32}",
            f"https://m.test/cf/noarch/a-1-0.conda#{'a' * 32}",
        ),
        (FORGE, "https://m.test/cf"),
        (f"{FORGE}/", "https://m.test/cf/"),
        (f"{FORGE}-extra/noarch/a", "https://m.test/org/conda-forge-extra/noarch/a"),
        ("https://conda.anaconda.org/t/tk-1/nvidia/x", "https://m.test/org/nvidia/x"),
        ("https://me:pw@files.test/a.whl", "http://m.test:8080/files/a.whl"),
        ("https://files.test:8443/a.whl", "https://files.test:8443/a.whl"),
        ("https://me:pw@elsewhere.test/a", "https://me:pw@elsewhere.test/a"),
        ("http://pypi.org/simple", "http://pypi.org/simple"),
    ],
)
def test_longest_prefix_at_the_end_of_a_folder(url: str, asked: str) -> None:
    assert MAP.url(url) == asked


def test_lines_for_pip() -> None:
    assert MAP.text("--extra-index-url https://pypi.org/simple") == (
        "--extra-index-url https://m.test/pypi"
    )
    assert MAP.text("--index-url=https://pypi.org/simple/ --pre").split()[0] == (
        "--index-url=https://m.test/pypi/"
    )
    assert MAP.text("x @ git+https://files.test/r@0123abc") == (
        "x @ git+http://m.test:8080/files/r@0123abc"
    )
    line = "numpy==1.0 --hash=sha256:0"
    assert MAP.text(line) == line


@pytest.mark.parametrize(
    ("channel", "asked"),
    [
        ("conda-forge", ("https://m.test/cf",)),
        ("conda-forge/label/rc", ("https://m.test/cf/label/rc",)),
        ("nvidia", ("https://m.test/org/nvidia",)),
        ("defaults", ("https://m.test/main/pkgs/main", "https://m.test/main/pkgs/r")),
        ("pkgs/main", ("https://m.test/main/pkgs/main",)),
        ("nodefaults", ("nodefaults",)),
        ("/srv/channel", ("/srv/channel",)),
        ("https://files.test/ch", ("http://m.test:8080/files/ch",)),
    ],
)
def test_channels_by_name_or_address(channel: str, asked: tuple[str, ...]) -> None:
    assert MAP.channel(channel) == asked
    assert read_mirrors([]).channel(channel) == (channel,)


@pytest.mark.parametrize(
    ("text", "channel"),
    [
        ("numpy=1.26", ""),
        ("conda-forge::numpy=1.26", "conda-forge"),
        (f"{FORGE}::numpy", FORGE),
        ("defaults::numpy", "defaults"),
        ("numpy[channel=conda-forge,version='1.*']", "conda-forge"),
        ("numpy[channel='conda-forge']", "conda-forge"),
        ("https://own.test/x::numpy", ""),
        (f"{FORGE}/noarch/a-1-0.conda", ""),
    ],
)
def test_dependencies_that_name_a_mapped_channel(text: str, channel: str) -> None:
    assert MAP.channel_in(text) == channel


def test_back_again_is_the_longest_mirror_first() -> None:
    assert MAP.back[0] == ("http://m.test:8080/files", "https://files.test")
    assert ("https://m.test/cf", FORGE) in MAP.back
    assert not read_mirrors(["https://a.test=https://u:$P@a.test"]).back


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["https://a.test"], "it is not of the form URL=URL"),
        (["https://a.test=m.test"], "it is not of the form URL=URL"),
        (["conda-forge=https://m.test"], "conda-forge is no URL"),
        (["=https://m.test"], "nothing is no URL"),
        (["https://a.test=https://"], "is no URL of a folder"),
        (["https://a.test=https://m.test/?x=1"], "is no URL of a folder"),
        (["https://a b.test=https://m.test"], "is no URL of a folder"),
        (["https://u:$P@a.test=https://m.test"], "a login stands in what is mapped"),
        (["https://a.test=https://m.test", "https://A.test/=https://n.test"], "is mapped twice"),
        (["https://a.test=https://a.test/"], "which is itself mapped"),
        (["https://a.test=https://a.test/mirror"], "which is itself mapped"),
        (["https://a.test=https://b.test", "https://b.test=https://a.test"], "is itself mapped"),
        (["https://a.test=https://b.test/x", "https://b.test=https://c.test"], "is itself mapped"),
        (["https://a.test=https://m.test", "https://b.test=https://m.test/"], "lead to one mirror"),
        (["https://a.test=https://m.test", "https://b.test=https://m.test/x"], "lies in that of"),
        (["https://a.test=https://user:secret@m.test"], "a credential stands in it"),
        (["https://a.test=https://secret@m.test"], "a credential stands in it"),
        (["https://a.test=https://m.test/t/secret/x"], "a credential stands in it"),
        (["https://a.test=https://user:$P$Q@m.test"], "a credential stands in it"),
        (["https://a.test=https://:$P@m.test"], "is no URL"),
        (["https://a.test=https://user:@m.test"], "is no URL"),
        (["https://a.test=https://$HOST/x"], "is no URL"),
    ],
)
def test_bad_maps_are_refused_in_one_sentence(words: list[str], message: str) -> None:
    with pytest.raises(InputError) as error:
        read_mirrors(words)
    assert message in str(error.value)
    assert "secret" not in str(error.value) + error.value.hint
    assert error.value.hint


def test_parts_that_agree_with_the_whole_are_no_contradiction() -> None:
    found = read_mirrors(["https://a.test=https://m.test", "https://a.test/x=https://m.test/x"])
    assert found.url("https://a.test/x/y") == "https://m.test/x/y"


def test_variables_are_filled_in_from_here() -> None:
    found = read_mirrors(
        ["https://a.test=https://me:${PW}@m.test/x", "https://b.test=https://m.test/t/$TOKEN/b"]
    )
    assert found.has_tokens
    filled = found.filled({"PW": "p@s/s", "TOKEN": "tk-1"})
    assert filled.url("https://a.test/y") == "https://me:p%40s%2Fs@m.test/x/y"
    assert filled.url("https://b.test/y") == "https://m.test/t/tk-1/b/y"
    assert ("https://m.test/b", "https://b.test") in filled.back
    assert "p@s" not in repr(filled)
    with pytest.raises(InputError, match="TOKEN is not set"):
        found.filled({"PW": "x"})
    with pytest.raises(InputError, match="PW is not set"):
        found.filled({"PW": "", "TOKEN": "x"})
