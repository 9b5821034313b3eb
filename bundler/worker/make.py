"""What a harness makes its inputs with: values from a counter-based generator, in a stated layout.

The bits come from NumPy's Philox4x64-10, whose raw stream NumPy promises to keep (NEP 19); the
distributions are integer arithmetic and one division, so that no version of NumPy or libm matters.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_LANE_MEAN = 4 * 65535 / 2
_LANE_DEVIATION = (4 * (65536**2 - 1) / 12) ** 0.5


@dataclass(frozen=True)
class Scaled:
    """A reference with a scale for its absolute tolerance, element by element (or to be broadcast)."""

    values: Array
    scale: Array


@dataclass(frozen=True)
class Tensor:
    """A tensor argument: what the candidate sees as a torch tensor and the reference as an array."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """In elements."""
    offset: int
    storage: int
    """Elements of the buffer that it is a view of."""
    gap: float | int
    """What stands in the buffer outside the view."""
    values: Array | None
    """The elements as NumPy knows them (bfloat16 as the float32 that it equals); None when sparse."""
    points: Mapping[int, float] | None = None
    """Sparse: the elements that differ from ``gap``, by row-major index."""


class Make:
    """Deterministic values for one case and one set of it."""

    def __init__(self, seed: int, case: str, which: int) -> None:
        key = hashlib.sha256(f"{seed}/{case}/{which}".encode()).digest()
        self._bits = np.random.Philox(key=np.frombuffer(key[:16], dtype="<u8").astype(np.uint64))

    def uniform(self, shape: Sequence[int], low: float = 0.0, high: float = 1.0) -> Array:
        """float64, multiples of (high - low) * 2^-24 in [low, high)."""
        raw = self._raw(shape) >> np.uint64(40)
        return low + raw.astype(np.float64) * ((high - low) / (1 << 24))

    def normal(self, shape: Sequence[int]) -> Array:
        """float64, mean 0 and deviation 1: the sum of four 16-bit uniforms, so within 3.47 of 0."""
        raw = self._raw(shape)
        lane = np.uint64(0xFFFF)
        total = raw & lane
        for _ in range(3):
            raw >>= np.uint64(16)
            total += raw & lane
        return (total.astype(np.float64) - _LANE_MEAN) / _LANE_DEVIATION

    def integers(self, shape: Sequence[int], low: int, high: int) -> Array:
        """int64 in [low, high); the bias of the modulus is under 2^-32 for ranges under 2^32."""
        return (self._raw(shape) % np.uint64(high - low)).astype(np.int64) + low

    def _raw(self, shape: Sequence[int]) -> npt.NDArray[np.uint64]:
        count = int(np.prod(shape, dtype=np.int64))
        return np.asarray(self._bits.random_raw(count), dtype=np.uint64).reshape(tuple(shape))

    def tensor(
        self, values: Array, dtype: str = "float32", layout: str = "contiguous", gap: float = float("nan")
    ) -> Tensor:
        """``values`` rounded to ``dtype``, stored in ``layout``.

        contiguous: row-major. transposed: the last two dimensions swapped in memory. sliced: every
        second element of every dimension of a larger buffer, from 1 on, so that no stride is 1.
        expanded: stride 0 along the first dimension; the values are those of its first entry, repeated.
        ``gap`` stands in the elements between; choose what would show if a kernel read it.
        """
        rounded = _round(np.asarray(values), dtype)
        if layout == "expanded":
            rounded = np.broadcast_to(rounded[:1], rounded.shape)
        strides, offset, storage = _place(rounded.shape, layout)
        return Tensor(dtype, rounded.shape, strides, offset, storage, gap, rounded)

    def sparse(
        self, shape: Sequence[int], fill: float, points: Mapping[int, float], *, dtype: str = "float32",
        layout: str = "contiguous",
    ) -> Tensor:  # fmt: skip
        """A tensor too large to send: ``fill`` everywhere but at ``points`` (row-major index to value)."""
        strides, offset, storage = _place(tuple(shape), layout)
        return Tensor(dtype, tuple(shape), strides, offset, storage, fill, None, dict(points))


def _round(values: Array, dtype: str) -> Array:
    if dtype == "bfloat16":
        return _from_bfloat16(_to_bfloat16(values))
    return np.asarray(values, dtype=np.dtype(dtype), order="C")


def _place(shape: tuple[int, ...], layout: str) -> tuple[tuple[int, ...], int, int]:
    """Strides, offset and storage size, all in elements."""
    if layout == "contiguous":
        return _row_major(shape), 0, int(np.prod(shape, dtype=np.int64))
    if layout == "transposed":
        swapped = (*shape[:-2], shape[-1], shape[-2])
        *outer, inner, last = _row_major(swapped)
        return (*outer, last, inner), 0, int(np.prod(shape, dtype=np.int64))
    if layout == "sliced":
        full = tuple(2 * size + 1 for size in shape)
        strides = _row_major(full)
        storage = int(np.prod(full, dtype=np.int64))
        return tuple(2 * stride for stride in strides), min(sum(strides), storage), storage
    if layout == "expanded":
        return (0, *_row_major(shape)[1:]), 0, int(np.prod(shape[1:], dtype=np.int64))
    raise ValueError(f"{layout!r} is no layout: contiguous, transposed, sliced or expanded")


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides = [1]
    for size in reversed(shape[1:]):
        strides.append(strides[-1] * max(size, 1))
    return tuple(reversed(strides)) if shape else ()


def _to_bfloat16(values: Array) -> Array:
    """The bits, rounded to nearest, ties to even; NaN stays NaN."""
    bits = values.astype(np.float32).view(np.uint32)
    rounded = ((bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), np.uint16(0x7FC0), rounded)


def _from_bfloat16(bits: Array) -> Array:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def to_bits(values: Array, dtype: str) -> bytes:
    """Little-endian bytes of ``values`` as ``dtype`` stores them."""
    if dtype == "bfloat16":
        return _to_bfloat16(values).astype("<u2").tobytes()
    return np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<")).tobytes()
