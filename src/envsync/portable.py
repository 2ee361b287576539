"""The text of an exported environment: from what a node has to what other nodes can read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from envsync.redact import bare, redact
from envsync.reference import CondaRecord, PipRecord, Reference

_SECRET = re.compile("TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|_KEY|APIKEY", re.IGNORECASE)
_TOKEN = re.compile(r"\b(hf_|ghp_|gho_|glpat-|sk-|AKIA|xox[a-z]-)\w{8,}")
_USABLE = re.compile(r"[^'\"`$\\\n\r\0]*")
_SUBDIR = re.compile(r"/(noarch|(linux|osx|win)-[a-z0-9_]+)/?$")
_DEFAULTS = re.compile(r"https?://repo\.anaconda\.com/pkgs/(main|r|msys2|free|pro)")
_QUERY_SECRET = re.compile(r"[?&][^&#]*=\*\*\*(?=[&#]|$)")


@dataclass(frozen=True)
class Portable:
    """An environment as text, and in parts. No part holds a credential."""

    text: str
    channels: tuple[str, ...] = ()
    conda: tuple[str, ...] = ()
    pip: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """What could not be kept; it stands as comments in the text as well."""


def portable(reference: Reference, *, builds: bool = False, from_history: bool = False) -> Portable:
    """An environment.yml. Without known history `from_history` keeps all of conda's packages."""
    notes: list[str] = []
    conda = [_spec(each, builds=builds) for each in by_name(reference.conda)]
    if from_history:
        if reference.asked is None:
            notes.append("the node does not say what conda was asked for: all packages are listed")
        else:
            conda = [redact(each) for each in reference.asked]
    records = [each for each in reference.pip if not (from_history and each.needed)]
    pip = [*_options(reference, records), *filter(None, map(requirement, records))]
    local = [each for each in records if not requirement(each)]
    notes += [_local(each) for each in local]
    if not reference.origins_known:
        notes.append("pip is too old (before 22.2) to say where its packages came from")
    reasons = {name: _unfit(name, value) for name, value in reference.variables}
    variables = {name: value for name, value in reference.variables if not reasons[name]}
    notes += [f"{name}: left out, since {why}" for name, why in reasons.items() if why]
    channels = channels_of(reference)
    text = _yaml(reference.name, channels, conda, pip, variables, notes)
    return Portable(text, tuple(channels), tuple(conda), tuple(pip), variables, tuple(notes))


def explicit(reference: Reference) -> Portable:
    """Conda's explicit list, in linking order; pip's packages follow as comments."""
    lines, notes = [], []
    for each in reference.conda:
        if not each.url:
            notes.append(f"conda has no address on record for {each.name} {each.version}")
            continue
        sha256 = f"#sha256:{each.sha256}" if each.sha256 else ""
        lines.append(clean(each.url) + (f"#{each.md5}" if each.md5 else sha256))
    pip = tuple(requirement(each) or _local(each) for each in reference.pip)
    head = [f"# platform: {reference.subdir}", *(f"# {_one_line(note)}" for note in notes)]
    tail = ["# pip:", *(f"#   {_one_line(each)}" for each in pip)] if pip else []
    text = "\n".join([*head, "@EXPLICIT", *lines, *tail, ""])
    return Portable(text, tuple(channels_of(reference)), tuple(lines), pip, notes=tuple(notes))


def by_name(records: Iterable[CondaRecord]) -> list[CondaRecord]:
    return sorted(records, key=lambda each: each.name)


def channels_of(reference: Reference) -> list[str]:
    """Channels that packages came from: in the order asked for, then the most used first.

    `nodefaults` keeps conda from adding its own where no package came from those.
    """
    counted = Counter(_channel(each) for each in reference.conda)
    counted.pop("", None)
    asked = [_short(clean(each)) for each in reference.channels]
    used = sorted(
        counted,
        key=lambda each: (asked.index(each) if each in asked else len(asked), -counted[each], each),
    )
    return used if "defaults" in used or not used else [*used, "nodefaults"]


def requirement(package: PipRecord) -> str:
    """A line for pip; empty for what stands in a folder of the node alone."""
    origin = package.origin
    if not origin:
        return f"{package.name}=={package.version}"
    url = clean(str(origin.get("url", "")))
    part = f"#subdirectory={origin['subdirectory']}" if origin.get("subdirectory") else ""
    if "dir_info" in origin or url.startswith("file:"):
        return ""
    if vcs := origin.get("vcs_info"):
        return f"{package.name} @ {vcs['vcs']}+{url}@{vcs['commit_id']}{part}"
    return f"{package.name} @ {url}{part or _hash(origin)}"


def clean(url: str) -> str:
    """An address without credentials; the user that SSH wants (`git@`) is none."""
    scheme, _, rest = url.partition("://")
    user = rest.partition("/")[0].rpartition("@")[0]
    plain = _QUERY_SECRET.sub("", redact(bare(url)))
    if user and ":" not in user and scheme.rpartition("+")[2] == "ssh":
        return plain.replace("://", f"://{user}@", 1)
    return plain


def _hash(origin: Mapping[str, Any]) -> str:
    sha256 = origin.get("archive_info", {}).get("hashes", {}).get("sha256")
    return f"#sha256={sha256}" if sha256 else ""


def _spec(record: CondaRecord, *, builds: bool) -> str:
    build = f"={record.build}" if builds and record.build else ""
    return f"{record.name}={record.version}{build}"


def _channel(record: CondaRecord) -> str:
    """The channel that a package came from, as one would write it."""
    folder = record.url.rpartition("/")[0]
    return _short(clean(folder or record.channel))


def _short(address: str) -> str:
    plain = _SUBDIR.sub("", address).rstrip("/")
    if _DEFAULTS.fullmatch(plain) or plain.startswith("pkgs/"):
        return "defaults"
    return re.sub(r"^https?://conda\.anaconda\.org/", "", plain)


def _options(reference: Reference, records: Iterable[PipRecord]) -> list[str]:
    """Where pip looks; folders of the node are of no use elsewhere."""
    if not any(map(requirement, records)):
        return []
    remote = re.compile(r"https?://")
    lines = [f"{option} {clean(url)}" for option, url in reference.indexes if remote.match(url)]
    return list(dict.fromkeys(lines))


def _local(package: PipRecord) -> str:
    editable = (package.origin or {}).get("dir_info", {}).get("editable")
    how = "installed as editable" if editable else "installed"
    url = clean(str((package.origin or {}).get("url", "")))
    return f"{package.name} {package.version} cannot be exported: {how} from {url}"


def _unfit(name: str, value: str) -> str:
    """Why a variable is left out; its value may be secret, and is not shown."""
    if _SECRET.search(name) or _TOKEN.search(value) or redact(value) != value:
        return "it may be a secret"
    if not re.fullmatch(r"[A-Z_][A-Z0-9_]*", name) or not _USABLE.fullmatch(value):
        return "conda would make shell text of it"
    return ""


def _yaml(
    name: str,
    channels: Iterable[str],
    conda: Iterable[str],
    pip: list[str],
    variables: Mapping[str, str],
    notes: Iterable[str],
) -> str:
    lines = [f"# {_one_line(note)}" for note in notes]
    lines += [f"name: {_scalar(name)}", "channels:", *(f"  - {_scalar(c)}" for c in channels)]
    lines += ["dependencies:", *(f"  - {_scalar(each)}" for each in conda)]
    if pip:
        lines += ["  - pip:", *(f"      - {_scalar(each)}" for each in pip)]
    if variables:
        lines += ["variables:", *(f"  {key}: {_quoted(value)}" for key, value in variables.items())]
    return "\n".join([*lines, ""])


def _scalar(text: str) -> str:
    """Plain where every YAML reads it as this very text. `1e3` is a number in YAML 1.2 alone."""
    if not re.match(r"[A-Za-z_-]|https?:", text):
        return _quoted(text)
    item = yaml.safe_dump([text], width=10**6, allow_unicode=True)
    return item.removeprefix("- ").rstrip("\n")


def _quoted(text: str) -> str:
    return yaml.safe_dump(text, default_style='"', width=10**6, allow_unicode=True).rstrip("\n")


def _one_line(text: str) -> str:
    return " ".join(text.split())
