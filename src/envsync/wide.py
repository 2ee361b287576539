"""The wider facts of a node, which only verify asks for: plain frozen data.

None always means that it is not known; an empty text or tuple, that there is none.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """A library that works together with torch."""

    version: str
    failed: str = ""
    """Why it does not work with this torch; empty when it does."""


@dataclass(frozen=True)
class Torch:
    """An installed torch, as it describes itself."""

    version: str | None = None
    git: str | None = None
    debug: bool | None = None
    cxx11_abi: bool | None = None
    cuda: str | None = None
    """The CUDA that it was built with; empty in builds for ROCm and for CPUs."""
    hip: str | None = None
    cudnn: str | None = None
    nccl: str | None = None
    archs: tuple[str, ...] | None = None
    """`sm_90` is machine code for capability 9.0, `compute_90` PTX for 9.0 and newer."""
    backends: tuple[str, ...] | None = None
    """Those of torch.distributed: gloo, nccl, mpi."""
    mkl: bool | None = None
    mkldnn: bool | None = None
    openmp: bool | None = None
    threads: int | None = None
    interop_threads: int | None = None
    available: bool | None = None
    """Whether CUDA (or ROCm) works."""
    devices: tuple[str, ...] | None = None
    capabilities: tuple[str, ...] | None = None
    bf16: bool | None = None
    numpy: Part | None = None
    torchvision: Part | None = None
    torchaudio: Part | None = None


@dataclass(frozen=True)
class Gpu:
    """One GPU as its vendor's program lists it."""

    name: str
    uuid: str = ""
    memory_mib: int | None = None
    driver: str = ""
    mig: str = ""
    """`Enabled`, `Disabled`, or empty where the GPU has no such thing; so the next two."""
    ecc: str = ""
    persistence: str = ""
    capability: str = ""


@dataclass(frozen=True)
class Gpus:
    """All GPUs of a node."""

    gpus: tuple[Gpu, ...] | None = None
    mig_instances: int = 0
    driver: str = ""
    trouble: str = ""
    """What nvidia-smi or rocm-smi complained of, if one is installed and failed."""
    visible: tuple[tuple[str, str], ...] = ()
    """CUDA_VISIBLE_DEVICES and its like, where they are set."""


@dataclass(frozen=True)
class Port:
    """One port of an InfiniBand device."""

    name: str
    """Device and number: mlx5_0/1."""
    state: str
    rate: str
    firmware: str


@dataclass(frozen=True)
class System:
    """The machine below the environment."""

    os: str | None = None
    kernel: str | None = None
    machine: str | None = None
    glibc: str | None = None
    libstdcxx: str | None = None
    """The newest symbol version of the C++ library that Python would load: GLIBCXX_3.4.30."""
    cpu: str | None = None
    cpu_level: int | None = None
    """x86-64-v1 to v4; 0 on other machines."""
    cores: int | None = None
    usable_cores: int | None = None
    memory_kib: int | None = None
    shm_bytes: int | None = None
    memlock: int | None = None
    """Bytes; -1 is no limit."""
    nofile: int | None = None
    infiniband: tuple[Port, ...] | None = None
    interfaces: tuple[tuple[str, int], ...] | None = None
    """Name and MTU of those that are up."""
    hostname: str | None = None
    addresses: tuple[str, ...] | None = None
    """What the node's own name resolves to, on the node."""
    reached_at: str | None = None
    """The node's address at the other end of our connection; empty without SSH."""


@dataclass(frozen=True)
class ForeignPath:
    """A folder outside the environment that Python imports from."""

    path: str
    came: str
    """`user site` or `PYTHONPATH`."""
    hides: tuple[str, ...]
    """Modules, with version where known, that are imported instead of the environment's."""
    adds: tuple[str, ...]


@dataclass(frozen=True)
class ForeignLibraries:
    """Libraries outside the environment that a variable puts before the environment's."""

    variable: str
    path: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Leaks:
    """What reaches into the environment from outside."""

    paths: tuple[ForeignPath, ...] | None = None
    libraries: tuple[ForeignLibraries, ...] | None = None
    variables: tuple[tuple[str, str], ...] | None = None
    """Those of NCCL, CUDA, OpenMP, torch and MKL; secrets are hidden."""


@dataclass(frozen=True)
class Runtimes:
    """Files of libraries by kind: `openmp`, `blas`, `cudart`, `nccl`, `cudnn`."""

    loaded: tuple[tuple[str, tuple[str, ...]], ...] | None = None
    """After numpy and torch were imported."""
    copies: tuple[tuple[str, tuple[str, ...]], ...] | None = None
    """In the environment, loaded or not."""


@dataclass(frozen=True)
class Clock:
    """How far a node's clock is ahead of ours, in seconds: somewhere between these two."""

    lowest: float
    highest: float

    @property
    def middle(self) -> float:
        return (self.lowest + self.highest) / 2


@dataclass(frozen=True)
class Failure:
    """A question that got no answer."""

    probe: str
    """`torch`, `gpu`, `system`, `leaks` or `runtimes`."""
    fact: str
    """Empty: all that the probe had not answered yet."""
    message: str


@dataclass(frozen=True)
class Wide:
    """All wider facts of one node."""

    torch: Torch | None = None
    """None: not installed, or the probe failed."""
    gpus: Gpus = Gpus()
    system: System = System()
    leaks: Leaks = Leaks()
    runtimes: Runtimes = Runtimes()
    clock: Clock | None = None
    failures: tuple[Failure, ...] = ()

    def failed(self, probe: str) -> str:
        """Why a probe did not get to its end; empty when it did."""
        found = (each.message for each in self.failures if each.probe == probe and not each.fact)
        return next(found, "")
