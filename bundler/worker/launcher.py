"""Machine code on the device, through libcuda alone: loaded into torch's context, launched on a stream.

cuda.core (1.2) has no call for dynamic shared memory above 48 KiB, and its modules moved between versions;
these six functions of the driver have not changed since CUDA 9.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

_u32, _ptr, _int = ctypes.c_uint, ctypes.c_void_p, ctypes.c_int
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cuModuleLoadData": (_ptr, ctypes.c_char_p),
    "cuModuleGetFunction": (_ptr, _ptr, ctypes.c_char_p),
    "cuFuncSetAttribute": (_ptr, _int, _int),
    "cuLaunchKernel": (_ptr, _u32, _u32, _u32, _u32, _u32, _u32, _u32, _ptr, _ptr, _ptr),
    "cuGetErrorName": (_int, _ptr),
    "cuGetErrorString": (_int, _ptr),
}
_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8  # CUfunction_attribute
_WITHOUT_ASKING = 48 << 10
_LAUNCH_OUT_OF_RESOURCES = 701
SCALARS: dict[str, Any] = {
    "int": ctypes.c_int32,
    "unsigned int": ctypes.c_uint32,
    "long long": ctypes.c_int64,
    "unsigned long long": ctypes.c_uint64,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
}
"""C types of a kernel's scalar parameters."""

Parameter = Any
"""A value of a ctypes type."""


class LaunchFailed(RuntimeError):
    """The driver refused; ``str`` has CUDA's words for it."""


class OutOfResources(LaunchFailed):
    """A block asks for more registers or shared memory than the device has for one."""


class Function:
    """One kernel in the current context."""

    def __init__(self, cubin: bytes, entry: str, library: Any = None) -> None:
        """Raise LaunchFailed where the driver does not take it; OSError where there is no libcuda."""
        self._call = functions(library or ctypes.CDLL("libcuda.so.1"), _SIGNATURES)
        self._image = cubin
        module = self._new("cuModuleLoadData", cubin)
        self._function = self._new("cuModuleGetFunction", module, entry.encode())
        self._asked = _WITHOUT_ASKING

    def launch(
        self,
        grid: Sequence[int],
        block: Sequence[int],
        shared_bytes: int,
        stream: int,
        parameters: Sequence[Parameter],
    ) -> None:
        """Enqueue one launch. Raises OutOfResources and LaunchFailed."""
        if shared_bytes > self._asked:
            error = self._call["cuFuncSetAttribute"](
                self._function, _MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes
            )
            if error:
                raise OutOfResources(f"{shared_bytes} bytes of dynamic shared memory: {self._words(error)}")
            self._asked = shared_bytes
        pointers = (_ptr * max(1, len(parameters)))(*(ctypes.addressof(value) for value in parameters))
        error = self._call["cuLaunchKernel"](
            self._function, *grid, *block, shared_bytes, stream, ctypes.addressof(pointers), None
        )
        if error == _LAUNCH_OUT_OF_RESOURCES:
            raise OutOfResources(f"cuLaunchKernel: {self._words(error)}")
        if error:
            raise LaunchFailed(f"cuLaunchKernel: {self._words(error)}")

    def _new(self, name: str, *arguments: Any) -> Any:
        handle = _ptr()
        if error := self._call[name](ctypes.addressof(handle), *arguments):
            raise LaunchFailed(f"{name}: {self._words(error)}")
        return handle

    def _words(self, error: int) -> str:
        """As torch says it: ``CUDA error: invalid argument (CUDA_ERROR_INVALID_VALUE)``."""
        found = []
        for ask in ("cuGetErrorString", "cuGetErrorName"):
            text = ctypes.c_char_p()
            self._call[ask](error, ctypes.addressof(text))
            found.append((text.value or b"?").decode("utf-8", "replace"))
        return f"CUDA error: {found[0]} ({found[1]})"


def functions(library: Any, signatures: Mapping[str, tuple[Any, ...]]) -> dict[str, Any]:
    """Functions of libcuda by name, each with the types of its arguments; all of them give a CUresult."""
    found = {}
    for name, types in signatures.items():
        function = getattr(library, name)
        function.argtypes, function.restype = types, _int
        found[name] = function
    return found
