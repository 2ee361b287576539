"""What node/torch.py says, as data."""

from __future__ import annotations

from envsync.probes.answers import Answers
from envsync.redact import redact
from envsync.wide import Part, Torch


def parse_torch(said: Answers) -> Torch | None:
    """None when torch is not installed, or does not even tell its version."""
    if "version" not in said:
        return None
    return Torch(
        version=said.text("version"),
        git=said.text("git"),
        debug=said.flag("debug"),
        cxx11_abi=said.flag("cxx11_abi"),
        cuda=said.text("cuda"),
        hip=said.text("hip"),
        cudnn=said.text("cudnn"),
        nccl=said.text("nccl"),
        archs=said.texts("archs"),
        backends=said.texts("backends"),
        mkl=said.flag("mkl"),
        mkldnn=said.flag("mkldnn"),
        openmp=said.flag("openmp"),
        threads=said.number("threads"),
        interop_threads=said.number("interop_threads"),
        available=said.flag("available"),
        devices=said.texts("devices"),
        capabilities=said.texts("capabilities"),
        bf16=said.flag("bf16"),
        numpy=_part(said, "numpy"),
        torchvision=_part(said, "torchvision"),
        torchaudio=_part(said, "torchaudio"),
    )


def _part(said: Answers, name: str) -> Part | None:
    found = said.table(name)
    if not found:
        return None
    return Part(str(found.get("version", "")), redact(str(found.get("failed", ""))))
