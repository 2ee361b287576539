"""Installers as constructor makes them: a shell script that takes -b -p -u, and an archive."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Sequence
from pathlib import Path

from envsync.demo.channel import SUBDIR
from envsync.demo.conda import install_conda

_HEADER = """\
{shebang}
#
# NAME:  {name}
# VER:   {version}
# PLAT:  {plat}
# MD5:   0123

if ! echo "$0" | grep '\\.sh$' >/dev/null; then
    echo 'Please run using "sh"' >&2
    exit 1
fi
THIS=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
BATCH=0
UPDATE=0
while getopts bup: option; do
    case $option in
    b) BATCH=1 ;;
    u) UPDATE=1 ;;
    p) PREFIX=$OPTARG ;;
    *) exit 2 ;;
    esac
done
[ "$BATCH" = 1 ] || {{ read -r answer && [ "$answer" = yes ] || exit 2; }}
[ "$UPDATE" = 1 ] || [ ! -e "$PREFIX" ] || {{
    echo "ERROR: File or directory already exists: '$PREFIX'" >&2
    exit 1
}}
mkdir -p "$PREFIX" || exit 1
echo "PREFIX=$PREFIX"
{before}
sed '1,/^@@END_HEADER@@$/d' "$THIS" | tar -xf - -C "$PREFIX" || exit 1
pth=$(echo "$PREFIX"/lib/python3*/site-packages/envsync-demo.pth)
[ ! -e "$pth" ] || sed -i "s|@PREFIX@|$PREFIX|" "$pth"
echo {version} >"$PREFIX/version"
{after}
echo installation finished.
exit 0
@@END_HEADER@@
"""

_FAKE = """\
#!/bin/sh
echo "$*" >>"$HOME/conda-starts"
echo conda 24.1.0
"""


def make_installer(
    file: Path,
    root: Path | None = None,
    *,
    name: str = "Miniforge3",
    version: str = "24.7.1-0",
    plat: str = SUBDIR,
    shebang: str = "#!/bin/sh",
    before: str = "",
    after: str = "",
) -> str:
    """Write one that installs the conda of `root`, or one that only says its version.

    `before` and `after` are shell text that runs around the unpacking. Its sha256.
    """
    head = _HEADER.format(
        shebang=shebang, name=name, version=version, plat=plat, before=before, after=after
    )
    file.write_bytes(head.encode() + (_archive(root) if root else _fake()))
    return hashlib.sha256(file.read_bytes()).hexdigest()


def lab_conda(root: Path, channels: Sequence[str]) -> Path:
    """A root prefix for `make_installer` that can be put anywhere."""
    install_conda(root, channels)
    (pth,) = root.glob("lib/python3*/site-packages/envsync-demo.pth")
    pth.write_text(pth.read_text().replace(str(root), "@PREFIX@"))
    return root


def _archive(root: Path) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        archive.add(root, ".")
    return raw.getvalue()


def _fake() -> bytes:
    raw = io.BytesIO()
    files = {
        "bin/conda": _FAKE,
        "conda-meta/conda-24.1.0-0.json": "{}",
        "conda-meta/history": "",
        ".condarc": json.dumps({"channels": ["conda-forge"]}),
    }
    with tarfile.open(fileobj=raw, mode="w") as archive:
        for path, text in files.items():
            info = tarfile.TarInfo(path)
            info.size, info.mode = len(text), 0o755
            archive.addfile(info, io.BytesIO(text.encode()))
    return raw.getvalue()
