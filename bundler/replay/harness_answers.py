"""What a harness answers, as types: whatever is out of form is the experiment's fault, not a candidate's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import FailFast, Field, StrictBool, StrictInt, StrictStr, StringConstraints, model_validator

from bundler.judge.claims import Raised
from bundler.judge.compare import Array
from bundler.judge.reference import Reference
from bundler.model.base import Frozen
from bundler.model.words import count

_ITEM_BYTES = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1,
    "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "bool": 1,
}  # fmt: skip
_Size = Annotated[int, Field(ge=0, le=1 << 48)]
_Sizes = Annotated[tuple[_Size, ...], FailFast(), Field(max_length=64)]
_Place = tuple[_Size, _Size]
"""Where in the payload: the first byte, and how many."""
_Bits = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{2}){1,8}$")]
_Line = Annotated[int, Field(ge=1, le=1 << 30)]
_Function = Annotated[str, StringConstraints(max_length=100, pattern=r"^[\w.<>]+$")]
_Points = Annotated[tuple[tuple[_Size, _Bits], ...], FailFast(), Field(max_length=200_000)]


class _Tensor(Frozen):
    """A tensor argument, as worker.tensors describes it."""

    kind: Literal["tensor"]
    dtype: Literal[
        "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2",
        "int64", "int32", "int16", "int8", "uint8", "bool",
    ]  # fmt: skip
    shape: _Sizes
    strides: _Sizes
    offset: _Size
    storage: _Size
    gap: _Bits
    data: _Place | None = None
    points: _Points = ()

    @model_validator(mode="after")
    def _sound(self) -> Self:
        count, item = math.prod(self.shape), _ITEM_BYTES[self.dtype]
        if len(self.strides) != len(self.shape):
            raise ValueError(f"{len(self.shape)} dimensions have {len(self.strides)} strides")
        last = sum((size - 1) * stride for size, stride in zip(self.shape, self.strides, strict=True))
        if self.offset + (last + 1 if count else 0) > self.storage:
            raise ValueError(f"a view that ends behind its storage of {self.storage} elements")
        if (self.data is None) != ("points" in self.model_fields_set):
            raise ValueError("a tensor has data or points")
        if self.data is not None and self.data[1] != count * item:
            raise ValueError(f"{self.data[1]} bytes for {count} elements of {self.dtype}")
        bits = [self.gap, *(bits for _, bits in self.points)]
        if any(len(each) != 2 * item for each in bits):
            raise ValueError(f"an element of {self.dtype} has {item} bytes")
        if any(index >= count for index, _ in self.points):
            raise ValueError(f"a point beyond the {count} elements")
        return self

    @property
    def form(self) -> tuple[Any, ...]:
        """What it has in common with the same argument of the other sets: they share its buffer."""
        return (self.dtype, self.shape, self.strides, self.offset, self.storage)

    @property
    def ends(self) -> int:
        """The payload's bytes up to its end."""
        return sum(self.data or ())


class _Float(Frozen):
    kind: Literal["float"]
    value: Annotated[str, StringConstraints(max_length=40)]

    @model_validator(mode="after")
    def _sound(self) -> Self:
        try:
            float.fromhex(self.value)
        except OverflowError:
            raise ValueError(f"{self.value} is no float64") from None
        return self

    @property
    def form(self) -> tuple[Any, ...]:
        return (self.value,)


class _Value(Frozen):
    kind: Literal["value"]
    value: StrictBool | StrictInt | StrictStr | None

    @property
    def form(self) -> tuple[Any, ...]:
        return (type(self.value), self.value)


class _Array(Frozen):
    dtype: Literal["float64", "int64"]
    shape: _Sizes
    data: _Place
    scale: _Place | None = None

    def taken(self, payload: memoryview) -> tuple[Array, Array | None]:
        """The array, and its scale. Raises ValueError where the payload has no such bytes."""
        values = self._from(self.dtype, self.data, payload)
        return values, None if self.scale is None else self._from("float64", self.scale, payload)

    def _from(self, dtype: str, place: tuple[int, int], payload: memoryview) -> Array:
        at, count = place
        flat = np.frombuffer(payload[at : at + count], np.dtype(dtype).newbyteorder("<"))
        return flat.reshape(self.shape)


_Argument = Annotated[_Tensor | _Float | _Value, Field(discriminator="kind")]
_Arguments = Annotated[tuple[_Argument, ...], FailFast(), Field(max_length=128)]
_Arrays = Annotated[tuple[_Array, ...], FailFast(), Field(max_length=32)]


class HarnessAnswer(Frozen):
    """To any request: what was raised, or inputs, arrays, or both."""

    raised: Raised | None
    where: tuple[_Line, _Function] | None = None
    """In the harness, what was raised came from."""
    sets: Annotated[tuple[_Arguments, ...], FailFast(), Field(max_length=8)] = ()
    references: Annotated[tuple[_Arrays, ...], FailFast(), Field(max_length=8)] = ()

    def arguments(self, sets: int, payload: memoryview) -> list[list[dict[str, Any]]]:
        """``sets`` sets of arguments as the wire has them. Raises ValueError for others."""
        if len(self.sets) != sets:
            raise ValueError(f"{len(self.sets)} sets of inputs, not {sets}")
        for which, arguments in enumerate(self.sets):
            if [each.form for each in arguments] != [each.form for each in self.sets[0]]:
                raise ValueError(
                    f"the inputs of set {which} have another form than those of set 0: between the sets "
                    "of a case only the values of its tensors differ"
                )
            if any(isinstance(one, _Tensor) and one.ends > payload.nbytes for one in arguments):
                raise ValueError(f"data beyond the payload's {payload.nbytes} bytes")
        return [
            [one.model_dump(mode="json", exclude_unset=True) for one in arguments] for arguments in self.sets
        ]

    def arrays(self, of: str, sets: int, names: Sequence[str], payload: memoryview) -> tuple[Reference, ...]:
        """``sets`` sets of arrays, one a name. Raises ValueError for others; ``of``: what gave them."""
        if len(self.references) != sets:
            raise ValueError(f"{len(self.references)} sets of arrays, not {sets}")
        for which, arrays in enumerate(self.references):
            if len(arrays) != len(names):
                given = count(len(arrays), "array")
                raise ValueError(f"{of} of set {which} is {given}, not {len(names)}: {', '.join(names)}")
        taken = [[each.taken(payload) for each in arrays] for arrays in self.references]
        return tuple(
            Reference(tuple(a for a, _ in arrays), tuple(scale for _, scale in arrays)) for arrays in taken
        )
