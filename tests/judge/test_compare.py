"""The stated rule for every odd value, one line each."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bundler.judge.compare import compare, decode, round_to
from bundler.model.experiment import Comparison

NAN, INF = math.nan, math.inf
LOOSE = {"atol": 1e-3, "rtol": 1e-3}
RELATIVE = {"rtol": 1e-3}
EXACT: dict[str, float] = {}


def _wrong(output: float, reference: float, dtype: str = "float32", **rule: object) -> int:
    comparison = Comparison.model_validate({"nan": "equal", "reason": ""} | rule)
    return compare(np.array([output]), np.array([reference]), dtype, comparison).wrong


@pytest.mark.parametrize(
    ("output", "reference", "rule", "wrong"),
    [
        # Finite numbers.
        (1.0, 1.0, EXACT, 0),
        (1.0 + 2**-23, 1.0, EXACT, 1),
        (1.001, 1.0, LOOSE, 0),
        (1.0021, 1.0, LOOSE, 1),
        (0.001, 0.0, {"atol": 0.001}, 0),
        (0.0011, 0.0, {"atol": 0.001}, 1),
        # NaN: right exactly where the reference is NaN, where the experiment says so.
        (NAN, NAN, {"nan": "equal"}, 0),
        (NAN, NAN, {"nan": "forbidden"}, 1),
        (NAN, NAN, LOOSE | {"nan": "forbidden"}, 1),
        (0.0, NAN, LOOSE, 1),
        (INF, NAN, LOOSE, 1),
        (NAN, 0.0, LOOSE, 1),
        (NAN, INF, LOOSE, 1),
        (NAN, 0.0, {"atol": 1e300}, 1),
        # Infinity: right exactly where the reference is the same infinity; no tolerance reaches it.
        (INF, INF, EXACT, 0),
        (INF, INF, LOOSE, 0),
        (-INF, INF, LOOSE, 1),
        (INF, -INF, {"rtol": 1e300}, 1),
        (INF, 3.4e38, {"rtol": 1.0}, 1),
        (3.4e38, INF, {"rtol": 1.0}, 1),
        (0.0, INF, {"rtol": 1.0}, 1),
        # Beyond float32 the reference is stored as infinity, and infinity is then right.
        (INF, 1e39, LOOSE, 0),
        (-INF, 1e39, LOOSE, 1),
        (3.4e38, 1e39, LOOSE, 1),
        # Zero.
        (-0.0, 0.0, EXACT, 0),
        (-0.0, 0.0, {"zero": "signed"}, 1),
        (0.0, -0.0, {"zero": "signed"}, 1),
        (-0.0, -0.0, {"zero": "signed"}, 0),
        (-0.0, 1e-60, {"zero": "signed"}, 1),
        # A relative tolerance alone: an exact zero is right, and nothing else is where the reference is 0.
        (0.0, 0.0, RELATIVE, 0),
        (-0.0, 0.0, RELATIVE, 0),
        (1e-30, 0.0, RELATIVE, 1),
        (0.0, 1e-30, RELATIVE, 1),
        (1e-30, 1e-30, RELATIVE, 0),
        # What float32 cannot hold is right as float32 holds it.
        (float(np.float32(0.1)), 0.1, EXACT, 0),
        (0.0, 1e-60, EXACT, 0),
    ],
)
def test_one_element(output: float, reference: float, rule: dict[str, object], wrong: int) -> None:
    assert _wrong(output, reference, **rule) == wrong


@pytest.mark.parametrize(
    ("dtype", "reference", "stored"),
    [
        ("float16", 65519.9, 65504.0),
        ("float16", 65520.0, INF),
        ("float16", 2049.0, 2048.0),
        ("bfloat16", 1.00390625, 1.0),
        ("bfloat16", 1.01171875, 1.015625),
        ("bfloat16", 3.4e38, INF),
        ("bfloat16", NAN, NAN),
        ("float32", 16777217.0, 16777216.0),
        ("float64", 0.1, 0.1),
    ],
)
def test_rounding_to_the_output_dtype(dtype: str, reference: float, stored: float) -> None:
    assert np.array_equal(round_to(np.array([reference]), dtype), np.array([stored]), equal_nan=True)


def test_integers_are_compared_exactly() -> None:
    assert _wrong(3, 3, "int32") == 0
    assert _wrong(4, 3, "int32", atol=5.0) == 1


@pytest.mark.parametrize(
    ("output", "reference", "wrong"),
    [
        (2**53, 2.0**53, 0),
        (2**53 + 1, 2.0**53, 1),  # as float64 it would be 2^53
        (2**63 - 1, 2.0**63, 1),
        (-(2**63), -(2.0**63), 0),
        (0, 0.5, 1),
        (0, NAN, 1),
        (0, -INF, 1),
        (0, -0.0, 0),
    ],
)
def test_integers_are_compared_exactly_with_a_float_reference(
    output: int, reference: float, wrong: int
) -> None:
    rule = Comparison.model_validate({"nan": "equal", "reason": ""})
    whole, real = np.array([output], dtype=np.int64), np.array([reference])
    assert compare(whole, real, "int64", rule).wrong == wrong
    assert compare(real, whole, "int64", rule).wrong == wrong  # a derived array may be the float


def test_nan_count_error_and_place() -> None:
    reference = np.zeros((2, 3))
    output = np.array([[0.0, 0.0, 0.0], [0.0, NAN, 0.5]])
    found = compare(output, reference, "float32", Comparison(atol=0.25, nan="equal", reason=""))  # type: ignore[arg-type]
    assert (found.elements, found.wrong, found.nan, found.error) == (6, 2, 1, 2.0)
    assert found.worst == "[1, 1] is nan, not 0.0"


def test_nothing_to_compare() -> None:
    found = compare(np.zeros((0, 4)), np.zeros((0, 4)), "float32", Comparison(nan="equal", reason=""))  # type: ignore[arg-type]
    assert (found.elements, found.wrong, found.error) == (0, 0, None)


def test_a_scalar() -> None:
    found = compare(np.array(2.0), np.array(1.0), "float32", Comparison(nan="equal", reason=""))  # type: ignore[arg-type]
    assert found.wrong == 1
    assert found.worst == "[] is 2.0, not 1.0"


@pytest.mark.parametrize(
    ("dtype", "data", "value"),
    [
        ("bfloat16", "803f", 1.0),
        ("bfloat16", "80ff", -INF),
        ("float16", "003c", 1.0),
        ("float32", "0000803f", 1.0),
        ("float64", "000000000000f03f", 1.0),
        ("int64", "ffffffffffffffff", -1.0),
        ("int8", "80", -128.0),
        ("uint8", "ff", 255.0),
        ("bool", "01", 1.0),
    ],
)
def test_decode(dtype: str, data: str, value: float) -> None:
    assert decode(bytes.fromhex(data), dtype, (1,)).tolist() == [value]


def test_decode_refuses_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="reshape"):
        decode(bytes(8), "float32", (3,))
    with pytest.raises(ValueError, match="multiple"):
        decode(bytes(5), "float32", (1,))


@given(st.floats(width=32), st.floats(width=32), st.floats(0, 1), st.floats(0, 1))
def test_the_rule_as_it_is_written(output: float, reference: float, atol: float, rtol: float) -> None:
    if math.isnan(reference) or math.isnan(output):
        right = math.isnan(reference) and math.isnan(output)
    elif math.isinf(reference) or math.isinf(output):
        right = reference == output
    else:
        right = abs(output - reference) <= atol + rtol * abs(reference)
    assert _wrong(output, reference, atol=atol, rtol=rtol) == (not right)


@given(st.binary(min_size=4, max_size=4))
@example(bytes.fromhex("0000a07f"))  # a signalling NaN
def test_any_bits_are_right_for_themselves(bits: bytes) -> None:
    value = struct.unpack("<f", bits)[0]
    output = decode(bits, "float32", (1,))
    rule = Comparison(nan="equal", zero="signed", reason="")  # type: ignore[arg-type]
    assert compare(output, np.array([float(value)]), "float32", rule).wrong == 0


def test_what_equals_the_rounded_reference_has_no_error() -> None:
    """1e-50 is 0 in float32: right, though a hundred tolerances from the reference."""
    rule = Comparison(atol=1e-52, nan="forbidden", reason="")  # type: ignore[arg-type]
    agreement = compare(np.array([0.0]), np.array([1e-50]), "float32", rule)
    assert (agreement.wrong, agreement.error) == (0, 0.0)
