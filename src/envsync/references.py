"""What an entry of a pip section names on this machine: by a path, or by a `file:` address.

Paths and addresses mean what pip 23.2 takes them for (measured): an address has percent-escapes,
a path has none; `file:x.whl` begins where pip was started, which conda does beside the
environment file; `localhost` is the only host; `~` is not expanded.
"""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

from envsync.errors import InputError, Wrong
from envsync.requirement import Reference, is_remote

_UNKNOWN = re.compile(r"(?i)[~\\]|(?:\w+\+)?[a-z]+:|(?:git|hg|svn|bzr)\+|.*[$#]")
_BUILT = re.compile(r"(?i)file:.*/(?:[^/]+_\d{10,}/work|feedstock_root|conda-bld|croot)(?:/|$)")
"""Where conda-build works: `croot` and `feedstock_root` are those of Anaconda and conda-forge."""
_HASHES = frozenset({"md5", "sha1", "sha224", "sha256", "sha384", "sha512"})
_WRITE = "write its path (./wheels/x.whl, /srv/wheels/x.whl): it is sent along"


def refer(kind: str, written: str, around: tuple[str, str], wrong: Wrong) -> Reference:
    """The file or folder that `written` names, between the texts of `around`.

    Raises InputError for what cannot be found from here.
    """
    before, after = around
    text = f"{before}{written}{after}"
    bare = written
    if kind == "package" and (extras := re.search(r"\[[^\]/]*\]$", written)):
        bare, after = written[: extras.start()], extras[0] + after
    if not re.match(r"(?i)file:", bare):
        if not bare or _UNKNOWN.match(bare):
            raise elsewhere(text, wrong)
        return Reference(kind, bare, before, after, foreign=bare.startswith("/"))
    try:
        address = urlsplit(bare)
    except ValueError as error:  # brackets that do not close
        raise wrong(f"{text} is no address of a file", _WRITE) from error
    if address.netloc not in {"", "localhost"}:
        raise wrong(
            f"{text} names a file of the host {address.netloc}, and pip reads files of its own"
            " machine alone",
            "an address has three slashes: file:///srv/wheels/x.whl",
        )
    path = re.sub(r"^/+", "/", unquote(address.path))
    if not path or "$" in path or not path.isprintable() or re.match(r"/?[A-Za-z]:", path):
        raise elsewhere(text, wrong)
    words = dict(part.partition("=")[::2] for part in address.fragment.split("&") if part)
    if words.get("subdirectory"):
        raise wrong(
            f"{text} asks for a part of a folder", "write the path of the part itself, without `#`"
        )
    extra = re.search(r"\[[^\]]*\]$", words.get("egg", ""))
    digest = next((f"{key}:{words[key]}" for key in sorted(_HASHES & words.keys())), "")
    return Reference(kind, path, before, (extra[0] if extra else "") + after, True, digest)


def refuse_built(name: str, address: str, text: str, wrong: Wrong) -> None:
    """Raises InputError for what `pip freeze` prints of a package that conda has installed."""
    if not _BUILT.match(address):
        return
    found = re.search(
        rf"(?i)/{re.escape(name).replace('-', '[-_.]+')}-([0-9][^-/]*)-[^/]*$", address
    )
    version = found[1] if found else "VERSION"
    raise wrong(
        f"{text} is the folder in which conda's {name} was built, and on no other machine:"
        " `pip freeze` prints that for packages of conda's",
        f"write {name}={version} among the conda dependencies, or {name}=={version} here; `pip list"
        " --format=freeze` prints versions",
    )


def elsewhere(text: str, wrong: Wrong) -> InputError:
    """For what nobody can find, or send."""
    editable = re.match(r"(?:-e|--editable)[\s=]*(\S+)", text)
    if editable and is_remote(editable[1]):
        return wrong(
            f"{text} is editable, and a node has no folder to edit it in",
            f"leave out the option: {editable[1]}",
        )
    return wrong(
        f"{text} refers to a file of this machine, in a way that pip does not follow", _WRITE
    )
