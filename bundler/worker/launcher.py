"""Machine code on the device, through cuda.core: loaded once, launched on a stream in torch's context.

Dynamic shared memory above 48 KiB has to be asked for by an attribute of the kernel, and cuda.core (1.2) only
reads these: that call goes to the driver, by cuda.bindings.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
from collections.abc import Iterator, Sequence
from typing import Any

from bundler.worker import cuda_core

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
"""A value of a ctypes type, of which cuda.core copies as many bytes as the type has."""

_OUT_OF_RESOURCES = "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"


class LaunchFailed(RuntimeError):
    """The driver refused; ``str`` has CUDA's words for it."""


class OutOfResources(LaunchFailed):
    """A block asks for more registers or shared memory than the device has for one."""


class Function:
    """One kernel. It runs in the context that is current when it is launched: cuda.core makes none."""

    def __init__(self, cubin: bytes, entry: str, cuda: cuda_core.Cuda | None = None) -> None:
        """Raise LaunchFailed where the driver does not take it; cuda_core.Unusable."""
        self._cuda = cuda or cuda_core.load()
        with self._in_cudas_words("loading the machine code"):
            self._code = self._cuda.core.ObjectCode.from_cubin(cubin)
            self._kernel = self._code.get_kernel(entry)
        self._asked = 0

    def launch(
        self,
        grid: Sequence[int],
        block: Sequence[int],
        shared_bytes: int,
        stream: int,
        parameters: Sequence[Parameter],
    ) -> None:
        """Enqueue one launch on ``stream``, a CUstream's address. Raises OutOfResources and LaunchFailed."""
        core = self._cuda.core
        if shared_bytes > self._asked:
            self._ask_for(shared_bytes)
        with self._in_cudas_words("launch"):
            config = core.LaunchConfig(grid=tuple(grid), block=tuple(block), shmem_size=shared_bytes)
            core.launch(core.Stream.from_handle(stream), config, self._kernel, *parameters)

    def _ask_for(self, shared_bytes: int) -> None:
        """Let a block have so much: unasked, 48 KiB are the most of static and dynamic shared memory."""
        driver = self._cuda.driver
        error, device = driver.cuCtxGetDevice()
        if error:
            raise LaunchFailed(f"cuCtxGetDevice: {self._words(error)}")
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        # Until 0.6 the handle was no public name.
        kernel = getattr(self._kernel, "handle", None) or self._kernel._handle
        (error,) = driver.cuKernelSetAttribute(attribute, shared_bytes, kernel, device)
        if error:
            results = driver.CUresult
            too_much = (results.CUDA_ERROR_INVALID_VALUE, results.CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
            kind = OutOfResources if error in too_much else LaunchFailed
            raise kind(f"{shared_bytes} bytes of dynamic shared memory: {self._words(error)}")
        self._asked = shared_bytes

    @contextlib.contextmanager
    def _in_cudas_words(self, step: str) -> Iterator[None]:
        """cuda.core explains an error in a paragraph of its own; faults.py knows the driver's words."""
        try:
            yield
        except Exception as error:
            if type(error).__name__ != "CUDAError":
                raise
            named = re.match(r"CUDA_ERROR_\w+", str(error))
            code = getattr(self._cuda.driver.CUresult, named[0], None) if named else None
            words = f"CUDA error: {error}" if code is None else self._words(code)
            kind = OutOfResources if named and named[0] == _OUT_OF_RESOURCES else LaunchFailed
            raise kind(f"{step}: {words}") from None

    def _words(self, error: Any) -> str:
        """As torch says it: ``CUDA error: invalid argument (CUDA_ERROR_INVALID_VALUE)``."""
        driver = self._cuda.driver
        found = []
        for ask in (driver.cuGetErrorString, driver.cuGetErrorName):
            _, text = ask(error)
            found.append((text or b"?").decode("utf-8", "replace"))
        return f"CUDA error: {found[0]} ({found[1]})"
