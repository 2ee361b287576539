"""Which OpenMP, BLAS, NCCL and cuDNN a job has loaded after it imported numpy and torch."""

import glob
import os
import re
import sys
import sysconfig

# The name of the runtime, and what its files are called.
LOADED = (
    ("openmp", re.compile(r"lib(gomp|iomp5|omp)(-\w+)?\.so")),
    (
        "blas",
        re.compile(r"lib(openblas|scipy_openblas|flexiblas|mkl_rt|mkl_core|blis|blas)[\w.-]*\.so"),
    ),
    ("cudart", re.compile(r"libcudart(-\w+)?\.so")),
    ("nccl", re.compile(r"libnccl\.so")),
    ("cudnn", re.compile(r"libcudnn\.so")),
)
COPIES = (("nccl", "libnccl.so.*"), ("cudnn", "libcudnn.so.*"))


def runtimes_facts():
    yield "copies", copies
    yield "numpy", lambda: imported("numpy")
    yield "torch", lambda: imported("torch")
    yield "loaded", lambda: loaded("/proc/self/maps")


def imported(name):
    try:
        __import__(name)
    except ImportError as error:
        if getattr(error, "name", None) != name:
            raise
        return False
    return True


def loaded(maps):
    """The files of each kind that are mapped into this process, each once."""
    with open(maps, encoding="utf-8", errors="replace") as stream:
        paths = sorted({line.split(None, 5)[5].strip() for line in stream if "/" in line})
    found = {}
    for kind, pattern in LOADED:
        files = [path for path in paths if pattern.match(os.path.basename(path))]
        found[kind] = files
    return found


def copies():
    """The files of one library that conda and pip both brought, links followed."""
    folders = [os.path.join(sys.prefix, "lib")]
    packages = sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
    found = {}
    for kind, name in COPIES:
        paths = glob.glob(os.path.join(glob.escape(folders[0]), name))
        for folder in packages:
            paths += glob.glob(os.path.join(glob.escape(folder), "nvidia", "*", "lib", name))
            paths += glob.glob(os.path.join(glob.escape(folder), "torch", "lib", name))
        found[kind] = sorted({os.path.realpath(path) for path in paths})
    return found
