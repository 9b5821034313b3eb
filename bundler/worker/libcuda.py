"""The functions of libcuda that a timing needs, through ctypes: nothing else stands between."""

from __future__ import annotations

import ctypes
from typing import Any

_u32, _u64, _size, _ptr, _int = ctypes.c_uint, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cuEventCreate": (_ptr, _u32),
    "cuEventRecord": (_ptr, _ptr),
    "cuEventQuery": (_ptr,),
    "cuEventElapsedTime": (_ptr, _ptr, _ptr),
    "cuCtxGetDevice": (_ptr,),
    "cuDeviceGetAttribute": (_ptr, _int, _int),
    "cuCtxSynchronize": (),
    "cuCtxResetPersistingL2Cache": (),
    "cuModuleLoadData": (_ptr, ctypes.c_char_p),
    "cuModuleGetFunction": (_ptr, _ptr, ctypes.c_char_p),
    "cuMemAlloc_v2": (_ptr, _size),
    "cuMemcpyDtoH_v2": (_ptr, _u64, _size),
    "cuMemsetD32Async": (_u64, _u32, _size, _ptr),
    "cuLaunchKernel": (_ptr, _u32, _u32, _u32, _u32, _u32, _u32, _u32, _ptr, _ptr, _ptr),
}


def functions() -> dict[str, Any]:
    """By name; each gives a CUresult. Raises OSError where there is no libcuda."""
    library = ctypes.CDLL("libcuda.so.1")
    found = {}
    for name, types in _SIGNATURES.items():
        function = getattr(library, name)
        function.argtypes, function.restype = types, _int
        found[name] = function
    return found
