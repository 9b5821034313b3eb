"""How an experiment calls a kernel in CUDA C++: its arguments, its launch, the compiler's options."""

from __future__ import annotations

import enum
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from bundler.model.base import Frozen, Name

Expression = Annotated[str | int, Field(union_mode="left_to_right")]
"""An integer, or arithmetic over a case's parameters: names, integers, ``+ - * // %``, ``min``, ``max``, and
``shape(i, d)`` and ``stride(i, d)`` of the harness's argument ``i`` (strides in elements)."""

Option = Annotated[
    str,
    StringConstraints(
        max_length=200,
        pattern=r"^(-D[A-Za-z_][A-Za-z0-9_]*(=[^\s]*)?|-U[A-Za-z_][A-Za-z0-9_]*|--?use_fast_math"
        r"|--?(ftz|prec-div|prec-sqrt|fmad)=(true|false)|--?maxrregcount=[0-9]{1,3}|--?std=c\+\+[0-9]{2}"
        r"|--?(restrict|extra-device-vectorization|default-device|device-as-default-execution-space)"
        r"|--ptxas-options=-O[0-3])$",
    ),
]
"""An option of NVRTC's that changes what is computed, and neither reads nor writes files, nor names another
architecture than the ground's."""


class Scalar(enum.StrEnum):
    """C types of a kernel's scalar parameters."""

    INT = "int"
    UNSIGNED = "unsigned int"
    LONG_LONG = "long long"
    UNSIGNED_LONG_LONG = "unsigned long long"
    FLOAT = "float"
    DOUBLE = "double"


class Initial(enum.StrEnum):
    """What stands in an output before the launch."""

    POISON = "poison"
    """A pattern that no right answer has."""
    ZERO = "zero"


class CudaArgument(Frozen):
    """One parameter of the kernel: exactly one of ``input``, ``output`` and ``value`` says what it gets."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]*$", max_length=100)]
    """As in the kernel's source; only read by people."""
    input: int | None = Field(None, ge=0)
    """A pointer to the harness's argument of this index, which is a tensor."""
    output: Name | None = None
    """A pointer to the returned tensor of this name, contiguous, with the shape of the reference."""
    initial: Initial = Initial.POISON
    """Outputs only."""
    value: Expression | float | None = None
    """A scalar: an expression of the case, or the name of a parameter that is a number."""
    type: Scalar = Scalar.INT
    """Scalars only."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if [self.input, self.output, self.value].count(None) != 2:
            raise ValueError(f"argument {self.name!r}: give one of input, output and value")
        return self

    @property
    def kernel_bytes(self) -> tuple[int, int]:
        """The least and the most bytes that this parameter may have in the kernel: C++ converts integers."""
        if self.value is None or self.type is Scalar.DOUBLE:
            return (8, 8)
        return (4, 4) if self.type is Scalar.FLOAT else (1, 8)


class CudaCall(Frozen):
    """The launch of an ``extern "C" __global__`` function, as its caller in the base task does it."""

    arguments: tuple[CudaArgument, ...] = Field(min_length=1, max_length=64)
    grid: tuple[Expression, ...] = Field(min_length=1, max_length=3)
    """Blocks in x, y, z."""
    block: tuple[Expression, ...] = Field(min_length=1, max_length=3)
    """Threads of a block in x, y, z."""
    shared_bytes: Expression = 0
    """Dynamic shared memory of a block."""
    options: tuple[Option, ...] = Field((), max_length=50)
    """For NVRTC, beside the architecture: macros, arithmetic, registers, the language's version."""
