"""How a CUDA C++ kernel is launched on one case: the declaration's expressions as numbers. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bundler.errors import BadExperiment
from bundler.model.cuda import CudaArgument, CudaCall, Scalar
from bundler.model.experiment import Case, Experiment
from bundler.model.expression import BadExpression, Extents, Number, evaluate
from bundler.model.words import count

MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_BLOCK = (1024, 1024, 64)
MAX_THREADS = 1024
"""CUDA C++ Programming Guide, Technical Specifications per Compute Capability: the same on all from 7.5."""
WARP = 32
_RANGES = {
    Scalar.INT: (-(2**31), 2**31 - 1),
    Scalar.UNSIGNED: (0, 2**32 - 1),
    Scalar.LONG_LONG: (-(2**63), 2**63 - 1),
    Scalar.UNSIGNED_LONG_LONG: (0, 2**64 - 1),
}
_MOST_SHARED = (1 << 31) - 1

Specs = Sequence[dict[str, Any]]
"""The harness's arguments, as the wire describes them."""


@dataclass(frozen=True)
class Shape:
    """Grid, block and dynamic shared memory of one launch."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int

    @property
    def warps(self) -> int:
        """Warps of a block, the last one perhaps not full."""
        return -(-math.prod(self.block) // WARP)


def shape_of(experiment: Experiment, case: Case, arguments: Specs) -> Shape:
    """The launch's shape on ``case``. Raises BadExperiment, quoting the expression and the case."""
    terms = _Terms(experiment, case, arguments)
    call = terms.call
    grid = terms.extents("grid", call.grid, MAX_GRID)
    block = terms.extents("block", call.block, MAX_BLOCK)
    if math.prod(block) > MAX_THREADS:
        raise terms.bad(f"block is {block}, over {MAX_THREADS} threads")
    return Shape(grid, block, terms.whole("shared_bytes", call.shared_bytes, 0, _MOST_SHARED))


def depends_on_tensors(experiment: Experiment) -> bool:
    """Whether the launch's shape asks for a tensor's shape or strides: else a case's parameters will do."""
    call = experiment.cuda
    assert call is not None
    expressions = (*call.grid, *call.block, call.shared_bytes)
    return any(name in str(one) for one in expressions for name in ("shape", "stride"))


def check_inputs(experiment: Experiment, case: Case, arguments: Specs) -> None:
    """Raise BadExperiment where an argument is an input of the harness that is no tensor, or is not there."""
    terms = _Terms(experiment, case, arguments)
    for argument in terms.call.arguments:
        if argument.input is not None:
            terms.pointer(argument.name, argument.input)


def launch_of(
    experiment: Experiment, case: Case, arguments: Specs, shapes: Sequence[tuple[int, ...]]
) -> dict[str, Any]:
    """The launch as the worker is told of it: numbers only. ``shapes`` are those of what is returned.

    Raises BadExperiment, quoting the expression and the case.
    """
    terms = _Terms(experiment, case, arguments)
    shape = shape_of(experiment, case, arguments)
    outputs = {
        returned.name: {"dtype": returned.dtype, "shape": list(size)}
        for returned, size in zip(experiment.returns, shapes, strict=False)
    }
    return {
        "grid": list(shape.grid),
        "block": list(shape.block),
        "shared_bytes": shape.shared_bytes,
        "arguments": [terms.argument(argument, outputs) for argument in terms.call.arguments],
        "returns": [
            next(i for i, a in enumerate(terms.call.arguments) if a.output == returned.name)
            for returned in experiment.returns
        ],
    }


class _Terms:
    """One case's numbers."""

    def __init__(self, experiment: Experiment, case: Case, arguments: Specs) -> None:
        assert experiment.cuda is not None  # the caller has a candidate in CUDA C++
        self.call: CudaCall = experiment.cuda
        self._case = case
        self._tensors = [
            Extents(tuple(a["shape"]), tuple(a["strides"])) if a["kind"] == "tensor" else None
            for a in arguments
        ]

    def bad(self, problem: str) -> BadExperiment:
        return BadExperiment(
            f"case {self._case.id!r}: cuda: {problem}",
            hint="correct the cuda block of experiment.yaml, or the case's parameters",
        )

    def number(self, what: str, expression: str | Number) -> Number:
        try:
            return evaluate(expression, self._case.params, self._tensors)
        except BadExpression as why:
            raise self.bad(f"{what} {expression!r}: {why}") from None

    def whole(self, what: str, expression: str | Number, least: int, most: int) -> int:
        value = self.number(what, expression)
        if not isinstance(value, int) or not least <= value <= most:
            raise self.bad(f"{what} {expression!r} is {value}, not a whole number from {least} to {most}")
        return value

    def extents(
        self, what: str, expressions: Sequence[str | int], most: tuple[int, int, int]
    ) -> tuple[int, int, int]:
        """Three of them: those that are not declared are 1."""
        padded = [*expressions, 1, 1][:3]
        x, y, z = (
            self.whole(f"{what}.{axis}", expression, 1, limit)
            for axis, expression, limit in zip("xyz", padded, most, strict=True)
        )
        return x, y, z

    def argument(self, argument: CudaArgument, outputs: dict[str, dict[str, Any]]) -> dict[str, Any]:
        """One parameter of the kernel, on the wire."""
        if argument.output is not None:
            if argument.output not in outputs:
                raise self.bad(
                    f"argument {argument.name!r} is the output {argument.output!r}, which is not returned"
                )
            return {"output": outputs[argument.output] | {"initial": argument.initial.value}}
        if argument.input is not None:
            return {"input": self.pointer(argument.name, argument.input)}
        assert argument.value is not None  # the model takes no argument without one of the three
        return {
            "scalar": argument.type.value,
            "value": self._scalar(argument.name, argument.value, argument.type),
        }

    def pointer(self, name: str, index: int) -> int:
        """``index``, where the harness gives a tensor."""
        if index >= len(self._tensors) or self._tensors[index] is None:
            given = sum(tensor is not None for tensor in self._tensors)
            raise self.bad(
                f"argument {name!r} is input {index}, which is no tensor: "
                f"the harness gives {count(given, 'tensor')}, and inputs count from 0"
            )
        return index

    def _scalar(self, name: str, value: str | Number, kind: Scalar) -> int | str:
        """Floating-point numbers go as hexadecimal text, to the bit."""
        if kind in _RANGES:
            return self.whole(f"argument {name!r}", value, *_RANGES[kind])
        return float(self.number(f"argument {name!r}", value)).hex()
