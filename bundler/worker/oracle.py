"""Serve an experiment's harness: the inputs of a case and its reference, in a process of their own.

The harness is its author's code and is confined like a candidate, but it never meets one: inputs and
reference go to the judge, and only the inputs go on.
"""

from __future__ import annotations

import types
from dataclasses import replace
from typing import Any

import numpy as np

from bundler.worker import faults, wire
from bundler.worker.make import Array, Make, Scaled, Tensor, to_bits

Header = dict[str, Any]
_FILE = "harness.py"


def prepare(flavour: str) -> None:
    """Nothing to do before a fork: NumPy is imported."""


class Server:
    """One experiment's harness."""

    def __init__(self, flavour: str) -> None:
        self._harness = types.ModuleType("harness")
        self._harness.__dict__["Scaled"] = Scaled
        self._arguments: dict[tuple[str, int], list[Any]] = {}

    def answer(self, message: wire.Message) -> tuple[Header, list[bytes]]:
        request = message.header
        try:
            if request["op"] == "load":
                exec(compile(bytes(message.payload), _FILE, "exec"), self._harness.__dict__)  # noqa: S102
                return {"raised": None}, []
            if request["op"] == "derive":
                return self._derive(request, memoryview(message.payload))
            return self._case(request)
        except BaseException as error:  # noqa: BLE001 (the worker's edge: a harness may raise anything)
            return {"raised": faults.describe(error, phase="run"), "where": _where(error)}, []

    def _case(self, request: Header) -> tuple[Header, list[bytes]]:
        """Inputs, and with ``reference`` the answers, of every set of a case."""
        parts = _Parts()
        sets: list[list[Header]] = []
        references: list[list[Header]] = []
        answers = {"reference": "reference", "cross-check": "cross_check"}
        for which in range(request["sets"]):
            arguments = self._inputs(request, which)
            sets.append([_argument(a, parts, request["stand_in"]) for a in arguments])
            if request["answer"] in answers:
                name = answers[request["answer"]]
                references.append(self._answers(name, request, which, arguments, parts=parts))
        return {"raised": None, "sets": sets, "references": references}, parts.data

    def _derive(self, request: Header, payload: memoryview) -> tuple[Header, list[bytes]]:
        """What the harness makes of one call's returned tensors, which come as float64 or int64 arrays."""
        outputs = []
        for each in request["outputs"]:
            at, count = each["data"]
            flat = np.frombuffer(payload[at : at + count], dtype=np.dtype(each["dtype"]).newbyteorder("<"))
            outputs.append(flat.reshape(each["shape"]))
        arguments = self._inputs(request, request["which"])
        parts = _Parts()
        derived = self._answers("derive", request, request["which"], arguments, outputs, parts=parts)
        return {"raised": None, "references": [derived]}, parts.data

    def _answers(self, name: str, request: Header, *given: Any, parts: _Parts) -> list[Header]:
        """The arrays that a function gives."""
        compute = self._function(name)
        with np.errstate(all="ignore"):
            answer = compute(dict(request["params"]), *given)
        if answer is None:
            raise TypeError(f"{name} returned None, not an array or a tuple of them")
        return [_answer(array, parts) for array in (answer if isinstance(answer, tuple) else (answer,))]

    def _function(self, name: str) -> Any:
        if name not in self._harness.__dict__:
            raise NameError(f"it defines no function {name!r}")
        return self._harness.__dict__[name]

    def _inputs(self, request: Header, which: int) -> list[Any]:
        """The arguments of one set. Those of the case that was asked for last are kept for ``derive``."""
        case = request["case"]
        if (case, which) not in self._arguments:
            if any(name != case for name, _ in self._arguments):
                self._arguments.clear()
            make = Make(request["seed"], case, which)
            drawn = self._function("inputs")(dict(request["params"]), which, make)
            if not isinstance(drawn, list | tuple):
                raise TypeError(f"inputs returned a {type(drawn).__name__}, not a list of arguments")
            self._arguments[case, which] = [_read_only(argument) for argument in drawn]
        return list(self._arguments[case, which])


def _read_only(argument: Any) -> Any:
    """A tensor whose values a harness cannot change in place: later answers are made from them too."""
    if not isinstance(argument, Tensor):
        if not isinstance(argument, int | float | str | None):
            made = type(argument).__name__
            raise TypeError(f"inputs returned a {made} in its list: make.tensor makes a tensor of an array")
        return argument
    points = None if argument.points is None else types.MappingProxyType(dict(argument.points))
    values = None if argument.values is None else argument.values.view()
    if values is not None:
        values.flags.writeable = False
    return replace(argument, values=values, points=points)


def _where(error: BaseException) -> tuple[int, str] | None:
    """The line of the harness where it was raised, and the function; None where nothing of it was running."""
    found = None
    if isinstance(error, SyntaxError) and error.filename == _FILE and error.lineno:
        found = (error.lineno, "<module>")
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == _FILE:
            found = (trace.tb_lineno, code.co_qualname.replace(".<locals>", "")[:100])
        trace = trace.tb_next
    return found


class _Parts:
    """The payload as it grows."""

    def __init__(self) -> None:
        self.data: list[bytes] = []
        self._at = 0

    def add(self, data: bytes) -> list[int]:
        """Append ``data``; where it lies: offset and bytes."""
        place = [self._at, len(data)]
        self.data.append(data)
        self._at += len(data)
        return place


def _argument(argument: Tensor | int | float | str | bool | None, parts: _Parts, stand_in: bool) -> Header:
    if not isinstance(argument, Tensor):
        if isinstance(argument, float):
            return {"kind": "float", "value": float(argument).hex()}
        return {"kind": "value", "value": argument}
    spec: Header = {
        "kind": "tensor",
        "dtype": argument.dtype,
        "shape": list(argument.shape),
        "strides": list(argument.strides),
        "offset": argument.offset,
        "storage": argument.storage,
        "gap": _bits(argument.gap, argument.dtype),
    }
    # To compile, a wrapper needs shapes and strides, and the values of index tensors at most.
    if stand_in and argument.dtype.lstrip("b").startswith("float"):
        return spec | {"gap": _bits(0, argument.dtype), "points": []}
    if argument.values is None:
        return spec | {"points": [[i, _bits(v, argument.dtype)] for i, v in (argument.points or {}).items()]}
    return spec | {"data": parts.add(to_bits(argument.values, argument.dtype))}


def _bits(value: float | int, dtype: str) -> str:
    integral = not dtype.lstrip("b").startswith("float")
    return to_bits(np.asarray([int(value) if integral and value == value else value]), dtype).hex()  # noqa: PLR0124


def _answer(answer: Array | Scaled, parts: _Parts) -> Header:
    if isinstance(answer, Scaled):
        values = np.asarray(answer.values)
        scale = np.broadcast_to(np.asarray(answer.scale, dtype=np.float64), values.shape)
        # An endless tolerance would make anything right.
        if (np.isfinite(values) & ~(np.isfinite(scale) & (scale >= 0))).any():
            raise ValueError("a scale is negative, infinite or NaN where the reference is finite")
        return _answer(values, parts) | {"scale": parts.add(scale.astype("<f8").tobytes())}
    dense = np.asarray(answer)
    if dense.dtype.kind not in "biuf":
        raise TypeError(f"an array of {dense.dtype} is no answer: numbers and bool are")
    kind = "int64" if dense.dtype.kind in "iub" else "float64"
    if dense.dtype == np.uint64 and dense.size and int(dense.max()) >= 1 << 63:
        raise ValueError(f"{dense.max()} is beyond int64")
    data = np.ascontiguousarray(dense, dtype=np.dtype(kind).newbyteorder("<")).tobytes()
    return {"dtype": kind, "shape": list(dense.shape), "data": parts.add(data)}
