"""What is said to cuda.core and to the driver, by stand-ins for both that are as strict as they are."""

from __future__ import annotations

import ctypes
from enum import IntEnum
from types import SimpleNamespace
from typing import Any

import pytest

from bundler.worker import faults
from bundler.worker.cuda_core import Cuda
from bundler.worker.launcher import SCALARS, Function, LaunchFailed, OutOfResources

GIVEN = 48 << 10
"""What a kernel may have of shared memory without asking."""
MOST = 227 << 10


class CUresult(IntEnum):
    """As in cuda.bindings."""

    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701
    CUDA_ERROR_LAUNCH_FAILED = 719


WORDS = {1: b"invalid argument", 209: b"no kernel image is available for execution on the device",
         701: b"too many resources requested for launch", 719: b"unspecified launch failure"}  # fmt: skip


class CUDAError(Exception):
    """As in cuda.core: the error's name, and an explanation that is not the driver's."""

    def __init__(self, code: CUresult) -> None:
        super().__init__(f"{code.name}: This indicates that something or other is not as it should be.")


class FakeCuda:
    """cuda.core with one kernel, and the driver behind it."""

    def __init__(self, handle: str = "handle") -> None:
        self.errors: dict[str, CUresult] = {}
        self.lost = False
        self.launches: list[tuple[Any, ...]] = []
        self.asked: list[int] = []
        self.allowed = GIVEN
        self._handle_name = handle
        core = SimpleNamespace(
            ObjectCode=SimpleNamespace(from_cubin=self._from_cubin),
            LaunchConfig=self._config,
            Stream=SimpleNamespace(from_handle=lambda handle: ("stream", handle)),
            launch=self._launch,
        )
        driver = SimpleNamespace(
            CUresult=CUresult,
            CUfunction_attribute=SimpleNamespace(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8),
            cuCtxGetDevice=lambda: (CUresult.CUDA_SUCCESS, "device 3"),
            cuKernelSetAttribute=self._set,
            cuGetErrorName=lambda code: (CUresult.CUDA_SUCCESS, code.name.encode()),
            cuGetErrorString=lambda code: (CUresult.CUDA_SUCCESS, WORDS[code]),
        )
        self.modules = Cuda(core, driver)

    def _fail(self, where: str) -> None:
        if where in self.errors:
            raise CUDAError(self.errors[where])

    def _from_cubin(self, code: bytes) -> Any:
        assert code == b"cubin"
        return SimpleNamespace(get_kernel=self._get_kernel)

    def _get_kernel(self, name: str) -> Any:
        self._fail("get_kernel")
        assert name == "k"
        return SimpleNamespace(**{self._handle_name: "CUkernel"})

    def _config(self, *, grid: tuple[int, ...], block: tuple[int, ...], shmem_size: int) -> Any:
        assert {type(grid), type(block)} == {tuple}, "cuda.core takes no lists"
        return (*grid, *block), shmem_size

    def _set(self, attribute: int, value: int, kernel: str, device: str) -> tuple[CUresult]:
        assert (attribute, kernel, device) == (8, "CUkernel", "device 3")
        self.asked.append(value)
        if self.lost:
            return (CUresult.CUDA_ERROR_LAUNCH_FAILED,)
        if value > MOST:
            return (CUresult.CUDA_ERROR_INVALID_VALUE,)
        self.allowed = value
        return (CUresult.CUDA_SUCCESS,)

    def _launch(self, stream: tuple[str, int], config: Any, kernel: Any, *parameters: Any) -> None:
        shape, shared = config
        if shared > self.allowed:
            raise CUDAError(CUresult.CUDA_ERROR_INVALID_VALUE)
        self._fail("launch")
        # cuda.core takes the bytes of a ctypes value's exact type.
        values = [(type(p), bytes(p)) for p in parameters]
        self.launches.append((stream, shape, shared, values))


def _launch(cuda: FakeCuda, shared: int = 0, parameters: Any = ()) -> Function:
    function = Function(b"cubin", "k", cuda.modules)
    function.launch([1, 1, 1], [1, 1, 1], shared, 0, parameters)
    return function


def test_one_launch() -> None:
    cuda = FakeCuda()
    types = [ctypes.c_uint64, *SCALARS.values()]
    values = [2**63 + 5, -7, 2**32 - 1, -(2**40), 2**64 - 1, 0.5, 0.1]
    parameters = [kind(value) for kind, value in zip(types, values, strict=True)]
    Function(b"cubin", "k", cuda.modules).launch([3, 2, 1], [256, 1, 1], 1024, 17, parameters)
    ((stream, shape, shared, given),) = cuda.launches
    assert (stream, shape, shared) == (("stream", 17), (3, 2, 1, 256, 1, 1), 1024)
    assert given == [(kind, bytes(kind(value))) for kind, value in zip(types, values, strict=True)]


@pytest.mark.parametrize("handle", ["handle", "_handle"])
def test_shared_memory_is_asked_for_once(handle: str) -> None:
    cuda = FakeCuda(handle)
    function = Function(b"cubin", "k", cuda.modules)
    for size in (0, 64 << 10, 64 << 10, 16 << 10, 100 << 10):
        function.launch([1, 1, 1], [1, 1, 1], size, 0, [])
    assert cuda.asked == [64 << 10, 100 << 10]
    assert [shared for *_, shared, _ in cuda.launches] == [0, 64 << 10, 64 << 10, 16 << 10, 100 << 10]


def test_a_static_part_counts_as_well() -> None:
    cuda = FakeCuda()
    cuda.allowed = GIVEN - (20 << 10)
    _launch(cuda, 40 << 10)
    assert cuda.asked == [40 << 10]


def _described(raised: LaunchFailed) -> tuple[str, str | None, bool]:
    described = faults.describe(raised)
    return described["phase"], described["resource"], faults.is_sticky(raised)


def test_more_shared_memory_than_there_is() -> None:
    with pytest.raises(OutOfResources, match=r"^1048576 bytes of dynamic .*CUDA error: invalid") as raised:
        _launch(FakeCuda(), 1 << 20)
    assert _described(raised.value) == ("launch", "out-of-resources", False)


def test_a_context_that_is_lost_lacks_no_shared_memory() -> None:
    """An earlier launch's error comes with whatever is called next."""
    cuda = FakeCuda()
    cuda.lost = True
    with pytest.raises(LaunchFailed, match="unspecified launch failure") as raised:
        _launch(cuda, 64 << 10)
    assert _described(raised.value) == ("launch", None, True)


@pytest.mark.parametrize(
    ("code", "kind", "resource", "sticky"),
    [
        (CUresult.CUDA_ERROR_INVALID_VALUE, LaunchFailed, None, False),
        (CUresult.CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, OutOfResources, "out-of-resources", False),
        (CUresult.CUDA_ERROR_LAUNCH_FAILED, LaunchFailed, None, True),
    ],
)
def test_what_the_driver_refuses(code: CUresult, kind: type, resource: str | None, sticky: bool) -> None:
    cuda = FakeCuda()
    cuda.errors["launch"] = code
    with pytest.raises(LaunchFailed) as raised:
        _launch(cuda)
    assert type(raised.value) is kind
    assert str(raised.value) == f"launch: CUDA error: {WORDS[code].decode()} ({code.name})"
    assert _described(raised.value) == ("launch", resource, sticky)


def test_an_error_that_the_bindings_do_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = FakeCuda()

    def refuse(*_: Any) -> None:
        error = CUDAError(CUresult.CUDA_SUCCESS)
        error.args = ("UNEXPECTED ERROR CODE: 1234",)
        raise error

    monkeypatch.setattr(cuda.modules.core, "launch", refuse)
    with pytest.raises(LaunchFailed, match="CUDA error: UNEXPECTED ERROR CODE: 1234") as raised:
        _launch(cuda)
    assert faults.is_sticky(raised.value)


def test_code_that_the_driver_does_not_take() -> None:
    cuda = FakeCuda()
    cuda.errors["get_kernel"] = CUresult.CUDA_ERROR_NO_BINARY_FOR_GPU
    with pytest.raises(LaunchFailed, match=r"^loading the machine code: CUDA error: no kernel image"):
        Function(b"cubin", "k", cuda.modules)


def test_what_is_no_word_of_the_drivers_stays_as_it_is() -> None:
    cuda = FakeCuda()
    with pytest.raises(TypeError):
        _launch(cuda, parameters=[object()])
