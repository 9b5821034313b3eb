"""What is said to the driver, by a stand-in that reads memory as libcuda does."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from bundler.worker import faults
from bundler.worker.launcher import SCALARS, Function, LaunchFailed, OutOfResources


class FakeFunction:
    """A function of the library: ctypes' attributes, and what it does."""

    def __init__(self, does: Any) -> None:
        self._does = does
        self.argtypes: Any = None
        self.restype: Any = None

    def __call__(self, *arguments: Any) -> int:
        assert len(arguments) == len(self.argtypes)
        for argument, kind in zip(arguments, self.argtypes, strict=True):
            kind.from_param(argument)  # what ctypes would do, and refuse
        return int(self._does(*arguments))


class FakeCuda:
    """libcuda with one module, one function, and parameters of the types that it is told."""

    def __init__(self, *types: Any) -> None:
        self.errors: dict[str, int] = {}
        self.launches: list[tuple[Any, ...]] = []
        self.attributes: list[tuple[int, int]] = []
        self.images: list[bytes] = []
        self._types = types
        for name in (
            "cuModuleLoadData", "cuModuleGetFunction", "cuFuncSetAttribute", "cuLaunchKernel",
            "cuGetErrorName", "cuGetErrorString",
        ):  # fmt: skip
            setattr(self, name, FakeFunction(getattr(self, f"_{name}")))

    def _cuModuleLoadData(self, handle: int, image: bytes) -> int:  # noqa: N802
        self.images.append(image)
        ctypes.c_void_p.from_address(handle).value = 7
        return self.errors.get("cuModuleLoadData", 0)

    def _cuModuleGetFunction(self, handle: int, module: Any, name: bytes) -> int:  # noqa: N802
        assert module.value == 7
        ctypes.c_void_p.from_address(handle).value = 8
        return self.errors.get("cuModuleGetFunction", 0)

    def _cuFuncSetAttribute(self, function: Any, attribute: int, value: int) -> int:  # noqa: N802
        self.attributes.append((attribute, value))
        return self.errors.get("cuFuncSetAttribute", 0)

    def _cuLaunchKernel(self, function: Any, *arguments: Any) -> int:  # noqa: N802
        assert function.value == 8
        *shape, shared, stream, parameters, extra = arguments
        assert extra is None
        places = (ctypes.c_void_p * max(1, len(self._types))).from_address(parameters)
        values = [t.from_address(place).value for t, place in zip(self._types, places, strict=False)]
        self.launches.append((shape, shared, stream, values))
        return self.errors.get("cuLaunchKernel", 0)

    def _text(self, text: bytes, place: int) -> int:
        self.kept = ctypes.create_string_buffer(text)
        ctypes.c_void_p.from_address(place).value = ctypes.addressof(self.kept)
        return 0

    def _cuGetErrorName(self, error: int, place: int) -> int:  # noqa: N802
        return self._text(b"CUDA_ERROR_%d" % error, place)

    def _cuGetErrorString(self, error: int, place: int) -> int:  # noqa: N802
        return self._text(b"invalid argument", place)


def test_one_launch() -> None:
    types = [ctypes.c_uint64, *SCALARS.values()]
    cuda = FakeCuda(*types)
    values = [2**63 + 5, -7, 2**32 - 1, -(2**40), 2**64 - 1, 0.5, 0.1]
    parameters = [kind(value) for kind, value in zip(types, values, strict=True)]
    Function(b"\x7fELF\0cubin", "k", cuda).launch((3, 1, 1), (256, 1, 1), 1024, 0, parameters)
    assert cuda.launches == [([3, 1, 1, 256, 1, 1], 1024, 0, values)]
    assert cuda.images == [b"\x7fELF\0cubin"]
    assert cuda.attributes == []


def test_no_parameters() -> None:
    cuda = FakeCuda()
    Function(b"", "k", cuda).launch((1, 1, 1), (1, 1, 1), 0, 5, [])
    assert cuda.launches == [([1, 1, 1, 1, 1, 1], 0, 5, [])]


def test_much_shared_memory_is_asked_for_once() -> None:
    cuda = FakeCuda()
    function = Function(b"", "k", cuda)
    for size in (48 << 10, 64 << 10, 64 << 10, 96 << 10):
        function.launch((1, 1, 1), (1, 1, 1), size, 0, [])
    assert cuda.attributes == [(8, 64 << 10), (8, 96 << 10)]


@pytest.mark.parametrize(
    ("where", "code", "kind", "resource"),
    [
        ("cuLaunchKernel", 1, LaunchFailed, None),
        ("cuLaunchKernel", 701, OutOfResources, "out-of-resources"),
        ("cuFuncSetAttribute", 1, OutOfResources, "out-of-resources"),
    ],
)
def test_what_the_driver_refuses(where: str, code: int, kind: type[LaunchFailed], resource: str) -> None:
    cuda = FakeCuda()
    function = Function(b"", "k", cuda)
    cuda.errors[where] = code
    with pytest.raises(LaunchFailed, match="CUDA error: invalid argument") as raised:
        function.launch((1, 1, 1), (1, 1, 1), 1 << 20, 0, [])
    assert type(raised.value) is kind
    described = faults.describe(raised.value)
    assert (described["phase"], described["resource"]) == ("launch", resource)
    assert not faults.is_sticky(raised.value)


@pytest.mark.parametrize("where", ["cuModuleLoadData", "cuModuleGetFunction"])
def test_code_that_the_driver_does_not_take(where: str) -> None:
    cuda = FakeCuda()
    cuda.errors[where] = 209
    with pytest.raises(LaunchFailed, match=where):
        Function(b"", "k", cuda)
