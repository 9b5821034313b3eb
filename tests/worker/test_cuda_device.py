"""A kernel as a function of tensors, on the CPU: what is launched is a function that reads memory as one."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("cuda.bindings.nvrtc")

from bundler.worker import cuda_device  # noqa: E402
from bundler.worker.nvrtc import Compiled, CompileFailed  # noqa: E402

pytestmark = pytest.mark.torch
N = 5
LAUNCH: dict[str, Any] = {
    "grid": [1, 1, 1],
    "block": [32, 1, 1],
    "shared_bytes": 0,
    "arguments": [
        {"output": {"dtype": "int32", "shape": [2], "initial": "zero"}},
        {"input": 0},
        {"scalar": "float", "value": (0.5).hex()},
        {"output": {"dtype": "float32", "shape": [N, 1], "initial": "poison"}},
        {"scalar": "long long", "value": -3},
    ],
    "returns": [3, 0],
}


def _floats(address: int, count: int) -> np.ndarray[Any, Any]:
    return np.ctypeslib.as_array((ctypes.c_float * count).from_address(address))


class FakeFunction:
    """In place of the machine code: y = a * x + b, and whatever ``also`` does to memory."""

    def __init__(self, cubin: bytes, entry: str) -> None:
        self.seen: list[tuple[Any, ...]] = []
        self.also: Any = lambda counts, y: None

    def launch(self, grid: Any, block: Any, shared: int, stream: int, parameters: Any) -> None:
        counts, x, a, y, b = (parameter.value for parameter in parameters)
        self.seen.append((grid, block, shared, stream, a, b, _floats(y, N).copy()))
        _floats(y, N)[:] = a * _floats(x, N) + b
        self.also(counts, y)


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Any:
    empty = torch.empty
    monkeypatch.setattr(torch, "empty", lambda size, dtype=None, device=None: empty(size, dtype=dtype))
    monkeypatch.setattr(torch.cuda, "init", lambda: None)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (9, 0))
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: type("S", (), {"cuda_stream": 17}))
    monkeypatch.setattr(cuda_device, "Function", FakeFunction)
    monkeypatch.setattr(
        cuda_device.nvrtc, "compile_source", lambda *arguments: Compiled(b"ptx", b"cubin", 1, 0, 0)
    )
    launched: list[int] = []
    made = cuda_device.Kernel(b"", {"entry": "k", "options": []}, lambda: launched.append(1))
    made.launch = LAUNCH
    made.counted = launched
    return made


X = torch.arange(N, dtype=torch.float32)


def test_what_is_launched_and_what_is_returned(kernel: Any) -> None:
    y, counts = kernel(X)
    assert y.flatten().tolist() == [0.5 * x - 3 for x in range(N)]
    assert (tuple(y.shape), y.dtype, y.is_contiguous()) == ((N, 1), torch.float32, True)
    assert counts.tolist() == [0, 0]
    assert kernel.counted == [1]
    (seen,) = kernel._function.seen
    assert seen[:6] == ([1, 1, 1], [32, 1, 1], 0, 17, 0.5, -3)


def test_outputs_are_poisoned_before_every_call(kernel: Any) -> None:
    kernel(X)
    kernel(X)
    assert all(np.isnan(call[-1]).all() for call in kernel._function.seen)


def test_every_output_is_aligned_as_cuda_would(kernel: Any) -> None:
    y, _ = kernel(X)
    assert (y.data_ptr() - y.untyped_storage().data_ptr()) % 256 == 0


@pytest.mark.parametrize(("offset", "side"), [(-1, "before"), (N, "after"), (N + 1000, "after")])
def test_a_write_beside_an_output_is_seen(kernel: Any, offset: int, side: str) -> None:
    def also(counts: int, y: int) -> None:
        _floats(y + 4 * offset, 1)[:] = 1.0

    kernel._function.also = also
    with pytest.raises(cuda_device.WroteOutside, match=f"bytes {side} output 3"):
        kernel(X)
    kernel.checked = False
    kernel(X)


def test_a_timed_call_looks_at_nothing(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel.checked = False
    monkeypatch.setattr(cuda_device, "poison", None)
    _, counts = kernel(X)
    assert counts.tolist() == [0, 0]


def test_a_wider_parameter_is_what_cpp_would_make_of_the_number() -> None:
    for kind, value, wide in (
        ("int", -3, -3),
        ("unsigned int", 2**32 - 1, 2**32 - 1),
        ("unsigned long long", 2**64 - 1, -1),
    ):
        parameter = cuda_device._parameter({"scalar": kind, "value": value}, (), None)
        assert ctypes.c_int64.from_address(ctypes.addressof(parameter)).value == wide


def test_an_empty_output(kernel: Any) -> None:
    shape = {"output": {"dtype": "float8_e5m2", "shape": [0, 3], "initial": "poison"}}
    kernel.launch = LAUNCH | {"arguments": [shape, *LAUNCH["arguments"][1:]], "returns": [0]}
    assert tuple(kernel(X).shape) == (0, 3)


def test_what_nvrtc_refuses(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any) -> Compiled:
        raise CompileFailed("candidate.cu(1): error")

    monkeypatch.setattr(cuda_device.nvrtc, "compile_source", refuse)
    with pytest.raises(CompileFailed):
        cuda_device.Kernel(b"", {"entry": "k", "options": []}, lambda: None)
