"""The GPUs of the machine as the vendors' own programs list them. Neither program is needed."""

import os
import shutil
import subprocess

# `nvidia-smi --help-query-gpu` explains each. compute_cap came with driver 510.
FIELDS = (
    "index,name,uuid,memory.total,driver_version,mig.mode.current,ecc.mode.current,"
    "persistence_mode,compute_cap"
)
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
    done = ask(smi, "--query-gpu=" + FIELDS, FORMAT)
    done["fields"] = FIELDS
    if done["exit"] and "compute_cap" in done["out"] + done["err"]:
        fields = FIELDS.rpartition(",")[0]
        done = ask(smi, "--query-gpu=" + fields, FORMAT)
        done["fields"] = fields
    return done


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
