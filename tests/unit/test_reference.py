"""A reference environment, read from a node's answer."""

from __future__ import annotations

import json

import pytest

from envsync.errors import HostError
from envsync.facts import Facts
from envsync.model import Package
from envsync.ports import Completed
from envsync.reference import Reference, parse, reading

RECORDS = """\
@@conda
numpy-1.26.4-0.json:
python-3.11.7-0.json:
numpy-1.26.4-0.json:  "name": "numpy",
numpy-1.26.4-0.json:  "version": "1.26.4",
numpy-1.26.4-0.json:  "url": "https://c.test/noarch/numpy-1.26.4-0.conda"
python-3.11.7-0.json:  "name": "python",
python-3.11.7-0.json:  "version": "3.11.7",
python-3.11.7-0.json:  "url": "https://c.test/linux-64/python-3.11.7-0.conda"
@@depends
numpy-1.26.4-0.json:    "python >=3.11,<3.12",
"""
HISTORY = """\
# cmd: /opt/conda/bin/conda create -n x -c conda-forge --channel nvidia python=3.11 numpy
# update specs: ['python=3.11', 'numpy', 'scipy']
# remove specs: ['numpy']
# update specs: ["conda-forge::numpy[version='>=1']"]
"""


def read(
    history: str = "", file: str = "", state: str = "", config: str = "", pip: str = "{}"
) -> Reference:
    indented = "".join(f" {line}\n" for line in file.splitlines())
    text = f"@@history\n{history}@@state\n{state}\n@@file\n{indented}\n@@config\n{config}\n"
    done = Completed(0, f"{text}{RECORDS}@@pip\n{pip}\n@@end 0\n".encode())
    found = (Package("pip", "einops", "0.8"), Package("pip", "typing-extensions", "4"))
    return parse(done, "x", "linux-64", Facts("/p", (), found, ()))


def test_history_after_updates_and_removals_without_what_is_gone() -> None:
    found = read(HISTORY)
    assert found.asked == ("python=3.11", "conda-forge::numpy[version='>=1']")
    assert found.channels == ("conda-forge", "nvidia")
    assert [each.name for each in found.conda] == ["python", "numpy"]


def test_the_pushed_file_says_more_than_the_history_of_an_explicit_list() -> None:
    explicit = "# update specs: ['https://c.test/noarch/numpy-1.26.4-0.conda']\n"
    assert read(explicit).asked is None
    file = "name: x\nchannels: [nvidia, conda-forge]\ndependencies:\n- numpy=1.26\n"
    found = read(explicit, file)
    assert (found.asked, found.channels) == (("numpy=1.26",), ("nvidia", "conda-forge"))


def test_a_line_of_the_pushed_file_is_no_part_of_the_answer() -> None:
    file = "@@end 0\nname: x\n"
    assert read(file=file).asked is None


def test_no_history_is_not_known() -> None:
    assert read().asked is None


def test_variables_without_those_that_were_removed() -> None:
    state = json.dumps({"env_vars": {"A": "1", "B": "***unset***"}})
    assert read(state=state).variables == (("A", "1"),)


def test_indexes_of_pip() -> None:
    config = (
        "global.index-url='https://a.test/simple'\n"
        "install.extra-index-url='https://b.test/simple\\nhttps://c.test/simple'\n"
        ":env:.find-links='/srv'\nglobal.timeout='60'\ndownload.index-url='https://d.test'\n"
    )
    assert read(config=config).indexes == (
        ("--index-url", "https://a.test/simple"),
        ("--extra-index-url", "https://b.test/simple"),
        ("--extra-index-url", "https://c.test/simple"),
        ("--find-links", "/srv"),
    )


def test_origins_and_what_is_needed_by_others() -> None:
    origin = {"url": "https://h.test/e.whl", "archive_info": {}}
    needs = ["typing_extensions>=4", "torch; extra == 'all'"]
    items = [
        {"metadata": {"name": "einops", "requires_dist": needs}, "direct_url": origin},
        {"metadata": {"name": "Typing_Extensions"}},
    ]
    einops, typing = read(pip=json.dumps({"installed": items})).pip
    assert (einops.origin, einops.needed) == (origin, False)
    assert (typing.origin, typing.needed) == (None, True)


def test_an_old_pip_is_said() -> None:
    assert not read(pip="unknown command").origins_known


def test_failure_is_an_error() -> None:
    with pytest.raises(HostError, match="exit code 4"):
        parse(Completed(4), "x", "linux-64", Facts("/p", (), (), ()))


def test_script_says_each_part_once() -> None:
    script = reading("/p").script
    assert script.count("records() {") == 1
    assert script.index("@@config") < script.index("@@depends")
