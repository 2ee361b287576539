"""Which CUDA a set of packages is for."""

from __future__ import annotations

import pytest

from envsync.cuda import major_of
from envsync.model import Package


@pytest.mark.parametrize(
    ("packages", "major"),
    [
        ([], 0),
        ([Package("conda", "numpy", "1.26.4", "py311_0")], 0),
        ([Package("conda", "cudatoolkit", "11.8.0", "h4ba93d1_13")], 11),
        ([Package("conda", "cuda-version", "12.4", "h3060b56_3")], 12),
        ([Package("conda", "pytorch", "2.5.1", "py3.11_cuda12.4_cudnn9.1.0_0")], 12),
        ([Package("conda", "pytorch", "2.6.0", "cuda126_generic_py311_h123_200")], 12),
        ([Package("conda", "pytorch", "2.6.0", "cpu_generic_py311_h123_1")], 0),
        ([Package("pip", "torch", "2.5.1+cu124")], 12),
        ([Package("pip", "torch", "2.5.1+cpu")], 0),
        ([Package("pip", "nvidia-cuda-runtime-cu12", "12.4.127")], 12),
        (
            [
                Package("conda", "cudatoolkit", "11.8.0", "h4ba93d1_13"),
                Package("pip", "nvidia-cuda-runtime-cu13", "13.0.0"),
            ],
            13,
        ),
    ],
)
def test_newest_major(packages: list[Package], major: int) -> None:
    assert major_of(packages) == major
