"""Computes the same on every node, and says which bits came out and what they may depend on.

The inputs are integers of torch's generator, divided by a power of two: they are exact, and so
alike everywhere. Nothing of torch's settings is changed: a job would find them like this.
"""

import hashlib
import os
import re

SEED = 20240607
FLAGS = re.compile(
    r"^(sse4_[12]|avx|avx2|fma|f16c|avx512\w+|avx_vnni|amx_\w+|asimd\w*|sve\w*|bf16)$"
)
VARIABLES = re.compile(
    "(OMP|KMP|GOMP|MKL|ONEDNN|DNNL|OPENBLAS|ATEN|CUBLAS|CUBLASLT|CUDNN|CUDA|NVIDIA_TF32|TORCH|PYTORCH)_"
)
SECRET = re.compile("TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|_KEY|APIKEY", re.IGNORECASE)


def numeric_facts():
    """What the bits may depend on, then a hash for each operation."""
    try:
        import torch
    except ImportError as error:
        if getattr(error, "name", None) != "torch":
            raise
        yield "missing", lambda: True
        return
    yield "version", lambda: str(torch.__version__)
    for name, question in settings(torch):
        yield "set:" + name, question
    yield "variables", variables
    for device in devices(torch):
        for name, operation in operations(torch, device):
            yield "op:%s %s" % (name, device), lambda o=operation: repeated(torch, o)


def devices(torch):
    found = ["cpu"]
    if torch.cuda.is_available():
        found += ["cuda:%d" % index for index in range(torch.cuda.device_count())]
    return found


def settings(torch):
    """What a person or a library may have set, and what torch found in the machine."""
    backends = torch.backends
    yield "threads", lambda: torch.get_num_threads()
    yield "CPU", lambda: cpu("model name")
    yield "CPU flags", lambda: " ".join(filter(FLAGS.match, cpu("flags|Features").split()))
    yield "CPU kernels", lambda: backends.cpu.get_cpu_capability()
    yield "deterministic algorithms", lambda: torch.are_deterministic_algorithms_enabled()
    yield "float32 matmul precision", lambda: torch.get_float32_matmul_precision()
    yield "default dtype", lambda: str(torch.get_default_dtype())
    yield "MKL", lambda: backends.mkl.is_available()
    yield "oneDNN", lambda: backends.mkldnn.is_available() and backends.mkldnn.enabled
    yield "oneDNN deterministic", lambda: backends.mkldnn.deterministic
    yield "oneDNN TF32", lambda: backends.mkldnn.allow_tf32
    yield "cuDNN", lambda: backends.cudnn.version()
    yield "cuDNN enabled", lambda: backends.cudnn.enabled
    yield "cuDNN benchmark", lambda: backends.cudnn.benchmark
    yield "cuDNN deterministic", lambda: backends.cudnn.deterministic
    yield "cuDNN TF32", lambda: backends.cudnn.allow_tf32
    yield "CUDA TF32", lambda: backends.cuda.matmul.allow_tf32
    yield (
        "CUDA bf16 reductions",
        lambda: backends.cuda.matmul.allow_bf16_reduced_precision_reduction,
    )
    if torch.cuda.is_available():
        count = torch.cuda.device_count()
        yield "GPUs", lambda: ", ".join(torch.cuda.get_device_name(i) for i in range(count))


def cpu(names):
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as stream:
        found = re.search(r"^(?:%s)\s*:\s*(.*)$" % names, stream.read(), re.MULTILINE)
    return found.group(1) if found else ""


def variables():
    return {
        name: "***" if SECRET.search(name) else value
        for name, value in sorted(os.environ.items())
        if VARIABLES.match(name)
    }


def operations(torch, device):
    """Small enough for a second in all, large enough to be spread over threads and split."""
    functional = torch.nn.functional
    generator = torch.Generator().manual_seed(SEED)

    def made(*shape):
        # 24 bits: sums of these must be rounded, so that their order shows.
        whole = torch.randint(-(1 << 23), 1 << 23, shape, generator=generator)
        return (whole.to(torch.float32) / (1 << 23)).to(device)

    a, b = made(384, 1024), made(1024, 384)
    image, kernel = made(8, 16, 48, 48), made(32, 16, 3, 3)
    many, query = made(1 << 21), made(2, 4, 256, 64)
    places = (torch.arange(1 << 18) * 7919 % 1000).to(device)

    def gradients(function, *tensors):
        leaves = [each.clone().requires_grad_() for each in tensors]
        function(*leaves).float().pow(2).sum().backward()
        return torch.cat([each.grad.flatten() for each in leaves])

    for kind, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
        x, y, i, k, m, q = (each.to(dtype) for each in (a, b, image, kernel, many, query))
        yield "matmul " + kind, lambda x=x, y=y: torch.matmul(x, y)
        yield (
            "matmul backward " + kind,
            lambda x=x, y=y: gradients(torch.matmul, x, y),
        )
        yield "conv2d " + kind, lambda i=i, k=k: functional.conv2d(i, k)
        yield (
            "conv2d backward " + kind,
            lambda i=i, k=k: gradients(functional.conv2d, i, k),
        )
        yield "softmax " + kind, lambda x=x: torch.softmax(x * 8, -1)
        yield (
            "attention " + kind,
            lambda q=q: functional.scaled_dot_product_attention(q, q, q),
        )
        yield "layer norm " + kind, lambda x=x: functional.layer_norm(x, (1024,))
        yield "gelu " + kind, lambda x=x: functional.gelu(x)
        yield "exp " + kind, lambda x=x: torch.exp(x)
        yield "sum " + kind, lambda m=m: m.sum()
        yield "norm " + kind, lambda m=m: m.norm()
        yield "mean " + kind, lambda i=i: i.mean((0, 2, 3))
        yield "cumsum " + kind, lambda m=m: m.cumsum(0)
        yield (
            "index_add " + kind,
            lambda m=m: torch.zeros(1000, dtype=m.dtype, device=m.device).index_add_(
                0, places, m[: 1 << 18]
            ),
        )


def repeated(torch, operation):
    """What gives other bits each time, such as sums by atomic additions, tells nothing of nodes."""
    first, second = digest(torch, operation()), digest(torch, operation())
    return first if first == second else "not repeatable"


def digest(torch, result):
    """Of the bits themselves: two tensors that are equal within some tolerance are not equal."""
    plain = result.detach().reshape(-1).cpu().contiguous()
    # By way of integers: numpy knows no bf16, and need not be there.
    size = plain.element_size()
    whole = plain.view({2: torch.int16, 4: torch.int32, 8: torch.int64}[size])
    return hashlib.sha256(as_bytes(whole)).hexdigest()[:16]


def as_bytes(whole):
    try:
        return whole.numpy().tobytes()
    except RuntimeError:  # numpy is not there, or of another ABI
        return bytes(whole.untyped_storage())
