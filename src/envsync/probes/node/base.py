"""The environment's Python, what is installed in it, and the driver of the machine."""

import glob
import json
import os
import sys
import sysconfig


def base_facts():
    yield "python", lambda: ".".join(map(str, sys.version_info[:3]))
    yield "implementation", lambda: sys.implementation.name
    yield "driver", driver
    yield "distributions", distributions


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


def direct_url(folder):
    """Where pip took a distribution from, when that was no index (PEP 610)."""
    try:
        with open(os.path.join(folder, "direct_url.json"), encoding="utf-8") as stream:
            found = json.load(stream)
    except (IOError, OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


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
            item["direct_url"] = direct_url(os.path.dirname(path))
            found.append(item)
    return found
