"""Runs in the environment's own Python, as a job would; answers JSON on descriptor 3.

Any Python from 3.6 on must be able to read this file, and nothing but the standard library
may be needed. A fact that cannot be had is an error text, never an exception.
"""

import glob
import json
import os
import sys
import sysconfig


def attempt(question):
    try:
        return question()
    except BaseException as error:
        return {"error": "%s: %s" % (type(error).__name__, error)}


def torch_facts():
    try:
        import torch
    except ImportError as error:
        if getattr(error, "name", None) == "torch":
            return None
        return {"error": "%s: %s" % (type(error).__name__, error)}
    except BaseException as error:
        return {"error": "%s: %s" % (type(error).__name__, error)}
    facts = {
        "version": attempt(lambda: str(torch.__version__)),
        "file": attempt(lambda: torch.__file__),
        "cuda": attempt(lambda: torch.version.cuda),
        "hip": attempt(lambda: getattr(torch.version, "hip", None)),
        "cudnn": attempt(lambda: torch.backends.cudnn.version()),
        "available": attempt(lambda: torch.cuda.is_available()),
    }
    if facts["available"] is True:
        facts["nccl"] = attempt(lambda: ".".join(map(str, torch.cuda.nccl.version())))
        facts["devices"] = attempt(
            lambda: [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
        )
    return facts


def driver():
    """NVIDIA's kernel module says its version here (driver README, "The /proc interface")."""
    try:
        with open("/proc/driver/nvidia/version") as stream:
            words = stream.readline().split()
    except (IOError, OSError):
        return None
    return next((word for word in words if word[:1].isdigit() and "." in word), None)


def header(path):
    """Name and version of one installed distribution, or nothing when it is damaged."""
    found = {}
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            for line in stream:
                if not line.strip():
                    break
                key, _, value = line.partition(":")
                if key in ("Name", "Version"):
                    found[key.lower()] = value.strip()
    except (IOError, OSError) as error:
        found["error"] = str(error)
    return found


def distributions():
    """What is installed in this prefix: not the user site, which is not the environment's."""
    found = []
    for folder in sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}):
        paths = glob.glob(os.path.join(glob.escape(folder), "*.dist-info", "METADATA"))
        paths += glob.glob(os.path.join(glob.escape(folder), "*.egg-info", "PKG-INFO"))
        paths += [
            path
            for path in glob.glob(os.path.join(glob.escape(folder), "*.egg-info"))
            if os.path.isfile(path)
        ]
        for path in sorted(paths):
            item = header(path)
            item["path"] = os.path.relpath(path, sys.prefix)
            found.append(item)
    return found


answer = {
    "python": ".".join(map(str, sys.version_info[:3])),
    "implementation": sys.implementation.name,
    "driver": attempt(driver),
    "distributions": attempt(distributions),
    "torch": torch_facts(),
}
with os.fdopen(3, "w", encoding="utf-8") as stream:
    json.dump(answer, stream)
    stream.write("\n")
