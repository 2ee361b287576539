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
        yield (
            "torchvision",
            lambda: part("torchvision", lambda module: torchvision_works(torch, module)),
        )
        yield "torchaudio", lambda: part("torchaudio", torchaudio_works)


def built_facts(torch):
    """What was settled when torch was built; asks no driver."""
    yield "git", lambda: torch.version.git_version
    yield "debug", lambda: bool(torch.version.debug)
    yield "cxx11_abi", lambda: bool(torch._C._GLIBCXX_USE_CXX11_ABI)
    version = getattr(torch, "version", None)
    if getattr(version, "cuda", None) or getattr(version, "hip", None):
        yield "nccl", lambda: nccl(torch)
        # get_arch_list() says nothing where the driver does not work; this is what it reads.
        yield "archs", lambda: (torch._C._cuda_getArchFlags() or "").split()
    yield "backends", lambda: backends(torch.distributed)
    yield "mkl", lambda: torch.backends.mkl.is_available()
    yield "mkldnn", lambda: torch.backends.mkldnn.is_available()
    yield "openmp", lambda: torch.backends.openmp.is_available()
    yield "threads", lambda: torch.get_num_threads()
    yield "interop_threads", lambda: torch.get_num_interop_threads()
    yield "numpy", lambda: part("numpy", lambda module: numpy_works(torch, module))


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


def part(name, works):
    """Version of a library beside torch, and why it does not work with it; None without it."""
    try:
        module = __import__(name)
    except ImportError as error:
        if getattr(error, "name", None) == name:
            return None
        return {"version": "", "failed": "it cannot be imported: " + first_line(error)}
    except Exception as error:
        return {"version": "", "failed": "it cannot be imported: " + first_line(error)}
    return {"version": str(module.__version__), "failed": works(module)}


def first_line(error):
    return "%s: %s" % (type(error).__name__, (str(error).splitlines() or [""])[0])


def numpy_works(torch, numpy):
    """A torch that was built for another ABI of numpy says "Numpy is not available"."""
    try:
        torch.from_numpy(numpy.zeros(1)).numpy()
    except RuntimeError as error:
        return first_line(error)
    return ""


def torchvision_works(torch, torchvision):
    """Whether its C++ operators run: nms is one of them."""
    try:
        torchvision.ops.nms(torch.zeros(1, 4), torch.zeros(1), 0.5)
    except Exception as error:
        return first_line(error)
    return ""


def torchaudio_works(torchaudio):
    """Its import checks that it fits torch; up to 2.8 it also says if its extension loaded."""
    extension = getattr(torchaudio, "_extension", None)
    loaded = getattr(extension, "_IS_TORCHAUDIO_EXT_AVAILABLE", None)
    return "its C++ extension is not loaded" if loaded is False else ""
