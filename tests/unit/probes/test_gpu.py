"""What nvidia-smi and rocm-smi print, in their documented formats, as data."""

from __future__ import annotations

import json
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from envsync.probes import wide
from envsync.probes.answers import Answers
from envsync.probes.gpu import parse_gpus
from envsync.wide import Gpus

DATA = Path(__file__).parent / "data"


def recorded(name: str) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((DATA / f"gpu-{name}.json").read_text())
    return facts


def gpus(name: str) -> Gpus:
    return parse_gpus(Answers("gpu", recorded(name)))


def test_node_with_neither_program_has_no_gpus() -> None:
    assert gpus("none") == Gpus(())


def test_eight_equal_gpus_with_all_that_is_asked() -> None:
    found = gpus("eight")
    assert found.gpus is not None
    assert len(found.gpus) == 8
    assert len({each.uuid for each in found.gpus}) == 8
    first = found.gpus[0]
    assert (first.name, first.memory_mib) == ("NVIDIA H100 80GB HBM3", 81559)
    assert (first.capability, first.driver) == ("9.0", "550.54.15")
    assert (first.mig, first.ecc, first.persistence) == ("Disabled", "Enabled", "Enabled")
    assert (found.driver, found.trouble, found.mig_instances) == ("550.54.15", "", 0)


def test_old_program_without_compute_cap_tells_the_rest() -> None:
    found = gpus("driver-too-old")
    assert found.driver == "450.51.06"
    assert found.gpus is not None
    assert {(each.name, each.capability) for each in found.gpus} == {("Tesla V100-SXM2-32GB", "")}
    assert {each.mig for each in found.gpus} == {""}


def test_program_from_before_mig_tells_the_rest() -> None:
    found = gpus("before-mig")
    (card,) = found.gpus or ()
    assert (card.driver, card.mig, card.ecc, card.persistence) == (
        "418.87.00", "", "Enabled", "Disabled",
    )  # fmt: skip


def test_fields_that_an_old_program_does_not_know_are_left_out(tmp_path: Path) -> None:
    """It names one at a time, in the words of nvidia-smi, and exits 2."""
    smi = tmp_path / "nvidia-smi"
    smi.write_text(
        "#!/bin/sh\n"
        "for name in mig.mode.current compute_cap; do\n"
        "  case $1 in *$name*)\n"
        '    echo "Field \\"$name\\" is not a valid field to query."\n'
        "    exit 2\n"
        "  esac\n"
        "done\n"
        "echo 0, Tesla P100, GPU-1, 16280, 418.87.00, Enabled, Disabled\n"
    )
    smi.chmod(0o755)
    node = run_path(str(Path(wide.__file__).parent / "node" / "gpu.py"))
    done = node["query"](str(smi))
    assert done["exit"] == 0
    found = parse_gpus(Answers("gpu", {"visible": {}, "nvidia_smi": done}))
    assert [each.name for each in found.gpus or ()] == ["Tesla P100"]
    assert found.trouble == ""


def test_mig_instances_are_counted() -> None:
    found = gpus("mig")
    assert [each.mig for each in found.gpus or ()] == ["Enabled", "Disabled"]
    assert found.mig_instances == 2


def test_gpus_of_several_kinds_and_visible_devices() -> None:
    found = gpus("mixed")
    assert [each.capability for each in found.gpus or ()] == ["8.6", "6.1"]
    assert [each.ecc for each in found.gpus or ()] == ["Disabled", ""]
    assert found.visible == (("CUDA_VISIBLE_DEVICES", "0,1"),)


def test_program_without_a_driver_is_trouble_and_no_gpus() -> None:
    found = gpus("no-driver")
    assert found.gpus == ()
    assert found.trouble.startswith("nvidia-smi ended with exit code 9: NVIDIA-SMI has failed")


def test_rocm_in_both_spellings() -> None:
    found = gpus("rocm")
    assert [each.name for each in found.gpus or ()] == ["AMD Instinct MI250X"] * 2
    assert found.driver == "6.3.6"
    assert found.gpus is not None
    assert (found.gpus[0].memory_mib, found.gpus[0].capability) == (65520, "gfx90a")


def test_rocm_without_json_is_trouble() -> None:
    facts = {"visible": {}, "rocm_smi": {"exit": 2, "out": "", "err": "ERROR: no amdgpu\n"}}
    assert parse_gpus(Answers("gpu", facts)).trouble == (
        "rocm-smi ended with exit code 2: ERROR: no amdgpu"
    )


@pytest.mark.parametrize(
    "facts", [{}, {"visible": {}, "nvidia_smi": {"error": "TimeoutExpired: 20 s"}}]
)
def test_what_nobody_answered_is_not_known(facts: dict[str, Any]) -> None:
    assert parse_gpus(Answers("gpu", facts)).gpus is None
