"""The device as the timer uses it, through libcuda alone: events, a blocking kernel, a flush, a clock probe.

Nothing here goes through torch, so that a candidate that replaces torch's events and clocks changes nothing.
It shares this process all the same, and can replace what is here: what it gives is a claim.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any, Protocol

from bundler.worker import libcuda
from bundler.worker.timing_ptx import PTX

Event = Any


class Gpu(Protocol):
    """What a timing needs of a device. Everything but ``finish`` only enqueues, on ``stream``."""

    stream: int

    def event(self) -> Event:
        """A new event."""

    def record(self, event: Event) -> None:
        """Enqueue ``event``."""

    def reached(self, event: Event) -> bool:
        """Whether the device has come to it."""

    def elapsed_us(self, start: Event, stop: Event) -> float:
        """Between two events that were reached, µs."""

    def block(self, ns: int) -> None:
        """Keep the device busy for ``ns``, all of it: no kernel on another stream runs meanwhile."""

    def flush(self) -> None:
        """When no kernel runs on any stream, overwrite the flush buffer: the L2 holds nothing else then."""

    def reset_persisting(self) -> bool:
        """Make persisting lines of the L2 ordinary ones; whether the driver did."""

    def probe(self) -> None:
        """Enqueue a reading of the SM clock."""

    def probes(self) -> list[tuple[int, int]]:
        """Cycles and ns of each probe since the last time; call ``finish`` before."""

    def finish(self) -> None:
        """Wait for everything on the device, on every stream. Raises GpuError."""


class GpuError(RuntimeError):
    """libcuda refused; ``str`` names the function and its error."""


_PROBE_NS = 100_000
_MOST_PROBES = 256
_NOT_READY = 600
_SMS, _THREADS_OF_AN_SM = 16, 39  # CUdevice_attribute
_THREADS_OF_A_BLOCK = 512
"""Of a kernel that fills the device: two to four such take an SM's 1024, 1536 or 2048 places."""
_u64, _ptr = ctypes.c_uint64, ctypes.c_void_p


class CudaGpu:
    """The current CUDA context's device. Make it before the candidate is loaded where that is possible."""

    def __init__(self, flush_bytes: int) -> None:
        """Raise GpuError; OSError where there is no libcuda."""
        self.stream = 0
        self._call = libcuda.functions()
        module = self._new("cuModuleLoadData", PTX)
        self._block = self._new("cuModuleGetFunction", module, b"bundler_block")
        self._flush = self._new("cuModuleGetFunction", module, b"bundler_flush")
        self._probe = self._new("cuModuleGetFunction", module, b"bundler_probe")
        self._shape = self._filling()
        self._answers = _u64()
        self._do("cuMemAlloc_v2", ctypes.byref(self._answers), 16 * _MOST_PROBES)
        self._gate = _u64()
        self._do("cuMemAlloc_v2", ctypes.byref(self._gate), 8)
        self._do("cuMemsetD32Async", self._gate, 0, 2, self.stream)
        self._count = 0
        self._flush_bytes = flush_bytes // 16 * 16
        self._buffer = _u64()
        if flush_bytes:
            self._do("cuMemAlloc_v2", ctypes.byref(self._buffer), flush_bytes)
        self._load()

    def _filling(self) -> tuple[int, int]:
        """Blocks, and threads of one, that take every place for a thread and fit all at once."""
        device, found = ctypes.c_int(), []
        self._do("cuCtxGetDevice", ctypes.byref(device))
        for attribute in (_SMS, _THREADS_OF_AN_SM):
            value = ctypes.c_int()
            self._do("cuDeviceGetAttribute", ctypes.byref(value), attribute, device)
            found.append(value.value)
        sms, of_an_sm = found
        threads = math.gcd(of_an_sm, _THREADS_OF_A_BLOCK)
        return sms * (of_an_sm // threads), threads

    def _load(self) -> None:
        """Run each once: the driver loads a kernel when it is launched first."""
        self.block(1000)
        self.flush()
        self.probe()
        self.finish()
        self.probes()

    def _do(self, name: str, *arguments: Any) -> None:
        if error := self._call[name](*arguments):
            raise GpuError(f"{name}: error {error}")

    def _new(self, name: str, *arguments: Any) -> Any:
        """What ``name`` makes, a handle."""
        handle = _ptr()
        self._do(name, ctypes.byref(handle), *arguments)
        return handle

    def event(self) -> Event:
        return self._new("cuEventCreate", 0)

    def record(self, event: Event) -> None:
        self._do("cuEventRecord", event, self.stream)

    def reached(self, event: Event) -> bool:
        error = self._call["cuEventQuery"](event)
        if error not in (0, _NOT_READY):
            raise GpuError(f"cuEventQuery: error {error}")
        return bool(error == 0)

    def elapsed_us(self, start: Event, stop: Event) -> float:
        milliseconds = ctypes.c_float()
        self._do("cuEventElapsedTime", ctypes.byref(milliseconds), start, stop)
        return 1000 * milliseconds.value

    def block(self, ns: int) -> None:
        self._launch(self._block, _u64(ns), shape=self._shape)

    def flush(self) -> None:
        if self._flush_bytes:
            self._launch(self._flush, self._buffer, _u64(self._flush_bytes), self._gate, shape=self._shape)

    def reset_persisting(self) -> bool:
        return bool(self._call["cuCtxResetPersistingL2Cache"]() == 0)

    def probe(self) -> None:
        if self._count < _MOST_PROBES:
            self._launch(self._probe, _u64(self._answers.value + 16 * self._count), _u64(_PROBE_NS))
            self._count += 1

    def probes(self) -> list[tuple[int, int]]:
        values = (_u64 * (2 * _MOST_PROBES))()
        count, self._count = self._count, 0
        if count:
            self._do("cuMemcpyDtoH_v2", ctypes.byref(values), self._answers, 16 * count)
        return [(values[2 * i], values[2 * i + 1]) for i in range(count)]

    def finish(self) -> None:
        self._do("cuCtxSynchronize")

    def _launch(self, function: Any, *values: Any, shape: tuple[int, int] = (1, 1)) -> None:
        pointers = (_ptr * len(values))(*(ctypes.cast(ctypes.byref(value), _ptr) for value in values))
        blocks, threads = shape
        self._do("cuLaunchKernel", function, blocks, 1, 1, threads, 1, 1, 0, self.stream, pointers, None)
