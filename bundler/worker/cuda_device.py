"""A CUDA C++ kernel as a function of tensors: what its caller in the base task does, by the judge's numbers.

Only the kernel is the candidate's. Its outputs are made here, between guards, and poisoned before every
call; memory that it writes beside them is seen.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from bundler.worker import nvrtc
from bundler.worker.launcher import SCALARS, Function
from bundler.worker.tensors import DTYPES, poison

Header = dict[str, Any]
_GUARD_BYTES = 4096
"""On both sides of an output; a multiple of the alignment that cudaMalloc gives."""


class WroteOutside(RuntimeError):
    """The kernel changed memory beside an output."""


@dataclass(frozen=True)
class _Output:
    """One returned tensor between its guards."""

    name: str
    storage: torch.Tensor
    view: torch.Tensor

    def check(self, guard: torch.Tensor) -> None:
        """Raise WroteOutside. Waits for the current stream."""
        bits = self.storage.view(torch.uint8)
        sides = (("before", bits[:_GUARD_BYTES]), ("after", bits[-_GUARD_BYTES:]))
        for side, part in sides:
            changed = int((part != guard).sum())
            if changed:
                raise WroteOutside(f"{changed} of the {_GUARD_BYTES} bytes {side} {self.name} were written")


class Kernel:
    """One candidate, compiled for the current device. ``launch`` is set for each case."""

    def __init__(self, source: bytes, request: Header, launched: Callable[[], None]) -> None:
        """Raise nvrtc.CompileFailed, nvrtc.Unsupported; launcher.LaunchFailed where the driver refuses."""
        torch.cuda.init()
        torch.empty(1, device="cuda")  # makes the device's primary context the current one
        major, minor = torch.cuda.get_device_capability()
        sm, parameters = 10 * major + minor, request.get("parameters", ())
        made = nvrtc.compile_source(source, request["entry"], sm, request["options"], parameters)
        self._function = Function(made.cubin, request["entry"])
        self._launched = launched
        self._guards: dict[torch.dtype, torch.Tensor] = {}
        self.launch: Header = {}
        """Grid, block, shared memory and arguments, as numbers."""
        self.checked = True
        """Whether outputs are poisoned and guards looked at: not where calls are timed."""

    def __call__(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...] | torch.Tensor:
        """Launch once, on torch's current stream; the outputs in the order in which they are returned."""
        launch = self.launch
        outputs: dict[int, _Output] = {}
        parameters = []
        for index, argument in enumerate(launch["arguments"]):
            if "output" in argument:
                outputs[index] = self._output(f"output {index}", argument["output"])
            parameters.append(_parameter(argument, tensors, outputs.get(index)))
        self._function.launch(
            launch["grid"],
            launch["block"],
            launch["shared_bytes"],
            torch.cuda.current_stream().cuda_stream,
            parameters,
        )
        self._launched()
        if self.checked:
            for output in outputs.values():
                output.check(self._guard(output.storage.dtype))
        returned = tuple(outputs[index].view for index in launch["returns"])
        return returned[0] if len(returned) == 1 else returned

    def _output(self, name: str, spec: Header) -> _Output:
        dtype, shape = DTYPES[spec["dtype"]], spec["shape"]
        guard, count = _GUARD_BYTES // dtype.itemsize, math.prod(shape)
        storage = torch.empty(count + 2 * guard, dtype=dtype, device="cuda")
        view = storage[guard : guard + count].view(shape)
        if self.checked:
            poison(storage)
        if spec["initial"] == "zero":
            view.zero_()
        return _Output(name, storage, view)

    def _guard(self, dtype: torch.dtype) -> torch.Tensor:
        """The bytes that a guard has."""
        if dtype not in self._guards:
            fresh = torch.empty(_GUARD_BYTES // dtype.itemsize, dtype=dtype, device="cuda")
            self._guards[dtype] = poison(fresh).view(torch.uint8)
        return self._guards[dtype]


def _parameter(argument: Header, tensors: tuple[torch.Tensor, ...], output: _Output | None) -> Any:
    """One parameter of the kernel, as a value of a C type."""
    if output is not None:
        return ctypes.c_uint64(output.view.data_ptr())
    if "input" in argument:
        return ctypes.c_uint64(tensors[argument["input"]].data_ptr())
    value = argument["value"]
    if isinstance(value, str):
        return SCALARS[argument["scalar"]](float.fromhex(value))
    # Eight bytes, so that a kernel that takes a wider type, as C++ would let it, reads no others.
    return ctypes.c_int64(SCALARS[argument["scalar"]](value).value)
