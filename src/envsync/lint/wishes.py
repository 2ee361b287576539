"""What a file says of versions, torch and CUDA, as the rules want to know it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from envsync.cuda import SELECTORS
from envsync.requirement import Requirement, pep508
from envsync.spec import EnvironmentSpec

Minor = tuple[int, int]

TORCH_NAMES = frozenset({"torch", "pytorch", "pytorch-gpu", "pytorch-cpu"})

_CLAUSE = re.compile(r"(==?|>=|~=|>|<=|<|!=)?\s*v?(\d+)(?:\.(\d+))?([^,]*)")
_OTHER_CUDA = re.compile(r"cuda|cuda-.+|cudnn|nccl|libcu(blas|dnn|fft|rand|solver|sparse).*")
_INDEX = re.compile(r"/whl/(?:nightly/|test/)?(cpu|cu\d{2,3})\b")


def lowest(version: str) -> Minor | None:
    """Major and minor of the oldest version that is asked for; None where that is open."""
    if "|" in version:
        return None
    clauses = [_CLAUSE.fullmatch(part.strip()) for part in version.split(",")]
    begins = [
        (int(clause[2]), int(clause[3] or 0))
        for clause in clauses
        if clause and (clause[1] or "==") not in {"<", "<=", "!="}
    ]
    return max(begins, default=None)


def only(version: str) -> Minor | None:
    """Major and minor, where nothing but one minor version will do; None elsewhere."""
    if re.search(r"[|,<>!]", version):
        return None
    clause = _CLAUSE.fullmatch(version.strip())
    if clause is None or clause[3] is None:
        return None
    if clause[1] == "~=" and not re.match(r"\.\d", clause[4]):
        return None  # ~=2.1 is open towards 2.9
    return int(clause[2]), int(clause[3])


def shown(version: Minor) -> str:
    return f"{version[0]}.{version[1]}"


def channel_name(channel: str) -> str:
    """`conda-forge`, whether it is written as a name or as an address."""
    return channel.rstrip("/").rpartition("/")[2]


def is_conditional(entry: Requirement) -> bool:
    """Lines with markers exclude each other: `; sys_platform == "linux"` and its opposite."""
    if ";" not in entry.text:
        return False
    wanted = pep508(entry.text)
    return wanted is not None and wanted.marker is not None


@dataclass(frozen=True)
class Wish:
    """A line that asks for CUDA of a certain major version, or for torch without any."""

    line: int
    text: str
    """What asks for it, in a few words."""
    major: int = 0
    """0 where the line does not say."""
    file: str = ""
    """The requirements file in which the line is; empty for the environment file itself."""


def cuda_wishes(spec: EnvironmentSpec) -> Iterator[Wish]:
    """Every line that asks for CUDA, whichever version."""
    for each in spec.conda:
        if each.name in SELECTORS:
            at = lowest(each.version)
            text = f"{each.name} {shown(at)}" if at else each.name
            yield Wish(each.line, text, at[0] if at else 0)
        elif each.name == "pytorch-gpu" or _OTHER_CUDA.fullmatch(each.name):
            yield Wish(each.line, each.name)
        elif each.name in TORCH_NAMES and (built := re.search(r"cuda(1[0-9])?", each.build)):
            yield Wish(each.line, f"{each.name} with build {each.build}", int(built[1] or 0))
    for each in spec.pip:
        if is_conditional(each):
            continue
        if named := re.fullmatch(r"(?:nvidia|cupy)-.*?(?:cu|cuda)(\d\d)x?", each.name):
            yield Wish(each.line, each.name, int(named[1]), each.file)
        elif local := re.search(r"\+cu(\d\d)", each.version):
            yield Wish(
                each.line, f"{each.name} {each.version.lstrip('=')}", int(local[1]), each.file
            )
        elif (index := _index(each)) and index.startswith("cu"):
            yield Wish(each.line, f"the index for {index}", int(index[2:4]), each.file)


def cpu_wishes(spec: EnvironmentSpec) -> Iterator[Wish]:
    """Every line that asks for a torch that cannot use a GPU."""
    for each in spec.conda:
        if each.name in {"cpuonly", "pytorch-cpu"}:
            yield Wish(each.line, each.name)
        elif each.name in TORCH_NAMES and "cpu" in each.build:
            yield Wish(each.line, f"{each.name} with build {each.build}")
    for each in spec.pip:
        if is_conditional(each):
            continue
        if each.name == "torch" and "+cpu" in each.version:
            yield Wish(each.line, f"torch {each.version.lstrip('=')}", file=each.file)
        elif _index(each) == "cpu":
            yield Wish(each.line, "the index for CPU wheels", file=each.file)


def _index(entry: Requirement) -> str:
    """`cpu` or `cu121`, where a line of options or a URL leads to PyTorch's wheels for it."""
    found = _INDEX.search(entry.text)
    return found[1] if found else ""
