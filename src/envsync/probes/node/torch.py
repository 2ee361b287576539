"""What torch says of itself, from what it was built with to the GPUs that it sees."""


def torch_facts(wide):
    """A few facts for a push, all of them when `wide`. What can hang comes last."""
    try:
        import torch
    except ImportError as error:
        if getattr(error, "name", None) != "torch":
            raise
        yield "missing", lambda: True
        return
    yield "version", lambda: str(torch.__version__)
    yield "file", lambda: torch.__file__
    yield "cuda", lambda: torch.version.cuda
    yield "hip", lambda: getattr(torch.version, "hip", None)
    yield "cudnn", lambda: torch.backends.cudnn.version()
    if wide:
        for item in built_facts(torch):
            yield item
    available = []
    yield "available", lambda: available.append(torch.cuda.is_available()) or available[0]
    if available == [True]:
        if not wide:
            yield "nccl", lambda: nccl(torch)
        for item in device_facts(torch, wide):
            yield item
    if wide:
        yield "torchvision", lambda: torchvision(torch)
        yield "torchaudio", torchaudio


def built_facts(torch):
    """What was settled when torch was built; asks no driver."""
    yield "git", lambda: torch.version.git_version
    yield "debug", lambda: bool(torch.version.debug)
    yield "cxx11_abi", lambda: bool(torch._C._GLIBCXX_USE_CXX11_ABI)
    if getattr(torch.version, "cuda", None) or getattr(torch.version, "hip", None):
        yield "nccl", lambda: nccl(torch)
        # get_arch_list() says nothing where the driver does not work; this is what it reads.
        yield "archs", lambda: (torch._C._cuda_getArchFlags() or "").split()
    yield "backends", lambda: backends(torch.distributed)
    yield "mkl", lambda: torch.backends.mkl.is_available()
    yield "mkldnn", lambda: torch.backends.mkldnn.is_available()
    yield "openmp", lambda: torch.backends.openmp.is_available()
    yield "threads", lambda: torch.get_num_threads()
    yield "interop_threads", lambda: torch.get_num_interop_threads()
    yield "numpy", lambda: numpy_bridge(torch)


def device_facts(torch, wide):
    """Only where CUDA is available; it is initialised here."""
    devices = range(torch.cuda.device_count())
    yield "devices", lambda: [torch.cuda.get_device_name(i) for i in devices]
    if wide:
        yield (
            "capabilities",
            lambda: ["%d.%d" % torch.cuda.get_device_capability(i) for i in devices],
        )
        yield "bf16", lambda: torch.cuda.is_bf16_supported()


def nccl(torch):
    """A tuple, and a number such as 2708 before torch 1.13."""
    version = torch.cuda.nccl.version()
    if isinstance(version, int):
        return "%d.%d.%d" % (version // 1000, version % 1000 // 100, version % 100)
    return ".".join(map(str, version))


def backends(distributed):
    """The backends of torch.distributed that this build has; older torch has no is_..."""
    if not distributed.is_available():
        return []
    found = []
    for name in ("gloo", "nccl", "mpi"):
        has = getattr(distributed, "is_%s_available" % name, None)
        if has is None:
            import torch._C._distributed_c10d as core

            known = hasattr(
                core,
                {"gloo": "ProcessGroupGloo", "mpi": "ProcessGroupMPI"}.get(
                    name, "ProcessGroupNCCL"
                ),
            )
        else:
            known = has()
        if known:
            found.append(name)
    return found


def numpy_bridge(torch):
    """The version of numpy, and whether torch can take its arrays: no, if built for another ABI."""
    try:
        import numpy as np
    except ImportError as error:
        if getattr(error, "name", None) != "numpy":
            raise
        return None
    try:
        torch.from_numpy(np.zeros(1)).numpy()
    except Exception as error:
        return {"version": np.__version__, "failed": "%s: %s" % (type(error).__name__, error)}
    return {"version": np.__version__, "failed": ""}


def torchvision(torch):
    """Its version, and whether its C++ operators run: nms is one of them."""
    try:
        import torchvision
    except ImportError as error:
        if getattr(error, "name", None) != "torchvision":
            raise
        return None
    failed = ""
    try:
        torchvision.ops.nms(torch.zeros(1, 4), torch.zeros(1), 0.5)
    except Exception as error:
        failed = "%s: %s" % (type(error).__name__, (str(error).splitlines() or [""])[0])
    return {"version": torchvision.__version__, "failed": failed}


def torchaudio():
    """Its import checks that it fits torch; up to 2.8 it also says if its extension loaded."""
    try:
        import torchaudio
    except ImportError as error:
        if getattr(error, "name", None) != "torchaudio":
            raise
        return None
    extension = getattr(torchaudio, "_extension", None)
    loaded = getattr(extension, "_IS_TORCHAUDIO_EXT_AVAILABLE", None)
    failed = "its C++ extension is not loaded" if loaded is False else ""
    return {"version": torchaudio.__version__, "failed": failed}
