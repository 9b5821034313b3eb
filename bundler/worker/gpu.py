"""The device as the timer uses it, through libcuda alone: events, a blocking kernel, a flush, a clock probe.

Nothing here goes through torch, so that a candidate that replaces torch's events and clocks changes nothing.
It shares this process all the same, and can replace what is here: what it gives is a claim.
"""

from __future__ import annotations

import ctypes
from typing import Any, Protocol

from bundler.worker import libcuda

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
        """Keep the stream busy for ``ns``, with one thread."""

    def flush(self) -> None:
        """Overwrite the flush buffer, so that the L2 holds nothing else."""

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


# PTX ISA: %clock64 counts the SM's cycles, %globaltimer nanoseconds. The latter moves in steps, of up to a
# microsecond on some devices, so the probe begins and ends at a step.
_PTX = b"""\
.version 7.0
.target sm_75
.address_size 64

.visible .entry bundler_block(.param .u64 span)
{
  .reg .pred %p; .reg .b64 %start, %now, %span;
  ld.param.u64 %span, [span];
  mov.u64 %start, %globaltimer;
again:
  mov.u64 %now, %globaltimer;
  sub.u64 %now, %now, %start;
  setp.lt.u64 %p, %now, %span;
  @%p bra again;
  ret;
}

.visible .entry bundler_probe(.param .u64 out, .param .u64 span)
{
  .reg .pred %p; .reg .b64 %out, %span, %start, %now, %cycles, %end;
  ld.param.u64 %out, [out];
  ld.param.u64 %span, [span];
  cvta.to.global.u64 %out, %out;
  mov.u64 %now, %globaltimer;
first:
  mov.u64 %start, %globaltimer;
  setp.eq.u64 %p, %start, %now;
  @%p bra first;
  mov.u64 %cycles, %clock64;
again:
  mov.u64 %now, %globaltimer;
  sub.u64 %end, %now, %start;
  setp.lt.u64 %p, %end, %span;
  @%p bra again;
last:
  mov.u64 %end, %globaltimer;
  setp.eq.u64 %p, %end, %now;
  @%p bra last;
  mov.u64 %now, %clock64;
  sub.u64 %cycles, %now, %cycles;
  sub.u64 %end, %end, %start;
  st.global.u64 [%out], %cycles;
  st.global.u64 [%out+8], %end;
  ret;
}
\x00"""
_PROBE_NS = 100_000
_MOST_PROBES = 256
_NOT_READY = 600
_u64, _ptr = ctypes.c_uint64, ctypes.c_void_p


class CudaGpu:
    """The current CUDA context's device. Make it before the candidate is loaded where that is possible."""

    def __init__(self, flush_bytes: int) -> None:
        """Raise GpuError; OSError where there is no libcuda."""
        self.stream = 0
        self._call = libcuda.functions()
        module = self._new("cuModuleLoadData", _PTX)
        self._block = self._new("cuModuleGetFunction", module, b"bundler_block")
        self._probe = self._new("cuModuleGetFunction", module, b"bundler_probe")
        self._answers = _u64()
        self._do("cuMemAlloc_v2", ctypes.byref(self._answers), 16 * _MOST_PROBES)
        self._count = 0
        self._flush_bytes = flush_bytes
        self._buffer = _u64()
        if flush_bytes:
            self._do("cuMemAlloc_v2", ctypes.byref(self._buffer), flush_bytes)
        self._load()

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
        self._launch(self._block, _u64(ns))

    def flush(self) -> None:
        if self._flush_bytes:
            self._do("cuMemsetD32Async", self._buffer, 0, self._flush_bytes // 4, self.stream)

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

    def _launch(self, function: Any, *values: Any) -> None:
        pointers = (_ptr * len(values))(*(ctypes.cast(ctypes.byref(value), _ptr) for value in values))
        self._do("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, self.stream, pointers, None)
