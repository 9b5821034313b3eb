"""CPU tensors that pass for CUDA ones, and a Triton driver without a GPU.

A candidate's wrapper tests ``x.is_cuda``, enters ``torch.cuda.device(...)``, asks for the number of
multiprocessors, and launches. ``install`` makes all of that answer as one architecture of the table in
``archs`` would; a launch is specialised and compiled by Triton's own JIT, and recorded instead of run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import CUDABackend, get_ptxas_version
from triton.backends.nvidia.driver import CudaDriver, ty_to_cpp
from triton.runtime import driver as triton_driver
from triton.runtime.cache import triton_key

from bundler.worker import triton_cache
from bundler.worker.archs import ARCHITECTURES, Architecture

MAX_GRID = (2**31 - 1, 65535, 65535)
"""CUDA C++ Programming Guide, Technical Specifications: the largest grid in x, y, z."""


class GridTooLarge(RuntimeError):
    """A launch that no device could take; the driver answers it with CUDA_ERROR_INVALID_VALUE."""


@dataclass(frozen=True)
class Launch:
    """One launch that a wrapper asked for: the compiled kernel's PTX and metadata, and the grid."""

    ptx: bytes
    metadata: Any
    grid: tuple[int, int, int]


@dataclass
class Standin:
    """The device that is not there: its architecture, and the launches that it was asked for."""

    arch: Architecture
    launches: list[Launch] = field(default_factory=list)

    def take_launches(self) -> list[Launch]:
        taken, self.launches = self.launches, []
        return taken


class _Driver:
    """Triton's driver interface, as far as ``JITFunction.run`` and the autotuner use it."""

    def __init__(self, standin: Standin) -> None:
        self._standin = standin
        self.utils = SimpleNamespace(
            get_device_properties=self._properties,
            load_binary=lambda name, ptx, shared, device: (1, ptx, 0, 0, 1024),
            set_printf_fifo_size=lambda size: None,
        )

    def launcher_cls(self, source: Any, metadata: Any) -> Callable[..., None]:
        def launch(x: int, y: int, z: int, stream: int, ptx: bytes, *rest: Any) -> None:
            if any(size > most for size, most in zip((x, y, z), MAX_GRID, strict=True)):
                raise GridTooLarge(f"a grid of {(x, y, z)} is over {MAX_GRID}")
            if min(x, y, z) > 0:
                self._standin.launches.append(Launch(ptx, metadata, (x, y, z)))

        return launch

    def _properties(self, device: int) -> dict[str, int]:
        arch = self._standin.arch
        return {
            "max_shared_mem": arch.shared_bytes_per_block,
            "max_num_regs": 65536,
            "multiprocessor_count": arch.multiprocessors,
            "warpSize": 32,
            "sm_clock_rate": 1_500_000,
            "mem_clock_rate": 7_000_000,
            "mem_bus_width": 256,
        }

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", self._standin.arch.sm, 32)

    def get_current_device(self) -> int:
        """The JIT caches by device: an index of its own for each architecture keeps their kernels apart."""
        return self._standin.arch.sm

    def get_current_stream(self, device: int | None = None) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        pass

    def get_device_capability(self, device: object = None) -> tuple[int, int]:
        return self._standin.arch.capability

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cuda", 0)

    def get_device_interface(self) -> Any:
        return torch.cuda

    def get_empty_cache_for_benchmark(self) -> torch.Tensor:
        return torch.empty(1)

    def clear_cache(self, cache: torch.Tensor) -> None:
        pass

    def get_benchmarker(self) -> Callable[..., list[float]]:
        """Call every configuration once, so that each is compiled; the first one wins."""
        rank = iter(range(1, 1 << 30))

        def benchmark(
            call: Callable[[], object], quantiles: tuple[float, ...] = (0.5,), **_: Any
        ) -> list[float]:
            call()
            return [float(next(rank))] * len(quantiles)

        return benchmark

    def map_python_to_cpp_type(self, ty: str) -> str:
        return str(ty_to_cpp(ty))

    def assemble_tensormap_to_arg(self, tensormaps: object, args: Any) -> Any:
        return args


@contextlib.contextmanager
def _enter_device(*_: object) -> Iterator[None]:
    yield


def install(standin: Standin) -> None:
    """Make this process's torch and Triton see ``standin`` as device 0. There is no way back."""
    stub = _Driver(standin)
    triton_driver.set_active(stub)
    triton_driver._default = stub
    CUDABackend.make_cubin = _stop_at_ptx
    device = torch.device("cuda", 0)
    torch.Tensor.is_cuda = property(lambda tensor: True)
    torch.Tensor.device = property(lambda tensor: device)
    torch.Tensor.get_device = lambda tensor: 0
    for name, answer in _cuda_answers(standin).items():
        setattr(torch.cuda, name, answer)
    torch.version.cuda = torch.version.cuda or "13.0"


def _stop_at_ptx(self: Any, ptx: str, metadata: Any, options: Any, capability: int) -> bytes:
    """In place of ptxas, which runs later, in a process that never held the candidate."""
    return ptx.encode()


def _cuda_answers(standin: Standin) -> dict[str, Any]:
    nothing = lambda *args, **kwargs: None  # noqa: E731
    stream = SimpleNamespace(cuda_stream=0, synchronize=nothing, wait_stream=nothing)
    return {
        "device": _enter_device,
        "device_of": _enter_device,
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": nothing,
        "synchronize": nothing,
        "empty_cache": nothing,
        "init": nothing,
        "current_stream": lambda device=None: stream,
        "get_device_capability": lambda device=None: standin.arch.capability,
        "get_device_name": lambda device=None: standin.arch.board,
        "get_device_properties": lambda device=None: _properties(standin.arch),
        "mem_get_info": lambda device=None: (standin.arch.memory_bytes, standin.arch.memory_bytes),
        "is_bf16_supported": lambda including_emulation=True: standin.arch.sm >= 80 or including_emulation,
    }


def _properties(arch: Architecture) -> SimpleNamespace:
    major, minor = arch.capability
    return SimpleNamespace(
        name=arch.board,
        major=major,
        minor=minor,
        multi_processor_count=arch.multiprocessors,
        total_memory=arch.memory_bytes,
        L2_cache_size=arch.l2_bytes,
        max_threads_per_multi_processor=arch.threads_per_multiprocessor,
        shared_memory_per_block=48 << 10,
        shared_memory_per_block_optin=arch.shared_bytes_per_block,
        shared_memory_per_multiprocessor=arch.shared_bytes_per_multiprocessor,
        regs_per_multiprocessor=65536,
        warp_size=32,
        is_integrated=False,
        is_multi_gpu_board=False,
    )


def prepare_compiler() -> None:
    """Do once, before any fork, what every compilation would repeat: hash Triton, ask for ptxas' versions."""
    triton_cache.install()
    triton_key()
    for sm in ARCHITECTURES:
        get_ptxas_version(sm)


def prepare_driver() -> None:
    """Build Triton's native part once for all workers. It links libcuda and makes no context."""
    triton_cache.install()
    triton_driver.set_active(CudaDriver())


def versions() -> dict[str, str]:
    return {"torch": str(torch.__version__), "triton": str(triton.__version__)}
