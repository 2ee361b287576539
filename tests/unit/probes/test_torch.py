"""node/torch.py asks small stand-ins of torch here; real ones are recorded in data/."""

from __future__ import annotations

import sys
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace
from typing import Any

import pytest

from envsync.probes import wide
from envsync.probes.answers import Answers
from envsync.probes.torch import parse_torch
from envsync.wide import Part, Torch

FOLDER = Path(wide.__file__).parent / "node"
NODE = run_path(str(FOLDER / "torch.py"))
ASKING = run_path(str(FOLDER / "asking.py"))


def fake(**more: object) -> SimpleNamespace:
    """What a torch for CUDA has on a node with two GPUs."""
    cuda = SimpleNamespace(
        is_available=lambda: True,
        device_count=lambda: 2,
        get_device_name=lambda i: f"GPU {i}",
        get_device_capability=lambda _: (9, 0),
        is_bf16_supported=lambda: True,
        nccl=SimpleNamespace(version=lambda: (2, 21, 5)),
    )
    backends = SimpleNamespace(
        cudnn=SimpleNamespace(version=lambda: 90100),
        mkl=SimpleNamespace(is_available=lambda: True),
        mkldnn=SimpleNamespace(is_available=lambda: True),
        openmp=SimpleNamespace(is_available=lambda: True),
    )
    distributed = SimpleNamespace(
        is_available=lambda: True,
        is_gloo_available=lambda: True,
        is_nccl_available=lambda: True,
        is_mpi_available=lambda: False,
    )
    core = SimpleNamespace(
        _GLIBCXX_USE_CXX11_ABI=True, _cuda_getArchFlags=lambda: "sm_80 sm_90 compute_90"
    )
    parts = {
        "__version__": "2.5.1+cu124",
        "__file__": "/p/torch/__init__.py",
        "version": SimpleNamespace(cuda="12.4", hip=None, git_version="abc", debug=False),
        "cuda": cuda,
        "backends": backends,
        "distributed": distributed,
        "_C": core,
        "get_num_threads": lambda: 8,
        "get_num_interop_threads": lambda: 4,
    }
    return SimpleNamespace(**{**parts, **more})


def asked(
    monkeypatch: pytest.MonkeyPatch, torch: object, *, wide: bool = True, **modules: object
) -> dict[str, Any]:
    absent = {"numpy": None, "torchvision": None, "torchaudio": None}
    for name, module in {**absent, **modules, "torch": torch}.items():
        monkeypatch.setitem(sys.modules, name, module)  # type: ignore[arg-type]
    facts: dict[str, Any] = ASKING["collect"](NODE["torch_facts"](wide))
    return facts


def parsed(facts: dict[str, Any]) -> Torch:
    found = parse_torch(Answers("torch", facts))
    assert found is not None
    return found


def test_all_that_a_cuda_build_says(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parsed(asked(monkeypatch, fake())) == Torch(
        version="2.5.1+cu124",
        git="abc",
        debug=False,
        cxx11_abi=True,
        cuda="12.4",
        hip="",
        cudnn="90100",
        nccl="2.21.5",
        archs=("sm_80", "sm_90", "compute_90"),
        backends=("gloo", "nccl"),
        mkl=True,
        mkldnn=True,
        openmp=True,
        threads=8,
        interop_threads=4,
        available=True,
        devices=("GPU 0", "GPU 1"),
        capabilities=("9.0", "9.0"),
        bf16=True,
    )


def test_what_can_hang_is_asked_last(monkeypatch: pytest.MonkeyPatch) -> None:
    names = list(asked(monkeypatch, fake()))
    assert names.index("archs") < names.index("available") < names.index("devices")


def test_push_asks_for_the_old_facts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(asked(monkeypatch, fake(), wide=False)) == {
        "version", "file", "cuda", "hip", "cudnn", "available", "nccl", "devices",
    }  # fmt: skip


def test_nccl_of_before_1_13_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = fake()
    torch.cuda.nccl.version = lambda: 2708
    assert asked(monkeypatch, torch)["nccl"] == "2.7.8"


def test_missing_torch_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    facts = ASKING["collect"](NODE["torch_facts"](True))
    assert facts == {"missing": True}
    assert parse_torch(Answers("torch", facts)) is None


def test_torch_built_for_another_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    def from_numpy(_: object) -> None:
        raise RuntimeError("Numpy is not available")

    numpy = SimpleNamespace(__version__="2.1.0", zeros=lambda _: None)
    torch = parsed(asked(monkeypatch, fake(from_numpy=from_numpy), numpy=numpy))
    assert torch.numpy == Part("2.1.0", "RuntimeError: Numpy is not available")


def test_torchvision_whose_operators_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def nms(*_: object) -> None:
        raise RuntimeError("Couldn't load custom C++ ops.\nThis can happen if ...")

    vision = SimpleNamespace(__version__="0.20.1", ops=SimpleNamespace(nms=nms))
    torch = fake(zeros=lambda *_: None)
    found = parsed(asked(monkeypatch, torch, torchvision=vision)).torchvision
    assert found == Part("0.20.1", "RuntimeError: Couldn't load custom C++ ops.")


def test_torchaudio_without_its_extension_and_without_any(monkeypatch: pytest.MonkeyPatch) -> None:
    extension = SimpleNamespace(_IS_TORCHAUDIO_EXT_AVAILABLE=False)
    audio = SimpleNamespace(__version__="2.5.1", _extension=extension)
    found = parsed(asked(monkeypatch, fake(), torchaudio=audio)).torchaudio
    assert found == Part("2.5.1", "its C++ extension is not loaded")
    newer = SimpleNamespace(__version__="2.9.0")
    assert parsed(asked(monkeypatch, fake(), torchaudio=newer)).torchaudio == Part("2.9.0")


def test_library_that_cannot_be_imported_is_there_and_broken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "torchaudio.py").write_text("raise OSError('undefined symbol: _ZN3c10')\n")
    monkeypatch.syspath_prepend(tmp_path)
    facts = asked(monkeypatch, fake())
    monkeypatch.delitem(sys.modules, "torchaudio")
    facts = ASKING["collect"](NODE["torch_facts"](True))
    assert facts["torchaudio"] == {
        "version": "",
        "failed": "it cannot be imported: OSError: undefined symbol: _ZN3c10",
    }


def test_odd_torch_answers_what_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = asked(monkeypatch, SimpleNamespace(__version__="0.0.odd"))
    torch = parsed(facts)
    assert (torch.version, torch.cuda, torch.backends) == ("0.0.odd", None, None)
    assert "error" not in facts
