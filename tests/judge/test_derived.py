"""Scales, derived arrays, 8-bit floats: what goes beyond one tensor against one reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bundler.judge.cell import judge_arrays, judge_cell
from bundler.judge.claims import CellClaim
from bundler.judge.compare import as_stored, compare, decode, round_to
from bundler.judge.reference import NotDerived, Reference, unreachable
from bundler.model.experiment import Comparison, Experiment, NanRule
from bundler.model.outcome import Passed, Unstable, Wrong

Make = Callable[..., Experiment]
RULE = {"atol": 1e-3, "rtol": 0, "nan": "forbidden", "reason": "a test"}
ROUNDED = Comparison(nan=NanRule.FORBIDDEN, reason="a test")


def _claim(outputs: list[dict[str, Any]], calls: int) -> CellClaim:
    form = {"type": "torch.Tensor", "strides": [1], "device": "cuda"}
    call = {"raised": None, "sent": True, "launches": 1, "outputs": [form | each for each in outputs]}
    return CellClaim.model_validate({"calls": [call] * calls}, strict=False)


@pytest.mark.parametrize(
    ("scale", "wrong"), [(None, 2), (np.array([1.0, 100.0]), 1), (np.array([100.0] * 2), 0)]
)
def test_the_absolute_tolerance_is_scaled_by_element(scale: Any, wrong: int) -> None:
    rule = Comparison.model_validate(RULE, strict=False)
    output, reference = np.array([1.05, 5.05]), np.array([1.0, 5.0])
    agreement = compare(output, reference, "float32", rule, 1.0 if scale is None else scale)
    assert agreement.wrong == wrong


def test_a_cell_is_judged_with_the_references_scale(make_experiment: Make) -> None:
    returns = [{"name": "out", "dtype": "float32", "compare": RULE}]
    claim = _claim([{"dtype": "float32", "shape": [2], "bytes": 8}], 1)
    data = memoryview(np.array([1.05, 5.05], "<f4").tobytes())
    for scale, kind in ((None, Wrong), (np.array([100.0, 100.0]), Passed)):
        reference = Reference((np.array([1.0, 5.0]),), (scale,))
        assert isinstance(judge_cell(make_experiment(returns=returns), (0,), claim, data, (reference,)), kind)


def _moments(make_experiment: Make) -> Experiment:
    form = {"name": "var", "dtype": "float32"}
    return make_experiment(returns=[form], derived=[{"name": "rstd", "compare": RULE}])


def _judge_moments(experiment: Experiment, answers: list[float]) -> tuple[Any, list[int]]:
    """The outcome, and on which sets the harness was asked to derive."""
    asked: list[int] = []

    def derive(which: int, outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        asked.append(which)
        with np.errstate(invalid="ignore"):
            return (1 / np.sqrt(outputs[0]),)

    references = tuple(Reference((np.array([v]), np.array([v**-0.5]))) for v in (4.0, 0.25))
    plan = tuple(index % 2 for index in range(len(answers)))
    claim = _claim([{"dtype": "float32", "shape": [1], "bytes": 4}], len(answers))
    data = memoryview(np.array(answers, "<f4").tobytes())
    return judge_cell(experiment, plan, claim, data, references, derive), asked


def test_what_is_derived_decides_where_the_returned_tensor_has_no_rule(make_experiment: Make) -> None:
    outcome, asked = _judge_moments(_moments(make_experiment), [4.0001, 0.25, 4.0001, 0.25])
    assert isinstance(outcome, Passed)
    assert asked == [0, 1], "bits that were judged before are not derived from again"


def test_a_negative_variance_is_nan_as_it_is_used(make_experiment: Make) -> None:
    outcome, _ = _judge_moments(_moments(make_experiment), [4.0, -0.25])
    assert isinstance(outcome, Wrong)
    assert outcome.nan_elements == 1
    assert outcome.detail.endswith("rstd[0] is nan, not 2.0")


def test_without_a_rule_and_without_derived_nothing_would_judge(make_experiment: Make) -> None:
    with pytest.raises(ValueError, match="judged by nothing"):
        make_experiment(returns=[{"name": "var", "dtype": "float32"}])


def test_arrays_of_a_cross_check_are_held_against_the_same_rules(make_experiment: Make) -> None:
    experiment = _moments(make_experiment)
    references = (Reference((np.array([4.0]), np.array([0.5]))),)
    right = judge_arrays(experiment, [(np.array([4.0]), np.array([0.5]))], references)
    wrong = judge_arrays(experiment, [(np.array([4.0]), np.array([np.nan]))], references)
    assert isinstance(right, Passed)
    assert isinstance(wrong, Wrong)
    with pytest.raises(ValueError, match="not shaped"):
        judge_arrays(experiment, [(np.array([4.0, 1.0]), np.array([0.5]))], references)


# OCP 8-bit floating point specification, table 1: the largest, the smallest normal and subnormal, NaN.
E4M3 = {0x7E: 448.0, 0x08: 2.0**-6, 0x01: 2.0**-9, 0x80: -0.0, 0xFE: -448.0, 0x38: 1.0}
E5M2 = {0x7B: 57344.0, 0x04: 2.0**-14, 0x01: 2.0**-16, 0x7C: np.inf, 0xFC: -np.inf, 0x3C: 1.0}


@pytest.mark.parametrize(("dtype", "patterns"), [("float8_e4m3fn", E4M3), ("float8_e5m2", E5M2)])
def test_8_bit_floats_are_decoded(dtype: str, patterns: dict[int, float]) -> None:
    decoded = decode(bytes(patterns), dtype, (len(patterns),))
    assert decoded.tolist() == list(patterns.values())
    assert np.isnan(decode(b"\x7f\xff", dtype, (2,))).all()


@pytest.mark.parametrize(
    ("dtype", "value", "stored"),
    [
        ("float8_e4m3fn", 464.1, 448.0),
        ("float8_e4m3fn", 17.0, 16.0),  # halfway between 16 and 18: the even one
        ("float8_e4m3fn", 19.0, 20.0),
        ("float8_e4m3fn", 2.0**-10, 0.0),
        ("float8_e5m2", 1e9, 57344.0),
        ("float8_e5m2", -1.1, -1.0),
    ],
)
def test_8_bit_floats_are_rounded_to_nearest_even_and_saturate(
    dtype: str, value: float, stored: float
) -> None:
    assert round_to(np.array([value]), dtype).tolist() == [stored]
    assert compare(np.array([stored]), np.array([value]), dtype, ROUNDED).wrong == 0


# --- a right answer that no answer can equal: the harness's fault ------------------------------------


@pytest.mark.parametrize(
    ("dtype", "nan", "values", "says"),
    [
        ("float32", "forbidden", [[1.0, np.nan]], "out[0, 1] is nan, and NaN is forbidden"),
        ("float32", "equal", [[1.0, np.nan]], ""),
        ("float32", "forbidden", [[1e300, np.inf, -0.0]], ""),
        ("int8", "equal", [[np.nan]], "out[0, 0] is nan, and is returned as int8"),
        ("int8", "forbidden", [[127, 128]], "out[0, 1] is 128, and is returned as int8"),
        ("int8", "forbidden", [[-128.0, 127.0, 0.5]], "out[0, 2] is 0.5, and is returned as int8"),
        ("uint8", "forbidden", [[-1]], "out[0, 0] is -1, and is returned as uint8"),
        ("bool", "forbidden", [[0, 1, 2]], "out[0, 2] is 2, and is returned as bool"),
        ("int64", "forbidden", [[-(2**63), 2**63 - 1, 2**53 + 1]], ""),
        ("int32", "forbidden", [[np.inf]], "out[0, 0] is inf, and is returned as int32"),
        ("float32", "forbidden", [[]], ""),
    ],
)
def test_what_no_answer_can_equal(
    make_experiment: Make, dtype: str, nan: str, values: Any, says: str
) -> None:
    experiment = make_experiment(returns=[{"name": "out", "dtype": dtype, "compare": RULE | {"nan": nan}}])
    assert unreachable(experiment, Reference((np.array(values),))) == says


def test_what_is_not_compared_may_be_anything_and_what_is_derived_may_not_be_nan(
    make_experiment: Make,
) -> None:
    experiment = _moments(make_experiment)
    assert unreachable(experiment, Reference((np.array([np.nan]), np.array([2.0])))) == ""
    said = unreachable(experiment, Reference((np.array(-1.0), np.array(np.nan))))
    assert said == "rstd[] is nan, and NaN is forbidden"


def test_the_right_answer_as_a_candidate_would_return_it() -> None:
    assert as_stored(np.array([0.1]), "float32").tolist() == [float(np.float32(0.1))]
    stored = as_stored(np.array([3.0]), "int32")
    assert (stored.dtype, stored.tolist()) == (np.int64, [3])


def test_a_call_of_which_nothing_is_derived_is_wrong(make_experiment: Make) -> None:
    """On the same bits again, and on a later call alone, which makes the cell unstable."""

    def derive(which: int, outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        if outputs[0][0] == 9:
            raise NotDerived("the harness says why")
        return (1 / np.sqrt(outputs[0]),)

    references = (Reference((np.array([4.0]), np.array([0.5]))),)
    for answers, outcome in (([9.0, 9.0], Wrong), ([9.0, 4.0], Wrong), ([4.0, 9.0], Unstable)):
        claim = _claim([{"dtype": "float32", "shape": [1], "bytes": 4}], 2)
        data = memoryview(np.array(answers, "<f4").tobytes())
        found = judge_cell(_moments(make_experiment), (0, 0), claim, data, references, derive)
        assert isinstance(found, outcome)
        assert "the harness says why" in found.detail
