"""Which libraries are in a process, from the text of /proc/PID/maps."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path

from envsync.probes import wide
from envsync.probes.answers import Answers
from envsync.probes.runtimes import parse_runtimes

NODE = run_path(str(Path(wide.__file__).parent / "node" / "runtimes.py"))
SITE = "/p/lib/python3.11/site-packages"
MAPS = f"""\
7f00-7f10 r--p 00000000 fe:00 1 {SITE}/torch/lib/libgomp-a34b3233.so.1
7f10-7f20 r-xp 00010000 fe:00 1 {SITE}/torch/lib/libgomp-a34b3233.so.1
7f20-7f30 r--p 00000000 fe:00 2 /p/lib/libiomp5.so
7f30-7f40 r--p 00000000 fe:00 3 {SITE}/numpy.libs/libopenblas64_p-r0-0cf96a72.3.23.dev.so
7f40-7f50 r--p 00000000 fe:00 4 /p/lib/libmkl_rt.so.2
7f50-7f60 r--p 00000000 fe:00 5 {SITE}/nvidia/nccl/lib/libnccl.so.2
7f60-7f70 r--p 00000000 fe:00 6 {SITE}/nvidia/cudnn/lib/libcudnn_ops.so.9
7f70-7f80 r--p 00000000 fe:00 7 {SITE}/nvidia/cudnn/lib/libcudnn.so.9
7f80-7f90 r--p 00000000 fe:00 8 /opt/a b/libcudart.so.12
7f90-7fa0 rw-p 00000000 00:00 0 [heap]
7fa0-7fb0 rw-p 00000000 00:00 0
"""


def test_each_file_once_under_its_kind(tmp_path: Path) -> None:
    (tmp_path / "maps").write_text(MAPS)
    assert NODE["loaded"](str(tmp_path / "maps")) == {
        "openmp": ["/p/lib/libiomp5.so", f"{SITE}/torch/lib/libgomp-a34b3233.so.1"],
        "blas": [
            "/p/lib/libmkl_rt.so.2",
            f"{SITE}/numpy.libs/libopenblas64_p-r0-0cf96a72.3.23.dev.so",
        ],
        "cudart": ["/opt/a b/libcudart.so.12"],
        "nccl": [f"{SITE}/nvidia/nccl/lib/libnccl.so.2"],
        "cudnn": [f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9"],
    }


def test_answers_as_data() -> None:
    facts = {"loaded": {"openmp": ["/a"], "odd": 3}, "copies": {"error": "OSError: x"}}
    found = parse_runtimes(Answers("runtimes", facts))
    assert found.loaded == (("openmp", ("/a",)),)
    assert found.copies is None
