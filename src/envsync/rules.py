"""What must be alike on all nodes, what should be, and what makes a node unfit: one table.

Each rule says why it matters for distributed training, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from envsync import fitness
from envsync.facts import Facts


class Comparison(StrEnum):
    """How nodes are judged by a fact."""

    MUST = "must be equal"
    SHOULD = "should be equal"
    MAY = "may differ"
    OWN = "own check"


class Level(StrEnum):
    """How much it matters."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True)
class Rule:
    """One line of the table."""

    fact: str
    comparison: Comparison
    level: Level
    reason: str
    hint: str
    check: Callable[[Facts, Sequence[Facts]], Iterable[str]] | None = None
    """For an own check: what is wrong with the first node, seen among all."""


MUST, SHOULD, MAY, OWN = Comparison
ERROR, WARNING, INFO = Level

_PUSH = "`envsync push` makes the environments alike"
_IMAGE = "install the same system on all nodes, or train on those that are alike"

# fmt: off
RULES: tuple[Rule, ...] = (
    Rule("python", MUST, ERROR, "Pickled objects travel between the ranks.", _PUSH),
    Rule("torch", MUST, ERROR,
         "Ranks of different torch versions disagree on messages, kernels and checkpoints.",
         _PUSH),
    Rule("torch git", MUST, ERROR, "The same version from another commit has other kernels.",
         _PUSH),
    Rule("debug build", MUST, ERROR, "A debug build is slower, and the others wait for it.", _PUSH),
    Rule("C++ ABI", MUST, ERROR,
         "Extensions that were compiled on one node do not load on another.",
         _PUSH),
    Rule("built for", MUST, ERROR,
         "Ranks with another CUDA have other kernels, and results differ.",
         _PUSH),
    Rule("cuda available", MUST, ERROR,
         "A rank without its GPU fails or waits while the others compute.",
         "see the driver and the variables of the node"),
    Rule("cuDNN", MUST, ERROR, "Another cuDNN picks other algorithms: speed and results differ.",
         _PUSH),
    Rule("NCCL", MUST, ERROR,
         "NCCL does not promise that different versions can talk to each other: jobs hang.",
         _PUSH),
    Rule("GPU architectures", MUST, ERROR,
         "It is another build of torch, with kernels for other GPUs.",
         _PUSH),
    Rule("backends", MUST, ERROR, "init_process_group fails on the ranks that lack the backend.",
         _PUSH),
    Rule("driver", SHOULD, WARNING,
         "Another driver compiles and schedules differently, and mixed ones are rarely tested.",
         "install the same driver on all nodes"),
    Rule("GPUs", MAY, INFO, "What torch sees; `GPU models` judges the hardware.", ""),
    Rule("GPU models", SHOULD, WARNING,
         "All ranks wait for the slowest GPU, and the smallest memory limits the batch.",
         "train on nodes that are alike"),
    Rule("GPU memory", SHOULD, WARNING, "The smallest memory limits the batch of all ranks.",
         "train on nodes that are alike"),
    Rule("compute capability", SHOULD, WARNING,
         "bf16, fp8 and flash attention depend on it: ranks may take different kernels.",
         "train on nodes that are alike"),
    Rule("MIG", SHOULD, WARNING,
         "An instance is a part of a GPU, and NCCL does not connect instances.",
         "nvidia-smi -mig 0 (root), or 1 on all"),
    Rule("ECC", SHOULD, WARNING,
         "Without ECC flipped bits go unnoticed; with it there is less memory.",
         "nvidia-smi -e 1 (root), then reboot"),
    Rule("persistence mode", SHOULD, INFO,
         "Without it the driver is loaded anew for every job, which takes seconds.",
         "enable nvidia-persistenced"),
    Rule("bf16", SHOULD, WARNING, "Mixed precision falls back or fails on the ranks without bf16.",
         "train on nodes that are alike"),
    Rule("OS", SHOULD, WARNING,
         "Other system libraries below the environment make for errors on single ranks.",
         _IMAGE),
    Rule("kernel", SHOULD, INFO, "Network and memory behave a little differently.", _IMAGE),
    Rule("machine", SHOULD, WARNING, "Packages of one architecture do not run on another.", _IMAGE),
    Rule("glibc", SHOULD, WARNING,
         "Wheels and compiled extensions need a glibc at least as new as their own.",
         _IMAGE),
    Rule("C++ library", SHOULD, WARNING,
         "Extensions compiled with a newer compiler do not load with an older library.",
         _IMAGE),
    Rule("CPU", SHOULD, INFO, "Data loading is as fast as the slowest node.",
         "train on nodes that are alike"),
    Rule("CPU level", SHOULD, WARNING,
         "Code for AVX2 or AVX-512 ends with an illegal instruction where they lack.",
         "train on nodes that are alike"),
    Rule("cores", SHOULD, INFO, "Data loading is as fast as the slowest node.",
         "check the limits of the job"),
    Rule("torch threads", SHOULD, INFO, "Ranks with fewer threads are slower on the CPU.",
         "set OMP_NUM_THREADS alike"),
    Rule("memory", SHOULD, INFO, "The smallest node limits caches and workers.",
         "train on nodes that are alike"),
    Rule("shared memory", SHOULD, INFO, "Workers of a DataLoader share batches through /dev/shm.",
         "mount /dev/shm alike"),
    Rule("locked memory", SHOULD, WARNING, "RDMA registers memory, and fails at the limit.",
         "ulimit -l unlimited for the users of the cluster"),
    Rule("open files", SHOULD, INFO, "Workers and sockets need many descriptors.",
         "ulimit -n alike on all nodes"),
    Rule("InfiniBand", SHOULD, WARNING,
         "NCCL falls back to TCP on all ranks when one lacks the fabric.",
         "ibstat on the nodes that differ"),
    Rule("MTU", SHOULD, WARNING,
         "Large packets are lost between interfaces of different MTU: jobs hang in the first"
         " all-reduce.",
         "ip link set dev NAME mtu N, alike on all"),
    Rule("variables", SHOULD, WARNING,
         "NCCL, CUDA, ROCm and OpenMP read them: ranks take other transports, devices or threads.",
         "set them alike, best in `variables:` of the environment file"),
    Rule("LD_PRELOAD", SHOULD, WARNING,
         "What it names is in every process of a job: another allocator, another CUDA.",
         "set it alike on all nodes, or unset it for jobs"),
    Rule("hostname", MAY, INFO, "Every node has its own.", ""),
    Rule("GPU uuid", MAY, INFO, "Every GPU has its own.", ""),
    Rule("torch", OWN, ERROR, "No rank starts on this node.",
         "see what the import says; `envsync push --rebuild` builds the environment anew",
         fitness.broken_torch),
    Rule("torch", OWN, ERROR, "A rank would hang here just so, and the others with it.",
         "run nvidia-smi and dmesg on the node; a GPU may have fallen off the bus",
         fitness.silent_torch),
    Rule("driver floor", OWN, ERROR, "CUDA does not start with an older driver.",
         "install a newer driver, or a torch for an older CUDA", fitness.old_driver),
    Rule("toolkit's driver", OWN, WARNING,
         "Compiled kernels run, but PTX of this CUDA is refused, and newer features are off.",
         "install the driver that came with this CUDA, or a newer one",
         fitness.compatible_driver),
    Rule("GPU architectures", OWN, ERROR,
         'Every kernel ends with "no kernel image is available for execution on the device".',
         "install a torch that was built for this GPU", fitness.uncovered_gpu),
    Rule("cuda available", OWN, ERROR, "Ranks on this node fail or train on the CPU.",
         'python -c "import torch; torch.cuda.init()" on the node says why',
         fitness.no_gpu_for_torch),
    Rule("built for", OWN, WARNING, "The GPUs stay idle.",
         "pin a CUDA build: `pytorch=*=*cuda*`, or the index of the CUDA wheels",
         fitness.cpu_build),
    Rule("GPUs", OWN, WARNING, "torchrun starts a rank a GPU: the counts must agree.",
         "nvidia-smi and dmesg on the node say which one is missing", fitness.missing_gpus),
    Rule("GPU models", OWN, WARNING, "All ranks wait for the slowest GPU.",
         "choose with CUDA_VISIBLE_DEVICES", fitness.mixed_gpus),
    Rule("MIG", OWN, WARNING, "A process sees one instance, and NCCL does not connect instances.",
         "nvidia-smi -mig 0 (root) before training on more than one", fitness.partitioned_gpus),
    Rule("nvidia-smi", OWN, ERROR, "Without a working driver there are no GPUs.",
         "load the driver's module, or reboot after its update", fitness.failing_smi),
    Rule("clock", OWN, WARNING, "Logs do not line up, and timeouts of the rendezvous are off.",
         "chronyc makestep, or systemctl restart systemd-timesyncd", fitness.clock_off),
    Rule("clock", OWN, ERROR,
         "Certificates and tokens seem expired, and files on shared storage come from the future.",
         "chronyc makestep, or systemctl restart systemd-timesyncd", fitness.clock_far_off),
    Rule("shadowing", OWN, ERROR, "The node runs other code than the lock says.",
         "remove it there, or set PYTHONNOUSERSITE=1 and unset PYTHONPATH for jobs",
         fitness.shadowed),
    Rule("added packages", OWN, WARNING,
         "Code may import on this node what other nodes do not have.",
         "set PYTHONNOUSERSITE=1 and unset PYTHONPATH for jobs", fitness.added_packages),
    Rule("library path", OWN, WARNING,
         "Libraries there are found before those that torch was built with.",
         "unset the variable for jobs", fitness.foreign_libraries),
    Rule("loaded library", OWN, ERROR,
         "torch runs on a library that it was not built with: wrong symbols, crashes, hangs.",
         "unset LD_LIBRARY_PATH and LD_PRELOAD for jobs", fitness.foreign_loaded),
    Rule("OpenMP", OWN, WARNING,
         "Two runtimes start twice the threads, and can deadlock after a fork.",
         "take numpy and torch from one source, all conda or all pip", fitness.several_openmp),
    Rule("BLAS", OWN, INFO, "Each starts threads of its own.",
         "set OMP_NUM_THREADS", fitness.several_blas),
    Rule("copies", OWN, WARNING, "Which one is loaded depends on the order of imports.",
         "take torch and its CUDA libraries from one source, all conda or all pip",
         fitness.several_copies),
    Rule("numpy", OWN, ERROR,
         "Arrays cannot become tensors: a torch built for numpy 1 does not know numpy 2.",
         "pin numpy<2, or take a newer torch", fitness.misfit_numpy),
    Rule("torchvision", OWN, ERROR, "Its operators were compiled for another torch.",
         "pin the torchvision that belongs to this torch", fitness.misfit_torchvision),
    Rule("torchaudio", OWN, ERROR, "Its extension was compiled for another torch.",
         "pin the torchaudio that belongs to this torch", fitness.misfit_torchaudio),
    Rule("own name", OWN, WARNING,
         "torchrun and gloo announce this address to the others, which then talk to themselves.",
         "give the name its network address in /etc/hosts, or set GLOO_SOCKET_IFNAME and"
         " --rdzv-endpoint",
         fitness.loopback_name),
    Rule("shared memory", OWN, WARNING,
         "Workers of a DataLoader share batches there, and end with a bus error when it is full.",
         "mount -o remount,size=16G /dev/shm; of a container: --shm-size", fitness.small_shm),
    Rule("locked memory", OWN, WARNING, "RDMA registers memory, and fails at the limit.",
         "ulimit -l unlimited for the users of the cluster", fitness.locked_memory),
    Rule("InfiniBand", OWN, WARNING, "NCCL falls back to TCP.",
         "ibstat on the node", fitness.infiniband_down),
    Rule("probe", OWN, WARNING, "What it would have found is not known.",
         "run `envsync verify` again; see the node's load", fitness.silent_probe),
    Rule("unanswered", OWN, INFO, "This build or this system does not say.",
         "", fitness.unanswered),
)
# fmt: on


def rule_of(fact: str) -> Rule | None:
    """The rule by which nodes are compared in this fact, if there is one."""
    return next((each for each in RULES if each.fact == fact and each.comparison is not OWN), None)
