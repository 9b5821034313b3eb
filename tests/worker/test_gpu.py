"""What the timer launches, by a stand-in for libcuda, and what its kernels take of an SM, by ptxas."""

from __future__ import annotations

import ctypes
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bundler.worker import libcuda
from bundler.worker.gpu import CudaGpu, GpuError
from bundler.worker.timing_ptx import PTX

REGISTERS_OF_AN_SM = 65536
"""On every architecture from 7.5 to 12.0."""


def _text(name: Any) -> str:
    return bytes(name).rstrip(b"\0").decode()


class FakeDriver:
    """A device of so many SMs, each with places for so many threads; handles are names of functions."""

    def __init__(self, sms: int, threads: int) -> None:
        self.attributes = {16: sms, 39: threads}
        self.names: list[str] = []
        self.launches: list[tuple[str, tuple[int, ...], tuple[int, ...], list[int]]] = []
        self.allocated: list[int] = []
        self.memsets: list[tuple[int, int, int]] = []
        self.refusing = ""
        self.functions: dict[str, Any] = {
            name: self._named(name, getattr(self, name, None)) for name in libcuda._SIGNATURES
        }

    def _named(self, name: str, does: Any) -> Any:
        def call(*arguments: Any) -> int:
            assert len(arguments) == len(libcuda._SIGNATURES[name])
            if name == self.refusing:
                return 1
            return int(does(*arguments) if does else 0)

        return call

    def cuModuleGetFunction(self, handle: Any, module: Any, name: bytes) -> int:  # noqa: N802
        self.names.append(_text(name))
        handle._obj.value = len(self.names)
        return 0

    def cuCtxGetDevice(self, device: Any) -> int:  # noqa: N802
        device._obj.value = 5
        return 0

    def cuDeviceGetAttribute(self, value: Any, attribute: int, device: Any) -> int:  # noqa: N802
        assert device.value == 5
        value._obj.value = self.attributes[attribute]
        return 0

    def cuMemAlloc_v2(self, address: Any, size: int) -> int:  # noqa: N802
        self.allocated.append(size)
        address._obj.value = 1000 * len(self.allocated)
        return 0

    def cuMemsetD32Async(self, address: Any, value: int, words: int, stream: int) -> int:  # noqa: N802
        self.memsets.append((address.value, value, words))
        return 0

    def cuLaunchKernel(self, function: Any, *arguments: Any) -> int:  # noqa: N802
        *shape, shared, stream, pointers, extra = arguments
        assert (shared, stream, extra) == (0, 0, None)
        values = [ctypes.c_uint64.from_address(pointer).value for pointer in pointers]
        name = self.names[function.value - 1]
        self.launches.append((name, tuple(shape[:3]), tuple(shape[3:]), values))
        return 0


def _opened(monkeypatch: pytest.MonkeyPatch, driver: FakeDriver, flush_bytes: int = 0) -> CudaGpu:
    monkeypatch.setattr(libcuda, "functions", lambda: driver.functions)
    gpu = CudaGpu(flush_bytes)
    driver.launches.clear()
    return gpu


@pytest.mark.parametrize(
    ("sms", "threads", "blocks"),
    [(132, 2048, 528), (84, 1536, 252), (40, 1024, 80), (3, 768, 9)],
    ids=["H200", "8.6", "7.5", "none that there is"],
)
def test_the_blocking_kernel_fills_the_device(
    monkeypatch: pytest.MonkeyPatch, sms: int, threads: int, blocks: int
) -> None:
    driver = FakeDriver(sms, threads)
    _opened(monkeypatch, driver).block(70_000)
    ((name, grid, block, values),) = driver.launches
    assert (name, values) == ("bundler_block", [70_000])
    assert grid == (blocks, 1, 1)
    assert grid[0] * block[0] == sms * threads
    assert block[1:] == (1, 1)
    # Four at most on an SM, where each architecture lets at least sixteen be.
    assert threads // block[0] <= 4


def test_the_flush_fills_the_device_too(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = FakeDriver(132, 2048)
    gpu = _opened(monkeypatch, driver, 125829127)
    gpu.flush()
    gpu.flush()
    first, second = driver.launches
    assert first == second, "the kernel counts on from launch to launch"
    name, grid, block, (at, size, gate) = first
    assert (name, grid, block) == ("bundler_flush", (528, 1, 1), (512, 1, 1))
    # It writes sixteen bytes at a time.
    assert size == 125829120 <= driver.allocated[at // 1000 - 1]
    assert driver.allocated[gate // 1000 - 1] == 8
    assert driver.memsets == [(gate, 0, 2)]


def test_a_warm_cache_is_not_flushed(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = FakeDriver(132, 2048)
    _opened(monkeypatch, driver).flush()
    assert driver.launches == []


def test_the_probe_is_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = FakeDriver(132, 2048)
    _opened(monkeypatch, driver).probe()
    ((name, grid, block, _),) = driver.launches
    assert (name, grid, block) == ("bundler_probe", (1, 1, 1), (1, 1, 1))


@pytest.mark.parametrize("name", ["cuCtxGetDevice", "cuDeviceGetAttribute", "cuLaunchKernel"])
def test_what_the_driver_refuses_is_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    driver = FakeDriver(132, 2048)
    driver.refusing = name
    with pytest.raises(GpuError, match=f"^{name}: error 1$"):
        _opened(monkeypatch, driver)


@pytest.mark.torch
@pytest.mark.parametrize(("sm", "threads"), [(75, 1024), (86, 1536), (90, 2048), (100, 2048), (120, 1536)])
def test_registers_leave_room_for_every_thread(tmp_path: Path, sm: int, threads: int) -> None:
    compiler = pytest.importorskip("triton.backends.nvidia.compiler")
    source = tmp_path / "timing.ptx"
    source.write_bytes(PTX.rstrip(b"\0"))
    command = [compiler.get_ptxas(sm).path, "-v", f"--gpu-name=sm_{sm}", source, "-o", tmp_path / "cubin"]
    log = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stderr
    registers = [int(number) for number in re.findall(r"Used (\d+) registers", log)]
    assert len(registers) == len(re.findall(rb"\.entry", PTX))
    # They are given out in eights.
    assert all(-(-each // 8) * 8 * threads <= REGISTERS_OF_AN_SM for each in registers), registers


# --- on a GPU --------------------------------------------------------------------------------------

FLUSH_BYTES = 120 << 20


@pytest.fixture
def real() -> tuple[CudaGpu, Any, Any]:
    """The timer's device, torch, and a stream of a candidate's on which a kernel has run."""
    torch = pytest.importorskip("torch")
    torch.empty(1, device="cuda")
    gpu, side = CudaGpu(FLUSH_BYTES), torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.cuda._sleep(1000)
    gpu.finish()
    return gpu, torch, side


def _took_us(gpu: CudaGpu, work: Callable[[], object]) -> float:
    start, stop = gpu.event(), gpu.event()
    gpu.record(start)
    work()
    gpu.record(stop)
    gpu.finish()
    return gpu.elapsed_us(start, stop)


@pytest.mark.gpu
@pytest.mark.torch
def test_no_kernel_runs_beside_the_block(real: tuple[CudaGpu, Any, Any]) -> None:
    gpu, torch, side = real
    seen = []

    def work() -> None:
        gpu.block(20_000_000)
        with torch.cuda.stream(side):
            torch.cuda._sleep(1000)
            done = side.record_event()
        time.sleep(0.01)
        seen.append(done.query())

    assert 20_000 <= _took_us(gpu, work) < 20_200
    assert seen == [False]


@pytest.mark.gpu
@pytest.mark.torch
def test_the_flush_waits_for_a_kernel_on_another_stream(real: tuple[CudaGpu, Any, Any]) -> None:
    gpu, torch, side = real
    alone = min(_took_us(gpu, gpu.flush) for _ in range(5))
    assert alone < 1000, "twice an L2 takes no millisecond; a gate that does not open takes five"
    with torch.cuda.stream(side):
        torch.cuda._sleep(6_000_000)  # one thread, 3 ms
    time.sleep(0.001)
    assert _took_us(gpu, gpu.flush) > alone + 500


@pytest.mark.gpu
@pytest.mark.torch
def test_the_flush_overwrites_all_also_in_a_graph(real: tuple[CudaGpu, Any, Any]) -> None:
    gpu, torch, _ = real
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        gpu.stream = torch.cuda.current_stream().cuda_stream
        gpu.flush()
        gpu.flush()
    gpu.stream = 0
    found = (ctypes.c_uint8 * FLUSH_BYTES)()
    for _ in range(2):
        gpu._do("cuMemsetD32Async", gpu._buffer, 0xFFFFFFFF, FLUSH_BYTES // 4, 0)
        gpu.finish()
        assert _took_us(gpu, graph.replay) < 2000
        gpu._do("cuMemcpyDtoH_v2", ctypes.byref(found), gpu._buffer, FLUSH_BYTES)
        assert bytes(found).count(0) == FLUSH_BYTES
