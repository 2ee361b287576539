"""The GPUs of the machine as the vendors' own programs list them. Neither program is needed."""

import os
import shutil
import subprocess

# `nvidia-smi --help-query-gpu` explains each.
FIELDS = (
    "index,name,uuid,memory.total,driver_version,mig.mode.current,ecc.mode.current,"
    "persistence_mode,compute_cap"
)
LATER = ("compute_cap", "mig.mode.current")
"""Those that came with drivers 510 and 450."""
FORMAT = "--format=csv,noheader,nounits"
ROCM = (
    "--showproductname",
    "--showuniqueid",
    "--showmeminfo",
    "vram",
    "--showdriverversion",
    "--json",
)
VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")


def gpu_facts():
    yield "visible", lambda: {name: os.environ[name] for name in VISIBLE if name in os.environ}
    smi = shutil.which("nvidia-smi")
    if smi:
        answers = []
        yield "nvidia_smi", lambda: answers.append(query(smi)) or answers[0]
        if answers and "Enabled" in answers[0]["out"]:
            yield "nvidia_list", lambda: ask(smi, "-L")
    rocm = shutil.which("rocm-smi") or shutil.which("/opt/rocm/bin/rocm-smi")
    if rocm:
        yield "rocm_smi", lambda: ask(rocm, *ROCM)


def query(smi):
    """The CSV, and the fields that it has: an older program refuses those that it lacks."""
    fields = FIELDS.split(",")
    while True:
        done = ask(smi, "--query-gpu=" + ",".join(fields), FORMAT)
        done["fields"] = ",".join(fields)
        said = done["out"] + done["err"]
        refused = [name for name in LATER if name in fields and '"%s"' % name in said]
        if not done["exit"] or not refused:
            return done
        fields = [name for name in fields if name not in refused]


def ask(*command):
    done = subprocess.run(
        command,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        timeout=20,
    )
    return {"exit": done.returncode, "out": done.stdout, "err": done.stderr}
