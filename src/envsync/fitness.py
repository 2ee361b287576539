"""Is a node fit for distributed training? One small check each; all pure.

A check looks at one node and, where that matters, at all of them, and says what it finds as
sentences. Which of them matter how much, and why, stands in `envsync.rules`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from envsync.cuda import DRIVER_FLOORS, TOOLKIT_DRIVERS, covers
from envsync.facts import Facts
from envsync.wide import Part, Torch, Wide

_GIB = 2**30
_SHOWN = 4
"""Names of a list that a sentence repeats."""


def broken_torch(own: Facts, _: Sequence[Facts]) -> Iterator[str]:
    """It is there, and cannot be imported."""
    torch = dict(own.runtime).get("torch", "")
    if torch.startswith("broken: "):
        yield f"torch is {torch}"


def silent_torch(own: Facts, _: Sequence[Facts]) -> Iterator[str]:
    """It can be imported, and then hangs or crashes."""
    wide = _wide(own)
    if wide.torch and (why := wide.failed("torch")):
        yield f"torch was asked about its devices and did not finish: {why}"


def old_driver(own: Facts, _: Sequence[Facts]) -> Iterator[str]:
    """The driver is older than the CUDA that torch was built with allows."""
    cuda, driver = _torch(own).cuda or "", _driver(own)
    floor = _floor(cuda)
    if floor and _older(driver, floor):
        yield f"the driver {driver} is older than CUDA {cuda} needs: {floor}"


def compatible_driver(own: Facts, _: Sequence[Facts]) -> Iterator[str]:
    """It is new enough for the major version, and older than what came with this CUDA."""
    cuda, driver = _torch(own).cuda or "", _driver(own)
    floor, came = _floor(cuda), TOOLKIT_DRIVERS.get(cuda, "")
    if floor and _older(driver, came) and not _older(driver, floor):
        yield f"the driver {driver} is older than that of CUDA {cuda}: {came}"


def _driver(own: Facts) -> str:
    return _wide(own).gpus.driver or dict(own.runtime).get("driver", "")


def _floor(cuda: str) -> str:
    return DRIVER_FLOORS.get(_numbers(cuda)[0], "") if _numbers(cuda) else ""


def _older(driver: str, other: str) -> bool:
    """False as well where one of them is not known."""
    return bool(_numbers(driver)) and _numbers(driver) < _numbers(other)


def uncovered_gpu(own: Facts, _: Sequence[Facts]) -> Iterator[str]:
    """There is no code in this torch that the GPU can run."""
    torch, found = _torch(own), _wide(own).gpus
    overridden = "HSA_OVERRIDE_GFX_VERSION" in dict(_wide(own).leaks.variables or ())
    if not torch.archs or (torch.hip and overridden):
        return
    # A GPU that is hidden from jobs needs no code; which ones are not, torch itself says.
    listed = () if found.visible else found.gpus or ()
    gpus = {(each.name, each.capability) for each in listed}
    if torch.cuda:  # of ROCm, torch tells capabilities that are not the names of architectures
        gpus |= set(zip(torch.devices or (), torch.capabilities or (), strict=False))
    for name, capability in sorted(gpus):
        mine = capability.startswith("gfx") == bool(torch.hip)
        if capability and mine and not covers(torch.archs, capability):
            built = " ".join(torch.archs)
            yield f"{name} has compute capability {capability}; torch was built for {built}"


def no_gpu_for_torch(own: Facts, _: Sequence[Facts]) -> Iterator[str]:
    """The machine has GPUs, and a torch that was built for them sees none."""
    torch, gpus = _torch(own), _wide(own).gpus
    if gpus.gpus and not gpus.visible and torch.available is False and (torch.cuda or torch.hip):
        yield f"torch sees no GPU, and the driver lists {len(gpus.gpus)}"


def cpu_build(own: Facts, _: Sequence[Facts]) -> Iterator[str]:
    """The machine has GPUs, and torch was built without them."""
    torch, gpus = _torch(own), _wide(own).gpus.gpus
    if gpus and torch.cuda == "" and not torch.hip:
        yield f"torch {torch.version} was built for CPUs, and the node has {_counted(own)}"


def missing_gpus(own: Facts, _: Sequence[Facts]) -> Iterator[str]:
    """Torch sees some of the GPUs, though nobody told it to."""
    torch, gpus = _torch(own), _wide(own).gpus
    if torch.devices and gpus.gpus and not gpus.visible and not gpus.mig_instances:
        seen, there = len(torch.devices), len(gpus.gpus)
        if seen < there:
            yield f"torch sees {seen} of {there} GPUs"


def mixed_gpus(own: Facts, _: Sequence[Facts]) -> Iterator[str]:
    """GPUs of several kinds in one node, from which nobody has chosen."""
    gpus = _wide(own).gpus
    if not gpus.visible and len({each.name for each in gpus.gpus or ()}) > 1:
        yield f"its GPUs are not of one kind: {_counted(own)}"


def partitioned_gpus(own: Facts, _: Sequence[Facts]) -> Iterator[str]:
    """MIG is on."""
    gpus = _wide(own).gpus
    on = sum(each.mig == "Enabled" for each in gpus.gpus or ())
    if on:
        yield f"MIG is on for {on} of its GPUs, with {gpus.mig_instances} instances"


def failing_smi(own: Facts, _: Sequence[Facts]) -> Iterator[str]:
    """The vendor's own program cannot talk to the driver, or waits for it without an end."""
    if trouble := _wide(own).gpus.trouble:
        yield trouble
    for each in _wide(own).failures:
        if each.fact in {"nvidia_smi", "rocm_smi"}:
            yield f"{each.fact.replace('_', '-')} gave no answer: {each.message}"


def clock_off(own: Facts, every: Sequence[Facts]) -> Iterator[str]:
    """More than five seconds, and not more than a minute."""
    if 5 < abs(seconds := _deviation(own, every)) <= 60:  # noqa: PLR2004 (said above)
        yield f"its clock is {abs(seconds):.0f} s {'ahead' if seconds > 0 else 'behind'}"


def clock_far_off(own: Facts, every: Sequence[Facts]) -> Iterator[str]:
    """More than a minute."""
    if abs(seconds := _deviation(own, every)) > 60:  # noqa: PLR2004 (said above)
        yield f"its clock is {abs(seconds):.0f} s {'ahead' if seconds > 0 else 'behind'}"


def _deviation(own: Facts, every: Sequence[Facts]) -> float:
    """Seconds that a clock is certainly off from those of most nodes; our own counts as one."""
    if (clock := _wide(own).clock) is None:
        return 0.0
    others = [each.wide.clock.middle for each in every if each.wide and each.wide.clock]
    voices = sorted([0.0, *others])
    middle = voices[(len(voices) - 1) // 2 : len(voices) // 2 + 1]
    common = min(middle, key=abs)
    return max(clock.lowest - common, 0.0) + min(clock.highest - common, 0.0)


def shadowed(own: Facts, _: Sequence[Facts]) -> Iterator[str]:
    """Packages from elsewhere are imported instead of the environment's."""
    for each in _wide(own).leaks.paths or ():
        if each.hides:
            yield (
                f"{_some(each.hides)} from {each.path} ({each.came}) is imported instead of the"
                " environment's"
            )


def added_packages(own: Facts, _: Sequence[Facts]) -> Iterator[str]:
    """Packages from elsewhere can be imported besides the environment's."""
    for each in _wide(own).leaks.paths or ():
        if each.adds:
            yield f"{_some(each.adds)} can be imported from {each.path} ({each.came})"


def foreign_libraries(own: Facts, _: Sequence[Facts]) -> Iterator[str]:
    """A variable puts other CUDA, MKL or OpenMP libraries before the environment's."""
    for each in _wide(own).leaks.libraries or ():
        yield f"{each.variable} leads to {_some(each.names)} in {each.path}"


def foreign_loaded(own: Facts, _: Sequence[Facts]) -> Iterator[str]:
    """Such a library is what torch really runs on."""
    folders = {each.path.rstrip("/") for each in _wide(own).leaks.libraries or ()}
    for kind, paths in _wide(own).runtimes.loaded or ():
        for path in paths:
            if path.rpartition("/")[0] in folders:
                yield f"a job loads {path} instead of the environment's {kind}"


def several_openmp(own: Facts, _: Sequence[Facts]) -> Iterator[str]:
    """More than one OpenMP runtime in one process."""
    yield from _several(own, _wide(own).runtimes.loaded, ("openmp",), "are loaded")


def several_blas(own: Facts, _: Sequence[Facts]) -> Iterator[str]:
    """More than one BLAS in one process."""
    yield from _several(own, _wide(own).runtimes.loaded, ("blas",), "are loaded")


def several_copies(own: Facts, _: Sequence[Facts]) -> Iterator[str]:
    """NCCL or cuDNN from conda and from pip."""
    yield from _several(own, _wide(own).runtimes.copies, ("nccl", "cudnn"), "are installed")


def _several(
    own: Facts,
    found: tuple[tuple[str, tuple[str, ...]], ...] | None,
    kinds: Sequence[str],
    verb: str,
) -> Iterator[str]:
    for kind, paths in found or ():
        if kind in kinds and len(paths) > 1:
            short = [path.removeprefix(own.prefix + "/") for path in paths]
            yield f"{len(paths)} of {kind} {verb}: {', '.join(short)}"


def misfit_numpy(own: Facts, _: Sequence[Facts]) -> Iterator[str]:
    """Torch cannot exchange arrays with this numpy."""
    yield from _misfit(own, "numpy", _torch(own).numpy)


def misfit_torchvision(own: Facts, _: Sequence[Facts]) -> Iterator[str]:
    yield from _misfit(own, "torchvision", _torch(own).torchvision)


def misfit_torchaudio(own: Facts, _: Sequence[Facts]) -> Iterator[str]:
    yield from _misfit(own, "torchaudio", _torch(own).torchaudio)


def _misfit(own: Facts, name: str, part: Part | None) -> Iterator[str]:
    if part and part.failed:
        what = f"{name} {part.version}".strip()
        yield f"{what} does not work with torch {_torch(own).version}: {part.failed}"


def loopback_name(own: Facts, every: Sequence[Facts]) -> Iterator[str]:
    """The node's own name leads to itself alone.

    That is fine of one node, and of several that are this machine, as in a demo.
    """
    system = _wide(own).system
    local = list(filter(_is_loopback, system.addresses or ()))
    if local and len(every) > 1 and not _is_loopback(system.reached_at or ""):
        yield f"the node's own name {system.hostname} resolves to {local[0]}"


def _is_loopback(address: str) -> bool:
    return address.startswith("127.") or address == "::1"


def small_shm(own: Facts, _: Sequence[Facts]) -> Iterator[str]:
    size = _wide(own).system.shm_bytes
    if size is not None and size < _GIB:
        yield f"shared memory, /dev/shm, has {size // 2**20} MiB"


def locked_memory(own: Facts, _: Sequence[Facts]) -> Iterator[str]:
    """With InfiniBand, memory is registered, and so locked."""
    system = _wide(own).system
    if system.infiniband and system.memlock is not None and system.memlock >= 0:
        yield f"locked memory is limited to {system.memlock // 1024} KiB, and it has InfiniBand"


def infiniband_down(own: Facts, _: Sequence[Facts]) -> Iterator[str]:
    ports = _wide(own).system.infiniband
    if ports and not any(each.state == "ACTIVE" for each in ports):
        states = ", ".join(f"{each.name} {each.state}" for each in ports[:_SHOWN])
        yield f"no InfiniBand port is active: {states}"


def silent_probe(own: Facts, _: Sequence[Facts]) -> Iterator[str]:
    """A whole probe gave up; torch has rules of its own."""
    for each in _wide(own).failures:
        if not each.fact and each.probe != "torch":
            yield f"the probe {each.probe} did not finish: {each.message}"


def unanswered(own: Facts, _: Sequence[Facts]) -> Iterator[str]:
    """Single facts that could not be had."""
    for each in _wide(own).failures:
        if each.fact:
            yield f"{each.fact} ({each.probe}) is not known: {each.message}"


def _wide(own: Facts) -> Wide:
    return own.wide or Wide()


def _torch(own: Facts) -> Torch:
    return _wide(own).torch or Torch()


def _counted(own: Facts) -> str:
    names = [each.name for each in _wide(own).gpus.gpus or ()]
    return ", ".join(f"{names.count(name)} x {name}" for name in sorted(set(names)))


def _some(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _numbers(version: str) -> tuple[int, ...]:
    """The numbers that a version begins with; none of what is no version."""
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()
