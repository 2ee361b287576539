"""What goes along with an environment file, and what cannot."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path
from urllib.parse import quote

import pytest

from envsync.errors import InputError
from envsync.generations import Slot
from envsync.lock import Lock, as_path, digest, local_line
from envsync.luggage import Luggage
from envsync.manifest import Manifest, read_manifest
from envsync.recipe import requirements, unlocked
from envsync.spec import EnvironmentSpec, read_environment
from envsync.trunk import LIMIT


def written(folder: Path, *pip: str, **files: str) -> Path:
    """An environment file with these lines of pip; `a__b` is the file `b` in the folder `a`."""
    for name, text in files.items():
        file = folder / name.replace("__", "/").replace("_txt", ".txt").replace("_toml", ".toml")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    path = folder / "environment.yml"
    folder.mkdir(exist_ok=True)
    entries = "".join(f"    - {each}\n" for each in pip)
    path.write_text(f"name: x\ndependencies:\n- pip\n- pip:\n{entries}")
    return path


def members(luggage: Luggage) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(luggage.tar)) as archive:
        return {each.name: each for each in archive.getmembers()}


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_environment(path)
    assert caught.value.exit_code == 2
    assert caught.value.hint
    return str(caught.value).removeprefix(f"{path.parent}/")


def tree(folder: Path) -> EnvironmentSpec:
    files = {"src__pyproject_toml": "", "src__a": "1", "src__.git__HEAD": "", "src__x.pyc": ""}
    return read_environment(written(folder, "-e ./src", **files))


def test_nothing_is_packed_where_nothing_is_named(tmp_path: Path) -> None:
    assert not read_environment(written(tmp_path, "tqdm")).luggage


def test_lists_with_a_credential_are_known_and_the_archive_does_not_stay(tmp_path: Path) -> None:
    path = written(
        tmp_path / "env",
        "-r a.txt",
        "-r ../b.txt",
        "-i https://user:word@h.test/simple",
        **{"a_txt": "tqdm\n", "../b_txt": "--extra-index-url https://user:word@h.test/x\n"},
    )
    spec = read_environment(path)
    recipe = unlocked(spec)
    slot = Slot("/envs", "x", "abc")
    assert recipe.secrets(slot) == (
        slot.folder("b.txt"),
        slot.folder("env/environment.yml"),
    )
    assert recipe.files.keys() == {"yml", "files.tar"}
    assert recipe.kept.keys() == {"yml"}
    assert b"word" not in recipe.kept["yml"]


def test_lists_are_followed_from_where_they_are_and_circles_are_harmless(tmp_path: Path) -> None:
    path = written(
        tmp_path / "env",
        "-r ../lists/a.txt",
        **{
            "../lists__a_txt": "tqdm\n-r sub/b.txt\n",
            "../lists__sub__b_txt": "rich>=\\\n1  # two\n-c c.txt\n-r ../a.txt\n--pre\n-f wheels\n",
            "../lists__sub__c_txt": "rich<99\n",
            "../lists__sub__wheels__x-1.zip": "",
        },
    )
    luggage = read_environment(path).luggage
    names = {"lists/a.txt", "lists/sub/b.txt", "lists/sub/c.txt", "lists/sub/wheels/x-1.zip"}
    assert members(luggage).keys() == {*names, "env/environment.yml"}
    assert (luggage.base, luggage.file) == ("env", "environment.yml")
    asked = [each.text for each in luggage.requirements if not each.text.startswith("-r")]
    assert asked == [
        "tqdm", "rich>=1", "-c c.txt", "--pre", "-f wheels",
    ]  # fmt: skip
    assert {
        (each.file.removeprefix(f"{tmp_path}/env/"), each.line) for each in luggage.requirements
    } >= {
        ("../lists/a.txt", 1),
        ("../lists/sub/b.txt", 1),
    }
    # What a node installs from a lock keeps the lists' options, and not the lists.
    text = requirements(read_environment(path), ["tqdm==1 --hash=sha256:00"])
    assert text == "--pre\n--find-links ../lists/sub/wheels\ntqdm==1 --hash=sha256:00\n"


def test_a_tree_goes_without_history_and_caches_and_depends_on_contents_alone(
    tmp_path: Path,
) -> None:
    one, two = tree(tmp_path / "one"), tree(tmp_path / "two")
    os.utime(tmp_path / "two" / "src" / "a", (1, 1))
    assert members(one.luggage).keys() == {"environment.yml", "src/a", "src/pyproject.toml"}
    assert all(each.uid == 0 for each in members(one.luggage).values())
    assert one.luggage == read_environment(Path(two.source)).luggage
    (tmp_path / "two" / "src" / "a").write_text("2")
    assert one.luggage.digests != read_environment(Path(two.source)).luggage.digests


def test_the_lock_is_no_part_of_the_tree_that_it_is_made_from(tmp_path: Path) -> None:
    path = written(tmp_path, "-e .", pyproject_toml="")
    before = read_environment(path).luggage
    (tmp_path / "environment.lock").write_text("new")
    assert read_environment(path).luggage == before


def test_a_lock_does_not_fit_when_a_file_has_changed(tmp_path: Path) -> None:
    path = written(tmp_path, "-r r.txt", r_txt="tqdm\n")
    lock = Lock((), tuple((name, digest(raw)) for name, raw in of(path).sources.items()))
    assert lock.stale(of(path).sources) == ""
    (tmp_path / "r.txt").write_text("rich\n")
    assert lock.stale(of(path).sources) == "r.txt has changed since it was made"


def of(path: Path) -> Manifest:
    return read_manifest(path)


@pytest.mark.parametrize(
    ("pip", "files", "said"),
    [
        ("-r gone.txt", {}, "environment.yml:5: there is no file gone.txt"),
        ("./gone", {}, "environment.yml:5: there is no file ./gone"),
        ("-f gone", {}, "environment.yml:5: there is no folder"),
        (f"./{'x' * 300}.whl", {}, "environment.yml:5: ./xxx"),
        (f"-f {'x' * 300}", {}, "environment.yml:5: xxx"),
        ("-r src", {"src__a": ""}, "environment.yml:5: src is no regular file"),
        ("-e src", {"src__a": ""}, "environment.yml:5: src is no Python project"),
    ],
)
def test_what_cannot_be_sent_is_told_with_its_line(
    tmp_path: Path, pip: str, files: dict[str, str], said: str
) -> None:
    assert refused(written(tmp_path, pip, **files)).startswith(said)


@pytest.mark.parametrize(
    ("line", "said"),
    [("-r gone.txt", "no file gone.txt"), ("numpy=1", "two signs"), ("--target x", "may not")],
)
def test_a_wrong_line_of_a_list_is_told_with_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, said: str
) -> None:
    written(tmp_path, "-r lists/r.txt", lists__r_txt=f"# first\ntqdm\n{line}\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        read_environment(Path("environment.yml"))
    assert (caught.value.file, caught.value.line) == ("lists/r.txt", 3)
    assert said in caught.value.message + caught.value.hint


def test_links_stay_links_inside_a_tree_and_may_not_leave_it(tmp_path: Path) -> None:
    path = written(tmp_path, "./src", src__pyproject_toml="", src__a="1")
    (tmp_path / "src" / "b").symlink_to("a")
    assert members(read_environment(path).luggage)["src/b"].linkname == "a"
    (tmp_path / "src" / "c").symlink_to("../environment.yml")
    assert "./src/c is a link that leads out of the folder" in refused(path)


def test_a_pipe_and_too_much_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "./src", src__pyproject_toml="")
    os.mkfifo(tmp_path / "src" / "pipe")
    assert "./src/pipe is no regular file" in refused(path)
    (tmp_path / "src" / "pipe").unlink()
    with (tmp_path / "src" / "large").open("wb") as file:
        file.truncate(LIMIT + 1)
    assert "256 MiB" in refused(path)


@pytest.mark.parametrize(
    ("path", "tree_", "editable", "pip"),
    [
        ("w/x y.whl", False, False, "./w/x y.whl --hash=sha256:" + "0" * 64),
        ("../src", True, False, "../src"),
        (".", True, True, "-e ./."),
    ],
)
def test_a_locked_line_says_to_pip_where_the_file_is(
    path: str,
    tree_: bool,  # noqa: FBT001 (a table)
    editable: bool,  # noqa: FBT001 (a table)
    pip: str,
) -> None:
    assert as_path(local_line("x", path, "0" * 64, tree=tree_, editable=editable)) == pip
    assert as_path("x @ https://h.test/x.whl") == "x @ https://h.test/x.whl"


def both(tmp_path: Path, *pip: str) -> tuple[EnvironmentSpec, EnvironmentSpec]:
    """The same files in two places; `{there}` in a line and in a list is another folder."""
    specs = []
    for name in ("one", "two/deeper"):
        there = tmp_path / name / "there and"
        (there / "sub").mkdir(parents=True)
        (there / "src").mkdir()
        (there / "src" / "pyproject.toml").touch()
        (there / "x-1-py3-none-any.whl").write_text("wheel")
        (there / "r.txt").write_text(
            f"tqdm\n-r sub/b.txt\n-c file://{quote(str(there))}/c.txt\n./w.zip"
        )
        (there / "sub" / "b.txt").write_text("rich>=\\\n1\n-r ../r.txt\n-f .\n")
        (there / "sub" / "y-1.zip").touch()
        (there / "c.txt").write_text("rich<99\n")
        path = written(
            tmp_path / name / "env",
            *(each.format(there=there, url=f"file://{quote(str(there))}") for each in pip),
            **{"here_txt": "einops\n", "w.zip": ""},
        )
        specs.append(read_environment(path))
    return specs[0], specs[1]


def test_what_an_absolute_path_names_goes_along_and_no_path_of_this_machine(
    tmp_path: Path,
) -> None:
    one, two = both(
        tmp_path,
        "-r {url}/r.txt",
        "-r file:here.txt",
        "'{there}/x-1-py3-none-any.whl' # a wheel",
        "x[e] @ {url}/x-1-py3-none-any.whl ; os_name == 'posix'",
        "-e {url}/src#egg=src",
        "-f '{there}'",
    )
    assert one.luggage.tar == two.luggage.tar
    assert str(tmp_path).encode() not in one.luggage.tar
    assert unlocked(one).generation == unlocked(two).generation
    assert of(Path(one.source)).sources == of(Path(two.source)).sources
    place = ".envsync/elsewhere"
    text = one.sent.decode().splitlines()
    assert text[4:] == [
        f'    - "-r {place}/1/r.txt"',
        '    - "-r here.txt"',
        f'    - "./{place}/5/x-1-py3-none-any.whl" # a wheel',
        f"""    - "./{place}/5/x-1-py3-none-any.whl[e] ; os_name == 'posix'\"""",
        f'    - "-e ./{place}/6/src"',
        f'    - "--find-links {place}/7/there_and"',
    ]
    first = contents(one.luggage, f"{place}/1/r.txt")
    assert first == "tqdm\n-r ../2/b.txt\n-c ../4/c.txt\n./w.zip\n"
    second = contents(one.luggage, f"{place}/2/b.txt")
    assert second == "rich>=\\\n1\n-r ../1/r.txt\n--find-links ../3/sub\n"
    assert one.luggage.options == (
        f"--find-links {place}/3/sub",
        f"--find-links {place}/7/there_and",
    )


def test_only_what_is_there_goes_along_and_shared_folders_stay_where_they_are(
    tmp_path: Path,
) -> None:
    assert refused(written(tmp_path, "-r file:///gone/r.txt")).startswith(
        "environment.yml:5: there is no file /gone/r.txt"
    )
    (tmp_path / "x-1.zip").write_text("x")
    changed = written(tmp_path, f"file://{tmp_path}/x-1.zip#sha256=00")
    assert "environment.yml:5: " in refused(changed)
    assert "has not the sha256" in refused(changed)
    shared = read_environment(written(tmp_path, "-f /gone/wheels", "tqdm"))
    assert shared.sent == shared.raw
    (notice,) = shared.notices
    assert (notice.line, "each node is expected to have it" in notice.message) == (5, True)
    (tmp_path / "w").mkdir()
    with (tmp_path / "w" / "torch.whl").open("wb") as file:
        file.truncate(LIMIT + 1)
    large = read_environment(written(tmp_path, f"-f {tmp_path}/w", "tqdm"))
    assert "too large to send" in large.notices[0].message
    assert requirements(large, []) == f"-f {tmp_path}/w\n"


def test_an_entry_that_cannot_be_moved_in_its_line_is_told(tmp_path: Path) -> None:
    written(tmp_path, "tqdm", r_txt="")
    path = tmp_path / "environment.yml"
    path.write_text(path.read_text() + "    - >-\n      -r file:r.txt\n")
    assert "environment.yml:6: an entry that envsync has to write anew" in refused(path)
    path.write_text(path.read_text().replace(">-\n      ", "&a ") + "variables: {A: *a}\n")
    text = read_environment(path).sent.decode()
    assert '- &a "-r r.txt"\nvariables' in text


def contents(luggage: Luggage, name: str) -> str:
    with tarfile.open(fileobj=io.BytesIO(luggage.tar)) as archive:
        file = archive.extractfile(name)
        assert file
        return file.read().decode()
