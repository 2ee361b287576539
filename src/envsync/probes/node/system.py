"""The machine below the environment: system, processor, limits and network, from /proc and /sys."""

import glob
import os
import re
import resource
import socket
import sys

# x86-64-v2, v3, v4 of the psABI, as the names of /proc/cpuinfo.
LEVELS = (
    (2, "cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3"),
    (3, "abm avx avx2 bmi1 bmi2 f16c fma movbe xsave"),
    (4, "avx512f avx512bw avx512cd avx512dq avx512vl"),
)
LIBRARIES = ("/usr/lib/*-linux-gnu", "/lib/*-linux-gnu", "/usr/lib64", "/lib64", "/usr/lib", "/lib")


def system_facts():
    yield "os", os_name
    yield "kernel", lambda: os.uname().release
    yield "machine", lambda: os.uname().machine
    yield "glibc", lambda: os.confstr("CS_GNU_LIBC_VERSION").split()[-1]
    yield "libstdcxx", libstdcxx
    yield "cpu", lambda: cpu(read("/proc/cpuinfo"))
    yield "cores", os.cpu_count
    yield "usable_cores", lambda: len(os.sched_getaffinity(0))
    yield "memory_kib", lambda: int(re.search(r"MemTotal:\s+(\d+)", read("/proc/meminfo")).group(1))
    yield "shm_bytes", shared_memory
    yield "memlock", lambda: limit(resource.RLIMIT_MEMLOCK)
    yield "nofile", lambda: limit(resource.RLIMIT_NOFILE)
    yield "infiniband", infiniband
    yield "interfaces", interfaces
    yield "hostname", socket.gethostname
    # sshd(8), ENVIRONMENT: client address and port, server address and port.
    yield "reached_at", lambda: (os.environ.get("SSH_CONNECTION", "").split() + [""] * 3)[2]
    # Last: a name server that does not answer takes its time.
    yield "addresses", lambda: addresses(socket.gethostname())


def read(path):
    with open(path, encoding="utf-8", errors="replace") as stream:
        return stream.read()


def os_name():
    text = read("/etc/os-release")
    return re.search(r'^PRETTY_NAME="?([^"\n]*)', text, re.MULTILINE).group(1)


def libstdcxx():
    """Where C++'s library lies that is loaded first, and the newest symbols that it has."""
    folders = [os.path.join(sys.prefix, "lib")]
    for pattern in LIBRARIES:
        folders += sorted(glob.glob(pattern))
    for folder in folders:
        path = os.path.join(folder, "libstdc++.so.6")
        if os.path.exists(path):
            with open(path, "rb") as stream:
                found = re.findall(rb"GLIBCXX_3\.4\.(\d+)", stream.read())
            newest = max(map(int, found)) if found else 0
            return {"path": path, "newest": "GLIBCXX_3.4.%d" % newest}
    return None


def cpu(text):
    """The processor's name, and the level of its instructions; 0 where levels are not known."""
    fields = dict(re.findall(r"^(model name|flags|Features)\s*:\s*(.*)$", text, re.MULTILINE))
    level = 1 if "flags" in fields else 0
    flags = set(fields.get("flags", "").split())
    for number, needed in LEVELS:
        if level == number - 1 and set(needed.split()) <= flags:
            level = number
    return {"model": fields.get("model name", ""), "level": level}


def shared_memory():
    found = os.statvfs("/dev/shm")  # noqa: S108 (where torch's workers share memory)
    return found.f_blocks * found.f_frsize


def limit(which):
    """The soft limit; -1 is none."""
    return resource.getrlimit(which)[0]


def infiniband():
    """Each port of each device: its state, its rate, and the device's firmware."""
    found = []
    for port in sorted(glob.glob("/sys/class/infiniband/*/ports/*")):
        device = os.path.dirname(os.path.dirname(port))
        firmware = os.path.join(device, "fw_ver")
        found.append(
            {
                "device": os.path.basename(device),
                "port": os.path.basename(port),
                "state": read(os.path.join(port, "state")).strip(),
                "rate": read(os.path.join(port, "rate")).strip(),
                "firmware": read(firmware).strip() if os.path.exists(firmware) else "",
            }
        )
    return found


def interfaces():
    """The network interfaces that are up, by name, with their MTU; a bridge is not one."""
    found = {}
    for path in sorted(glob.glob("/sys/class/net/*")):
        name = os.path.basename(path)
        inner = name == "lo" or re.match("docker|veth|br-|cni|cali|flannel|virbr|tun|tap", name)
        if not inner and read(os.path.join(path, "operstate")).strip() != "down":
            found[name] = int(read(os.path.join(path, "mtu")))
    return found


def addresses(name):
    return sorted({item[4][0] for item in socket.getaddrinfo(name, None)})
