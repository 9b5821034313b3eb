"""Launches on a GPU, as a worker makes them: NVRTC's machine code, in torch's context, by cuda.core."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
nvrtc = pytest.importorskip("bundler.worker.nvrtc")

from bundler.worker import cuda_core  # noqa: E402
from bundler.worker.launcher import Function, LaunchFailed, OutOfResources  # noqa: E402

pytestmark = [pytest.mark.gpu, pytest.mark.torch]
SOURCE = b"""
extern "C" __global__ void k(double *out, size_t count, double factor, float part) {
  extern __shared__ double shared[];
  for (size_t i = threadIdx.x; i < count; i += blockDim.x) shared[i] = factor * (double)i + (double)part;
  __syncthreads();
  for (size_t i = threadIdx.x; i < count; i += blockDim.x) out[i] = shared[count - 1 - i];
}
"""
BYTES = 100 << 10
COUNT = BYTES // 8


@pytest.fixture
def function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Function:
    monkeypatch.chdir(tmp_path)
    try:
        cuda_core.load()
    except cuda_core.Unusable as reason:
        pytest.skip(str(reason))
    torch.empty(1, device="cuda")
    major, minor = torch.cuda.get_device_capability()
    return Function(nvrtc.compile_source(SOURCE, "k", 10 * major + minor, ()).cubin, "k")


def _launch(function: Function, out: Any, shared: int, *, threads: int = 256) -> None:
    parameters = [
        ctypes.c_uint64(out.data_ptr()),
        ctypes.c_int64(ctypes.c_int32(COUNT).value),  # an int, for a parameter that is a size_t
        ctypes.c_double(0.1),
        ctypes.c_float(0.1),
    ]
    stream = torch.cuda.current_stream().cuda_stream
    function.launch([1, 1, 1], [threads, 1, 1], shared, stream, parameters)


def _expected() -> Any:
    index = torch.arange(COUNT - 1, -1, -1, dtype=torch.float64)
    return 0.1 * index + ctypes.c_float(0.1).value


def _nearly(found: Any, expected: Any) -> bool:
    """To the last bit but one: the device multiplies and adds in one step."""
    return bool(((found.cpu() - expected).abs() <= 2**-52 * expected.abs()).all())


def test_100_kib_of_shared_memory_an_int_and_a_double(function: Function) -> None:
    out = torch.zeros(COUNT, dtype=torch.float64, device="cuda")
    context = cuda_core.load().driver.cuCtxGetCurrent()[1]
    _launch(function, out, BYTES)
    torch.cuda.synchronize()
    assert _nearly(out, _expected())
    assert int(cuda_core.load().driver.cuCtxGetCurrent()[1]) == int(context)


def test_the_stream_is_torchs_own(function: Function) -> None:
    """Nothing waits for another stream: the order on this one alone makes the result right."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        out = torch.zeros(COUNT, dtype=torch.float64, device="cuda")
        torch.cuda._sleep(50_000_000)
        out.fill_(7.0)
        _launch(function, out, BYTES)
        copy = out.clone()
    stream.synchronize()
    assert _nearly(copy, _expected())


def test_a_graph_takes_a_launch(function: Function) -> None:
    out = torch.zeros(COUNT, dtype=torch.float64, device="cuda")
    _launch(function, out, BYTES)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        _launch(function, out, BYTES)
    out.zero_()
    graph.replay()
    torch.cuda.synchronize()
    assert _nearly(out, _expected())


def test_more_than_there_is(function: Function) -> None:
    out = torch.zeros(COUNT, dtype=torch.float64, device="cuda")
    with pytest.raises(OutOfResources, match="invalid argument"):
        _launch(function, out, 1 << 20)
    with pytest.raises(LaunchFailed, match=r"invalid argument \(CUDA_ERROR_INVALID_VALUE\)"):
        _launch(function, out, BYTES, threads=2048)
    _launch(function, out, BYTES)
    torch.cuda.synchronize()
    assert _nearly(out, _expected())
