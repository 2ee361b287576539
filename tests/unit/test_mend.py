"""What mend.sh takes out of a package cache, and what it leaves; by conda's own words."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from envsync import scripts

BLAMED = """
{error}: The package for {name} located at {folder}
appears to be corrupted. The path 'lib/x.py'
specified in the package manifest cannot be found.
"""
REPORT = """
       base environment : /opt/conda  (writable)
          package cache : {cache}
                          {cache}2
       envs directories : /opt/conda/envs
"""
MISMATCH = """
ChecksumMismatchError: Conda detected a mismatch between the expected content and downloaded content
for url 'https://a.test/noarch/a-1-0.conda'.
  download saved to: {cache}/a-1-0.conda
  expected md5: 1
"""


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A package cache with two packages that are whole."""
    made = tmp_path / "pkgs of conda"
    for name in ("a-1-0", "b-2-0"):
        package(made, name)
    (made / "urls.txt").touch()
    return made


def package(cache: Path, name: str) -> Path:
    info = cache / name / "info"
    info.mkdir(parents=True)
    (info / "index.json").write_text('{"name": "x"}\n')
    (info / "paths.json").write_text('{\n  "paths": [\n    {"_path": "{x}"}\n  ]\n}')
    return info.parent


def mend(call: str, said: str, folder: Path) -> tuple[bool, str]:
    """Whether anything was taken away, and what was said of it."""
    (folder / "said").write_text(said)
    done = subprocess.run(
        ["/bin/sh", "-c", f"{scripts.load('mend.sh')}\n{call}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in {0, 1}, done.stderr
    return done.returncode == 0, done.stderr


@pytest.mark.parametrize("error", ["CondaVerificationError", "SafetyError"])
def test_what_conda_blames_goes_and_is_named(cache: Path, tmp_path: Path, error: str) -> None:
    folder = cache / "a-1-0"
    said = BLAMED.format(error=error, name="a", folder=folder) * 2
    assert mend("drop_halves said", said, tmp_path) == (
        True,
        f"unpacking anew what is not whole: {folder}\n",
    )
    assert sorted(each.name for each in cache.iterdir()) == ["b-2-0", "urls.txt"]
    # Taken away it cannot be a second time: then another try would be in vain.
    assert mend("drop_halves said", said, tmp_path) == (False, "")


def test_nothing_goes_that_is_in_no_package_cache(cache: Path, tmp_path: Path) -> None:
    home = package(tmp_path, "home")
    for folder in (home, f"{cache}/", "/", f"{cache}/a-1-0/..", "*"):
        said = BLAMED.format(error="SafetyError", name="a", folder=folder)
        assert mend("drop_halves said", said, tmp_path) == (False, "")
    assert mend("drop_halves said", "LinkError: no room left\n", tmp_path) == (False, "")
    assert home.is_dir()
    assert len(list(cache.iterdir())) == 3


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("paths.json", '{\n  "paths": [\n    {"_path": "x"}'),
        ("paths.json", ""),
        ("paths.json", None),
        ("link.json", '{"noarch": {'),
        ("index.json", "{"),
    ],
)
def test_report_of_conda_makes_the_package_go_whose_info_is_cut_off(
    cache: Path, tmp_path: Path, part: str, text: str | None
) -> None:
    file = cache / "b-2-0" / "info" / part
    if text is None:
        file.unlink()
    else:
        file.write_text(text)
    taken, said = mend("drop_halves said", REPORT.format(cache=cache), tmp_path)
    assert taken
    assert said == f"unpacking anew what is not whole: {cache}/b-2-0\n"
    assert sorted(each.name for each in cache.iterdir()) == ["a-1-0", "urls.txt"]
    assert mend("drop_halves said", REPORT.format(cache=cache), tmp_path) == (False, "")


def test_parts_of_downloads_in_the_list_go_after_a_mismatch_alone(
    cache: Path, tmp_path: Path
) -> None:
    (tmp_path / "list").write_text("@EXPLICIT\nhttps://a.test/noarch/a-1-0.conda#1\n")
    part, other = cache / "a-1-0.conda.partial", cache / "z-1-0.conda.partial"
    part.touch()
    other.touch()
    call, said = "drop_parts said list", MISMATCH.format(cache=cache)
    assert mend(call, "CondaHTTPError: 404\n", tmp_path) == (False, "")
    assert mend("drop_parts said no-list", said, tmp_path) == (False, "")
    assert part.exists()
    assert mend(call, said, tmp_path) == (True, f"fetching anew what was cut off: {part}\n")
    assert (part.exists(), other.exists()) == (False, True)
    assert mend(call, said, tmp_path) == (False, "")
