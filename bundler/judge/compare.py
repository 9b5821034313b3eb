"""One output against its float64 reference, by the experiment's stated rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bundler.model.experiment import Comparison, NanRule, ZeroRule

Array = npt.NDArray[Any]

INTEGRAL = frozenset({"int64", "int32", "int16", "int8", "uint8", "bool"})


@dataclass(frozen=True)
class Agreement:
    """How far an output is right."""

    elements: int
    wrong: int
    nan: int
    """Elements that are NaN where the reference is not."""
    error: float | None
    """The largest finite error in units of the tolerance; None where there was nothing to measure."""
    worst: str
    """The first wrong element in words; empty when none is."""


_FLOAT8 = {"float8_e4m3fn": (4, 3, 448.0), "float8_e5m2": (5, 2, 57344.0)}
"""Exponent bits, mantissa bits, largest finite value: the OCP 8-bit floating point specification, 1.0."""


def _float8_values(dtype: str) -> Array:
    """What each of the 256 bit patterns stands for, as float64; e4m3fn has no infinity."""
    exponent_bits, mantissa_bits, _ = _FLOAT8[dtype]
    bits = np.arange(256)
    exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1)
    mantissa = bits & ((1 << mantissa_bits) - 1)
    bias = (1 << (exponent_bits - 1)) - 1
    fraction = mantissa / (1 << mantissa_bits)
    values = np.where(
        exponent == 0, np.ldexp(fraction, 1 - bias), np.ldexp(1 + fraction, exponent.astype(np.int64) - bias)
    )
    if dtype == "float8_e4m3fn":
        values[bits & 0x7F == 0x7F] = np.nan
    else:
        top = exponent == (1 << exponent_bits) - 1
        values[top] = np.where(mantissa[top] == 0, np.inf, np.nan)
    return np.where(bits >> 7 == 1, -values, values)


def decode(data: bytes | memoryview, dtype: str, shape: tuple[int, ...]) -> Array:
    """Little-endian bytes as float64, or int64 for integral dtypes."""
    if dtype in _FLOAT8:
        return _float8_values(dtype)[np.frombuffer(data, dtype=np.uint8)].reshape(shape)
    with np.errstate(invalid="ignore"):  # a signalling NaN is a value like any other
        if dtype == "bfloat16":
            bits = np.frombuffer(data, dtype="<u2").astype(np.uint32) << 16
            return bits.view(np.float32).astype(np.float64).reshape(shape)
        raw = np.frombuffer(data, dtype=np.dtype(dtype).newbyteorder("<")).reshape(shape)
        return raw.astype(np.int64 if dtype in INTEGRAL else np.float64)


def round_to(reference: Array, dtype: str) -> Array:
    """The reference as ``dtype`` would store it, again as float64; beyond its range it is infinite."""
    if dtype in INTEGRAL or dtype == "float64":
        return reference
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype == "bfloat16":
            return _round_to_bfloat16(reference)
        if dtype in _FLOAT8:
            return _round_to_float8(reference, dtype)
        return reference.astype(np.dtype(dtype)).astype(np.float64)


def as_stored(reference: Array, dtype: str) -> Array:
    """The reference as ``decode`` gives it where it is returned as ``dtype``."""
    with np.errstate(invalid="ignore"):
        return round_to(reference, dtype).astype(np.int64 if dtype in INTEGRAL else np.float64)


def _round_to_bfloat16(reference: Array) -> Array:
    bits = reference.astype(np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(reference), np.nan, rounded.view(np.float32).astype(np.float64))


def _round_to_float8(reference: Array, dtype: str) -> Array:
    """Nearest, ties to even; beyond the largest finite value that value, as the saturating conversions do."""
    exponent_bits, mantissa_bits, largest = _FLOAT8[dtype]
    _, exponent = np.frexp(reference)
    least = 2 - (1 << (exponent_bits - 1))
    step = np.ldexp(1.0, np.maximum(exponent - 1, least) - mantissa_bits)
    return np.asarray(np.clip(np.rint(reference / step) * step, -largest, largest))


def compare(
    output: Array, reference: Array, dtype: str, rule: Comparison, scale: Array | float = 1.0
) -> Agreement:
    """Hold ``output`` (decoded) against ``reference``; both have one shape, ``scale`` broadcasts to it."""
    if dtype in INTEGRAL:
        return _agreement(output, reference, _exactly(output, reference), None, 0)
    stored = round_to(reference, dtype)
    right, error = _right(output, reference, stored, rule, scale)
    nan = int(np.count_nonzero(np.isnan(output) & ~np.isnan(reference)))
    return _agreement(output, stored, right, error, nan)


def _exactly(output: Array, reference: Array) -> Array:
    """Which elements are the same number. Never by way of float64, where 2^53 + 1 would be 2^53."""
    if {output.dtype.kind, reference.dtype.kind} != {"i", "f"}:
        return np.asarray(output == reference)
    whole, real = (output, reference) if output.dtype.kind == "i" else (reference, output)
    # A float64 is an int64 where it has no fraction and lies in its range, whose end is no int64 any more.
    fits = (np.floor(real) == real) & (real >= -(2.0**63)) & (real < 2.0**63)
    return np.asarray(fits & (whole == np.where(fits, real, 0.0).astype(np.int64)))


def _right(
    output: Array, reference: Array, stored: Array, rule: Comparison, scale: Array | float
) -> tuple[Array, float | None]:
    """Which elements are right, and the largest error in units of the tolerance."""
    finite = np.isfinite(stored) & np.isfinite(output)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        tolerance = rule.atol * scale + rule.rtol * np.abs(reference)
        # What equals the rounded reference is right to the last bit, however small the tolerance is there.
        distance = np.where(output == stored, 0.0, np.abs(output - reference))
        within = (output == stored) | (finite & (distance <= tolerance))
        scaled = distance[finite] / tolerance[finite] if rule.atol or rule.rtol else np.empty(0)
    is_nan = np.isnan(reference)
    right = np.where(is_nan, np.isnan(output) & (rule.nan is NanRule.EQUAL), within)
    if rule.zero is ZeroRule.SIGNED:
        zero = (stored == 0) & (output == 0)
        right &= ~zero | (np.signbit(stored) == np.signbit(output))
    measured = scaled[np.isfinite(scaled)]
    return right, float(measured.max()) if measured.size else None


def _agreement(output: Array, expected: Array, right: Array, error: float | None, nan: int) -> Agreement:
    wrong = int(right.size - np.count_nonzero(right))
    worst = ""
    if wrong:
        first = np.unravel_index(int(np.argmin(right.reshape(-1))), right.shape)
        at = ", ".join(str(int(index)) for index in first)
        worst = f"[{at}] is {output[first]!s}, not {expected[first]!s}"
    return Agreement(int(right.size), wrong, nan, error, worst)
