"""Run one candidate: load it, call it on inputs, hand back the bytes of what it returned.

The candidate shares this process, so everything said here is a claim. What decides is computed by
the judge, from the output's bytes, in a process that this one cannot reach.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from bundler.worker import cuda_core, faults, standin, wire
from bundler.worker.archs import ARCHITECTURES, INTERPRETER_SM
from bundler.worker.fresh import PoisonFresh
from bundler.worker.launches import LaunchCounter, tuned
from bundler.worker.tensors import MOST_OUTPUTS, Inputs, describe, fill_all, to_bytes
from bundler.worker.timer import Timer
from bundler.worker.triton_compile import Compiler

Header = dict[str, Any]


def prepare(flavour: str) -> None:
    """Do once, before any fork, what does not depend on the candidate."""
    if flavour == "device":
        standin.prepare_driver()
        _cuda_support()
    else:
        standin.prepare_compiler()


@functools.cache
def _cuda_support() -> ModuleType | str:
    """What runs CUDA C++, or why it cannot. Loaded before the fork: a confined worker cannot read its files.

    Where NVRTC or cuda.core is not installed, candidates in Triton are judged all the same.
    """
    try:
        cuda = importlib.import_module("bundler.worker.cuda_device")
        cuda.nvrtc.version()
    except Exception as error:  # noqa: BLE001 (cuda-bindings has exceptions of its own for a missing library)
        return f"NVRTC could not be loaded: {error}"[:400]
    try:
        cuda_core.load()
    except cuda_core.Unusable as reason:
        return str(reason)
    return cuda


class Server:
    """One candidate on one ground."""

    def __init__(self, flavour: str) -> None:
        self._standin = standin.Standin(ARCHITECTURES[INTERPRETER_SM])
        self._on_cpu = flavour != "device"
        if self._on_cpu:
            standin.install(self._standin)
        self._launches = LaunchCounter(flavour)
        self._module: ModuleType | None = None
        self._entry: Callable[..., Any] | None = None
        self._compiler = Compiler(self._standin)
        self._timer: Timer | None = None
        self._cuda: Any = None
        """The candidate, where it is in CUDA C++."""

    def answer(self, message: wire.Message) -> tuple[Header, list[bytes]]:
        request, payload = message.header, memoryview(message.payload)
        if request["op"] == "probe":
            return _probe(), []
        if request["op"] == "fit":
            return self._fit(request), []
        if request["op"] == "supports":
            return _supports(), []
        if request["op"] == "load":
            if request.get("language") == "cuda":
                return self._load_cuda(payload.tobytes(), request), []
            return self._load(payload.tobytes(), request["entry"]), []
        if "launch" in request:
            self._cuda.launch = request["launch"]
        if request["op"] == "compile":
            return self._compile(request, payload)
        if request["op"] == "time":
            return self._time(request, payload)
        return self._call(request, payload)

    # --- load --------------------------------------------------------------------------------------

    def _load(self, source: bytes, entry: str) -> Header:
        path = Path("candidate.py")
        path.write_bytes(source)
        try:
            with PoisonFresh(on_cpu=self._on_cpu):
                self._module = _import(path)
            # A module may have a __getattr__ of its own.
            self._entry = getattr(self._module, entry, None)
        except BaseException as error:  # noqa: BLE001 (the worker's edge: a candidate may raise anything)
            return {"raised": faults.describe(error, phase="import")}
        if not callable(self._entry):
            text = f"the module defines no function {entry!r}"
            return {"raised": {"phase": "import", "errors": [["MissingEntry", text]], "resource": None}}
        return {"raised": None, "versions": standin.versions()}

    def _load_cuda(self, source: bytes, request: Header) -> Header:
        """Compile CUDA C++; nothing of it runs before the first call."""
        cuda = _cuda_support()
        if isinstance(cuda, str):
            return {"raised": None, "unsupported": cuda}
        try:
            self._cuda = self._entry = cuda.Kernel(source, request, self._launches.add)
        except cuda.nvrtc.Unsupported as reason:
            return {"raised": None, "unsupported": str(reason)}
        except Exception as error:  # noqa: BLE001 (the worker's edge)
            phase = "compile" if isinstance(error, cuda.nvrtc.CompileFailed) else "launch"
            return {"raised": faults.describe(error, phase=phase)}
        return {"raised": None, "versions": standin.versions()}

    # --- device and interpreter --------------------------------------------------------------------

    def _call(self, request: Header, payload: memoryview) -> tuple[Header, list[bytes]]:
        try:
            arguments = self._arguments(request)
        except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
            return _no_memory(error), []
        calls: list[Header] = []
        parts: list[bytes] = []
        for index in request["calls"]:
            result, data = self._one_call(arguments, request["sets"][index], payload, request["output_bytes"])
            calls.append(result)
            parts += data
            if result["raised"] is not None:
                break
        unusable = bool(calls[-1].pop("sticky", False))
        header = {"calls": calls, "tuned": tuned(self._module), "unusable": unusable}
        return header, parts

    def _fit(self, request: Header) -> Header:
        """Whether the arguments find room in a process that has no candidate."""
        try:
            self._arguments(request)
        except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
            return _no_memory(error)
        return {"no_memory": None}

    def _arguments(self, request: Header) -> list[Inputs | Any]:
        device = "cpu" if self._on_cpu else "cuda"
        return [
            Inputs.allocate(spec, device) if spec["kind"] == "tensor" else _scalar(spec)
            for spec in request["sets"][0]
        ]

    def _one_call(
        self, arguments: list[Any], specs: list[Header], payload: memoryview, output_bytes: int
    ) -> tuple[Header, list[bytes]]:
        tensors = [argument for argument in arguments if isinstance(argument, Inputs)]
        fill_all(arguments, specs, payload)
        before = [tensor.checksum() for tensor in tensors]
        self._launches.count = 0
        try:
            returned = self._invoke(arguments)
            described, parts, fits = _take(returned, output_bytes)
            self._synchronize()
            changed = before != [tensor.checksum() for tensor in tensors]
        except BaseException as error:  # noqa: BLE001 (the worker's edge)
            return {"raised": faults.describe(error), "sticky": faults.is_sticky(error)}, []
        for output in described:
            if self._on_cpu and "device" in output:
                output["device"] = "cuda"
        return {
            "raised": None,
            "outputs": described,
            "sent": fits,
            "launches": self._launches.count,
            "inputs_changed": changed,
        }, parts

    def _invoke(self, arguments: list[Any], *, poison: bool = True) -> Any:
        assert self._entry is not None
        if self._cuda is not None:
            self._cuda.checked = poison
        # Poison takes time, which no timed call is to have.
        with PoisonFresh(on_cpu=self._on_cpu) if poison else contextlib.nullcontext():
            return self._entry(*(a.view if isinstance(a, Inputs) else a for a in arguments))

    def _synchronize(self) -> None:
        if not self._on_cpu:
            torch.cuda.synchronize()

    def _time(self, request: Header, payload: memoryview) -> tuple[Header, list[bytes]]:
        if self._timer is None:
            self._timer = Timer(
                lambda arguments: self._invoke(arguments, poison=False),
                lambda sets: self._arguments({"sets": [sets]}),
            )
        return self._timer.answer(request, payload)

    # --- compile -----------------------------------------------------------------------------------

    def _compile(self, request: Header, payload: memoryview) -> tuple[Header, list[bytes]]:
        try:
            arguments = self._arguments(request)
        except (MemoryError, RuntimeError) as error:
            return _no_memory(error), []
        fill_all(arguments, request["sets"][0], payload)
        return self._compiler.run(lambda: self._invoke(arguments), request["architectures"])


def _take(returned: object, output_bytes: int) -> tuple[list[Header], list[bytes], bool]:
    """What was returned, its bytes, and whether they were few enough to send.

    On a device the bytes are taken in the order of the stream on which the candidate was called, and
    before anything waits for other streams: a result that is not ready there is not ready for a caller.
    """
    outputs = list(returned) if type(returned) in (tuple, list) else [returned]  # type: ignore[call-overload]
    described = [describe(output) for output in outputs[:MOST_OUTPUTS]]
    fits = sum(entry.get("bytes", 0) for entry in described) <= output_bytes
    parts = [to_bytes(o) for o, entry in zip(outputs, described, strict=False) if fits and "bytes" in entry]
    return described, parts, fits


def _no_memory(error: BaseException) -> Header:
    return {"no_memory": faults.text_of(error, 300)}


def _probe() -> Header:
    """The device as torch sees it; ``why_not`` where it sees none."""
    try:
        if torch.version.cuda is None:
            return {"why_not": f"torch {torch.__version__} was built without CUDA"}
        torch.cuda.init()
        major, minor = torch.cuda.get_device_capability()
        free, total = torch.cuda.mem_get_info()
    except (RuntimeError, AssertionError, OSError) as error:
        return {"why_not": f"torch sees no device: {str(error)[:300]}"}
    name = torch.cuda.get_device_name()
    return {"name": name, "sm": 10 * major + minor, "free_bytes": free, "total_bytes": total}


def _supports() -> Header:
    """Whether CUDA C++ can be run on the device, said by a process that has no candidate."""
    cuda = _cuda_support()
    if isinstance(cuda, str):
        return {"unsupported": cuda}
    major, minor = torch.cuda.get_device_capability()
    return {"unsupported": cuda.nvrtc.unsupported(10 * major + minor)}


def _import(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("candidate", path.resolve())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["candidate"] = module
    spec.loader.exec_module(module)
    return module


def _scalar(spec: Header) -> int | float | bool | str | None:
    value: int | float | bool | str | None = spec["value"]
    return float.fromhex(str(value)) if spec["kind"] == "float" else value
