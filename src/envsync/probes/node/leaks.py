"""What reaches into the environment from outside: other packages, other libraries, variables."""

import glob
import os
import re
import site
import sys
import sysconfig

NAMES = re.compile(
    "(NCCL|CUDA|OMP|KMP|GOMP|PYTORCH|TORCH|MKL|OPENBLAS|GLOO|UCX|FI"
    "|HIP|HSA|ROCR|RCCL|MIOPEN)_|LD_PRELOAD$"
)
SECRET = re.compile("TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|_KEY|APIKEY", re.IGNORECASE)
TOKEN = re.compile(r"\b(hf_|ghp_|gho_|glpat-|sk-|AKIA|xox[a-z]-)\w{8,}")
LIBRARY = re.compile(
    r"lib(cuda|cudart|cublas|cublasLt|cudnn|nccl|cufft|cusparse|nvrtc|mkl_\w+|iomp5|omp|gomp"
    r"|stdc\+\+)(-\w+)?\.so"
)


def leaks_facts():
    yield "paths", foreign_paths
    yield "libraries", foreign_libraries
    yield "variables", variables


def foreign_paths():
    """Folders of sys.path outside the environment; what of it they hide, and what they add."""
    own = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    mine = set()
    for folder in own:
        mine |= set(modules(folder))
    order = []
    for path in map(os.path.realpath, filter(None, sys.path)):
        if path not in order:  # a .pth file may name what is there already
            order.append(path)
    last = min(
        [order.index(os.path.realpath(path)) for path in own if os.path.realpath(path) in order]
        or [len(order)]
    )
    user = os.path.realpath(site.getusersitepackages())
    named = [os.path.realpath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    found = []
    for position, path in enumerate(order):
        came = "user site" if path == user else "PYTHONPATH" if path in named else ""
        if not came or not os.path.isdir(path) or path in map(os.path.realpath, own):
            continue
        theirs = modules(path)
        hides = sorted(set(theirs) & mine) if position < last else []
        found.append(
            {
                "path": path,
                "came": came,
                "hides": [described(path, name) for name in hides],
                "adds": sorted(set(theirs) - mine),
            }
        )
    return found


def modules(folder):
    """The names that can be imported from a folder."""
    found = set()
    try:
        entries = os.listdir(folder)
    except OSError:
        return found
    for entry in entries:
        path = os.path.join(folder, entry)
        if os.path.isfile(os.path.join(path, "__init__.py")):
            found.add(entry)
        elif entry.endswith((".py", ".so")) and os.path.isfile(path):
            found.add(entry.partition(".")[0])
    return {name for name in found if name.isidentifier() and not name.startswith("_")}


def described(folder, name):
    """A module, with the version of the distribution of that name, if there is one."""
    pattern = os.path.join(glob.escape(folder), "%s-*.dist-info" % name)
    versions = [os.path.basename(path)[len(name) + 1 : -10] for path in glob.glob(pattern)]
    return " ".join([name, *sorted(versions)[-1:]])


def foreign_libraries():
    """Libraries of CUDA, MKL and OpenMP that variables put before the environment's own."""
    found = []
    # Real paths: that is how the kernel names what is loaded from there.
    folders = filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":"))
    for path in map(os.path.realpath, folders):
        if not path.startswith(os.path.realpath(sys.prefix) + os.sep):
            try:
                names = sorted(filter(LIBRARY.match, os.listdir(path)))
            except OSError:
                names = []
            if names:
                found.append({"variable": "LD_LIBRARY_PATH", "path": path, "names": names})
    for path in filter(None, re.split("[ :]", os.environ.get("LD_PRELOAD", ""))):
        # Allocators and the like are preloaded with good reason: a variable like others.
        if LIBRARY.match(os.path.basename(path)):
            folder, name = os.path.split(os.path.realpath(path))
            found.append({"variable": "LD_PRELOAD", "path": folder, "names": [name]})
    return found


def variables():
    """Those that change how a job computes or talks; a value that may be a secret stays here."""
    return {
        name: "***" if SECRET.search(name) else TOKEN.sub("***", value)
        for name, value in sorted(os.environ.items())
        if NAMES.match(name)
    }
