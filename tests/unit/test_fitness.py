"""Single checks of a node: what they find, and what they must not find."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envsync import fitness
from envsync.cuda import covers
from envsync.facts import Facts
from envsync.rules import RULES
from envsync.wide import (
    Clock,
    Failure,
    ForeignLibraries,
    ForeignPath,
    Gpu,
    Gpus,
    Leaks,
    Part,
    Port,
    Runtimes,
    System,
    Torch,
    Wide,
)

H100 = Gpu("NVIDIA H100", "GPU-1", 81559, "550.54.15", "Disabled", "Enabled", "Enabled", "9.0")
TORCH = Torch(version="2.5.1", cuda="12.4", hip="", archs=("sm_80", "sm_90"), available=True)


def node(**wide: object) -> Facts:
    return Facts("/e/train", (), (), (("torch", "2.5.1"),), wide=Wide(**wide))  # type: ignore[arg-type]


def gpus(*found: Gpu, **more: object) -> Gpus:
    driver = found[0].driver if found else ""
    return replace(Gpus(found, driver=driver), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cuda", "driver", "old"),
    [
        ("11.8", "450.80.02", False),
        ("11.8", "450.51.06", True),
        ("12.4", "525.60.13", False),
        ("12.4", "525.60.12", True),
        ("12.4", "580.65.06", False),
        ("12.4", "470.223.02", True),
        ("13.0", "580.65.06", False),
        ("13.0", "575.57.08", True),
        ("14.0", "450.80.02", False),
        ("", "450.80.02", False),
        ("12.4", "", False),
    ],
)
def test_driver_below_the_floor_of_its_cuda(cuda: str, driver: str, *, old: bool) -> None:
    own = node(torch=replace(TORCH, cuda=cuda), gpus=Gpus((), driver=driver))
    found = list(fitness.old_driver(own, [own]))
    assert bool(found) is old
    assert all(driver in each and cuda in each for each in found)


@pytest.mark.parametrize(
    ("cuda", "driver", "warned"),
    [
        ("12.4", "535.161.08", True),
        ("12.4", "550.54.13", True),
        ("12.4", "550.54.14", False),
        ("12.4", "580.65.06", False),
        ("12.4", "470.223.02", False),  # older than the floor, which is told as an error
        ("12.0", "525.60.13", False),
        ("11.8", "470.82.01", True),
        ("13.7", "580.65.06", False),  # not known what came with it
        ("12.4", "", False),
        ("", "535.161.08", False),
    ],
)
def test_driver_above_the_floor_and_older_than_that_of_its_cuda(
    cuda: str, driver: str, *, warned: bool
) -> None:
    own = node(torch=replace(TORCH, cuda=cuda), gpus=Gpus((), driver=driver))
    assert bool(list(fitness.compatible_driver(own, [own]))) is warned


def test_driver_of_the_kernel_counts_where_nvidia_smi_is_missing() -> None:
    own = replace(node(torch=TORCH), runtime=(("driver", "470.82.01"),))
    assert list(fitness.old_driver(own, [own])) == [
        "the driver 470.82.01 is older than CUDA 12.4 needs: 525.60.13"
    ]


@pytest.mark.parametrize(
    ("archs", "capability", "covered"),
    [
        ("sm_80 sm_90", "9.0", True),
        ("sm_80", "8.6", True),
        ("sm_86", "8.0", False),
        ("sm_80 sm_90", "7.0", False),
        ("sm_90", "10.0", False),
        ("sm_90 compute_90", "10.0", True),
        ("compute_90", "8.9", False),
        ("sm_100 sm_120", "12.0", True),
        ("sm_90a", "9.0", True),
        ("sm_100a", "10.3", False),
        ("compute_100a", "12.0", False),
        ("sm_100f", "10.3", True),
        ("compute_100f", "10.3", True),
        ("compute_100f", "12.0", False),
        ("sm_103f", "10.0", False),
        ("gfx90a:sramecc+:xnack- gfx942", "gfx90a", True),
        ("gfx906 gfx942", "gfx90a", False),
        ("gfx11-generic", "gfx1101", True),
        ("gfx9-4-generic", "gfx942", True),
        ("gfx9-4-generic", "gfx90a", False),
        ("", "9.0", False),
    ],
)
def test_code_that_a_gpu_can_run(archs: str, capability: str, *, covered: bool) -> None:
    assert covers(archs.split(), capability) is covered


def test_gpu_without_code_is_named_with_what_there_is() -> None:
    old = replace(H100, name="Tesla V100", capability="7.0")
    own = node(torch=TORCH, gpus=gpus(old, H100))
    assert list(fitness.uncovered_gpu(own, [own])) == [
        "Tesla V100 has compute capability 7.0; torch was built for sm_80 sm_90"
    ]


def test_capability_as_torch_sees_it_counts_where_nvidia_smi_does_not_tell() -> None:
    torch = replace(TORCH, devices=("Tesla V100",), capabilities=("7.0",))
    own = node(torch=torch, gpus=gpus(replace(H100, capability="")))
    assert len(list(fitness.uncovered_gpu(own, [own]))) == 1


def test_rocm_architectures_are_not_cudas() -> None:
    torch = replace(TORCH, cuda="", hip="6.2", archs=("gfx90a",), devices=("MI250X",))
    own = node(torch=torch, gpus=gpus(replace(H100, capability="gfx90a")))
    assert list(fitness.uncovered_gpu(own, [own])) == []


def test_rocm_gpu_that_torch_was_not_built_for() -> None:
    torch = replace(TORCH, cuda="", hip="6.2", archs=("gfx90a", "gfx942"))
    card = gpus(replace(H100, name="Radeon VII", capability="gfx906"))
    own = node(torch=torch, gpus=card)
    assert list(fitness.uncovered_gpu(own, [own])) == [
        "Radeon VII has compute capability gfx906; torch was built for gfx90a gfx942"
    ]
    told = Leaks(variables=(("HSA_OVERRIDE_GFX_VERSION", "9.0.10"),))
    own = node(torch=torch, gpus=card, leaks=told)
    assert list(fitness.uncovered_gpu(own, [own])) == []


def test_gpu_that_is_hidden_from_jobs_is_no_trouble() -> None:
    display = replace(H100, name="GeForce GT 1030", capability="6.1")
    chosen = (("CUDA_VISIBLE_DEVICES", "0"),)
    torch = replace(TORCH, devices=("NVIDIA H100",), capabilities=("9.0",))
    own = node(torch=torch, gpus=gpus(H100, display, visible=chosen))
    assert [*fitness.uncovered_gpu(own, [own]), *fitness.mixed_gpus(own, [own])] == []
    own = node(torch=torch, gpus=gpus(H100, display))
    assert len([*fitness.uncovered_gpu(own, [own]), *fitness.mixed_gpus(own, [own])]) == 2


def test_torch_that_sees_no_gpu_and_one_that_was_told_not_to() -> None:
    own = node(torch=replace(TORCH, available=False), gpus=gpus(H100, H100))
    assert list(fitness.no_gpu_for_torch(own, [own])) == [
        "torch sees no GPU, and the driver lists 2"
    ]
    hidden = gpus(H100, visible=(("CUDA_VISIBLE_DEVICES", ""),))
    own = node(torch=replace(TORCH, available=False), gpus=hidden)
    assert list(fitness.no_gpu_for_torch(own, [own])) == []


def test_cpu_build_on_a_machine_with_gpus() -> None:
    own = node(torch=replace(TORCH, cuda=""), gpus=gpus(H100, H100))
    assert list(fitness.cpu_build(own, [own])) == [
        "torch 2.5.1 was built for CPUs, and the node has 2 x NVIDIA H100"
    ]
    own = node(torch=replace(TORCH, cuda=""), gpus=gpus())
    assert list(fitness.cpu_build(own, [own])) == []


def test_some_gpus_are_missing_for_torch_but_not_with_mig() -> None:
    torch = replace(TORCH, devices=("NVIDIA H100",))
    own = node(torch=torch, gpus=gpus(H100, H100))
    assert list(fitness.missing_gpus(own, [own])) == ["torch sees 1 of 2 GPUs"]
    own = node(torch=torch, gpus=gpus(H100, H100, mig_instances=2))
    assert list(fitness.missing_gpus(own, [own])) == []


def test_mixed_and_partitioned_gpus_and_a_broken_nvidia_smi() -> None:
    other = replace(H100, name="NVIDIA A100", mig="Enabled")
    own = node(gpus=gpus(H100, other, mig_instances=3, trouble="nvidia-smi ended"))
    assert list(fitness.mixed_gpus(own, [own])) == [
        "its GPUs are not of one kind: 1 x NVIDIA A100, 1 x NVIDIA H100"
    ]
    assert list(fitness.partitioned_gpus(own, [own])) == [
        "MIG is on for 1 of its GPUs, with 3 instances"
    ]
    assert list(fitness.failing_smi(own, [own])) == ["nvidia-smi ended"]
    own = node(failures=(Failure("gpu", "nvidia_smi", "TimeoutExpired: 20 seconds"),))
    assert list(fitness.failing_smi(own, [own])) == [
        "nvidia-smi gave no answer: TimeoutExpired: 20 seconds"
    ]


def clocks(*seconds: float, wide: float = 0.5) -> list[Facts]:
    return [node(clock=Clock(each - wide, each + wide)) for each in seconds]


@pytest.mark.parametrize(
    ("seconds", "warned", "wrong"),
    [
        ((0, 0, 0), [], []),
        ((0, 4, 0), [], []),
        ((0, 7, 0), [1], []),
        ((0, -8, 0), [1], []),
        ((0, 0, 3600), [], [2]),
        ((3600, 3600, 3600), [], []),  # it is our own clock that is wrong
        ((3600,), [], [0]),
        ((0, 100), [], [1]),
    ],
)
def test_clocks_are_judged_by_most_nodes(
    seconds: tuple[float, ...], warned: list[int], wrong: list[int]
) -> None:
    every = clocks(*seconds)
    off = [i for i, own in enumerate(every) if list(fitness.clock_off(own, every))]
    far = [i for i, own in enumerate(every) if list(fitness.clock_far_off(own, every))]
    assert (off, far) == (warned, wrong)


def test_slow_answer_is_no_wrong_clock() -> None:
    every = [*clocks(0, 0), node(clock=Clock(-70.0, 0.5))]
    assert list(fitness.clock_off(every[2], every)) == []
    assert list(fitness.clock_far_off(every[2], every)) == []


def test_clock_says_which_way_it_is_off() -> None:
    every = clocks(0, 0, -90, wide=0)
    assert list(fitness.clock_far_off(every[2], every)) == ["its clock is 90 s behind"]


def test_packages_from_elsewhere_that_hide_and_that_add() -> None:
    path = ForeignPath("/h/site", "user site", ("numpy 1.0", "torch"), ("a", "b", "c", "d", "e"))
    own = node(leaks=Leaks(paths=(path,)))
    assert list(fitness.shadowed(own, [own])) == [
        "numpy 1.0, torch from /h/site (user site) is imported instead of the environment's"
    ]
    assert list(fitness.added_packages(own, [own])) == [
        "a, b, c, d and 1 more can be imported from /h/site (user site)"
    ]
    own = node(leaks=Leaks(paths=(replace(path, hides=()),)))
    assert list(fitness.shadowed(own, [own])) == []


def test_foreign_library_that_leads_and_one_that_is_loaded() -> None:
    leaks = Leaks(
        libraries=(ForeignLibraries("LD_LIBRARY_PATH", "/cuda/lib64", ("libcudart.so.11.0",)),)
    )
    own = node(leaks=leaks, runtimes=Runtimes(loaded=(("cudart", ("/e/train/libcudart.so",)),)))
    assert list(fitness.foreign_libraries(own, [own])) == [
        "LD_LIBRARY_PATH leads to libcudart.so.11.0 in /cuda/lib64"
    ]
    assert list(fitness.foreign_loaded(own, [own])) == []
    loaded = (("cudart", ("/cuda/lib64/libcudart.so.11.0",)),)
    own = node(leaks=leaks, runtimes=Runtimes(loaded=loaded))
    assert list(fitness.foreign_loaded(own, [own])) == [
        "a job loads /cuda/lib64/libcudart.so.11.0 instead of the environment's cudart"
    ]


def test_several_of_one_library() -> None:
    pair = ("/e/train/lib/libgomp.so.1", "/e/train/lib/libiomp5.so")
    own = node(
        runtimes=Runtimes(
            loaded=(("openmp", pair), ("blas", ("/e/train/lib/libmkl_rt.so.2",))),
            copies=(("nccl", ("/e/train/a", "/e/train/b")), ("cudnn", ())),
        )
    )
    assert list(fitness.several_openmp(own, [own])) == [
        "2 of openmp are loaded: lib/libgomp.so.1, lib/libiomp5.so"
    ]
    assert list(fitness.several_blas(own, [own])) == []
    assert list(fitness.several_copies(own, [own])) == ["2 of nccl are installed: a, b"]


def test_libraries_beside_torch_that_do_not_work_with_it() -> None:
    torch = replace(
        TORCH,
        numpy=Part("2.1.0", "RuntimeError: Numpy is not available"),
        torchvision=Part("0.20.0"),
        torchaudio=Part("", "it cannot be imported: OSError: x"),
    )
    own = node(torch=torch)
    assert list(fitness.misfit_numpy(own, [own])) == [
        "numpy 2.1.0 does not work with torch 2.5.1: RuntimeError: Numpy is not available"
    ]
    assert list(fitness.misfit_torchvision(own, [own])) == []
    assert list(fitness.misfit_torchaudio(own, [own])) == [
        "torchaudio does not work with torch 2.5.1: it cannot be imported: OSError: x"
    ]


@pytest.mark.parametrize(
    ("addresses", "traps"),
    [
        (("127.0.1.1",), True),
        (("10.0.0.1", "::1"), True),
        (("10.0.0.1", "fe80::1"), False),
        (None, False),
    ],
)
def test_own_name_that_leads_to_the_node_itself(
    addresses: tuple[str, ...] | None, *, traps: bool
) -> None:
    own = node(system=System(hostname="n1", addresses=addresses))
    assert bool(list(fitness.loopback_name(own, [own, own]))) is traps
    assert list(fitness.loopback_name(own, [own])) == []


def test_limits_of_the_machine() -> None:
    port = Port("mlx5_0/1", "DOWN", "10 Gb/sec", "")
    small = System(shm_bytes=64 * 2**20, memlock=65536, infiniband=(port,))
    own = node(system=small)
    assert list(fitness.small_shm(own, [own])) == ["shared memory, /dev/shm, has 64 MiB"]
    assert list(fitness.locked_memory(own, [own])) == [
        "locked memory is limited to 64 KiB, and it has InfiniBand"
    ]
    assert list(fitness.infiniband_down(own, [own])) == [
        "no InfiniBand port is active: mlx5_0/1 DOWN"
    ]
    active = (port, replace(port, state="ACTIVE"))
    own = node(system=System(shm_bytes=2**34, memlock=-1, infiniband=active))
    for check in (fitness.small_shm, fitness.locked_memory, fitness.infiniband_down):
        assert list(check(own, [own])) == []
    own = node(system=System(memlock=65536, infiniband=()))
    assert list(fitness.locked_memory(own, [own])) == []


def test_broken_and_silent_torch() -> None:
    own = replace(node(), runtime=(("torch", "broken: OSError: libc10.so"),))
    assert list(fitness.broken_torch(own, [own])) == ["torch is broken: OSError: libc10.so"]
    silent = (Failure("torch", "", "no answer within 60 s"),)
    own = node(torch=TORCH, failures=silent)
    assert list(fitness.silent_torch(own, [own])) == [
        "torch was asked about its devices and did not finish: no answer within 60 s"
    ]
    own = node(torch=None, failures=silent)
    assert list(fitness.silent_torch(own, [own])) == []


def test_failures_of_probes_and_of_questions() -> None:
    failures = (
        Failure("torch", "", "t"),
        Failure("gpu", "", "no answer within 45 s"),
        Failure("torch", "mkl", "AttributeError: x"),
    )
    own = node(failures=failures)
    assert list(fitness.silent_probe(own, [own])) == [
        "the probe gpu did not finish: no answer within 45 s"
    ]
    assert list(fitness.unanswered(own, [own])) == ["mkl (torch) is not known: AttributeError: x"]


def test_node_of_which_nothing_is_known_is_not_blamed() -> None:
    own = node()
    checks = [rule.check for rule in RULES if rule.check]
    assert [message for check in checks for message in check(own, [own, own])] == []
    assert len(checks) > 20


@pytest.mark.parametrize(("reached_at", "traps"), [("127.0.0.1", False), ("10.0.0.7", True)])
def test_nodes_that_are_all_this_machine_may_talk_to_themselves(
    reached_at: str, *, traps: bool
) -> None:
    system = System(hostname="n1", addresses=("127.0.1.1",), reached_at=reached_at)
    own = node(system=system)
    assert bool(list(fitness.loopback_name(own, [own, own]))) is traps
