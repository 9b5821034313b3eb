"""From claims and bytes to an outcome: form before values, the first call before later ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from bundler.judge.cell import judge_cell
from bundler.judge.claims import CellClaim
from bundler.judge.reference import Reference
from bundler.model.experiment import Experiment
from bundler.model.outcome import Failed, Mark, Outcome, Passed, Unstable, Wrong

Make = Callable[..., Experiment]
SETS = ([1.0, 2.0], [3.0, 4.0])
REFERENCES = tuple(Reference((np.array(values),)) for values in SETS)


def _call(**changes: Any) -> dict[str, Any]:
    output = {"type": "torch.Tensor", "dtype": "float32", "shape": [2], "strides": [1]}
    output |= {"device": "cuda", "bytes": 8}
    call = {"raised": None, "outputs": [output | changes.pop("output", {})], "sent": True, "launches": 1}
    return call | {"inputs_changed": False} | changes


def _judge(
    experiment: Experiment,
    answers: Sequence[Sequence[float]],
    *,
    plan: tuple[int, ...] = (0, 1, 0, 1),
    calls: list[dict[str, Any]] | None = None,
) -> Outcome:
    claim = CellClaim.model_validate({"calls": calls or [_call() for _ in answers]}, strict=False)
    payload = b"".join(np.asarray(answer, dtype="<f4").tobytes() for answer in answers)
    return judge_cell(experiment, plan, claim, memoryview(payload), REFERENCES)


RIGHT = [SETS[0], SETS[1], SETS[0], SETS[1]]
OTHER = [9.0, 9.0]


def test_all_right(make_experiment: Make) -> None:
    outcome = _judge(make_experiment(), RIGHT)
    assert outcome == Passed(error=0.0)


@pytest.mark.parametrize(
    ("answers", "outcome", "marks"),
    [
        # Only the first call is wrong: it decides.
        ([OTHER, SETS[1], SETS[0], SETS[1]], Wrong, (Mark.FIRST_CALL_ONLY,)),
        # The first answer again, on other values: a cache.
        ([SETS[0], SETS[0], SETS[0], SETS[0]], Wrong, (Mark.LATER_CALLS_ONLY,)),
        # Wrong on values on which it was right before.
        ([SETS[0], SETS[1], OTHER, SETS[1]], Unstable, ()),
        ([SETS[0], SETS[1], SETS[0], OTHER], Unstable, ()),
        ([OTHER, OTHER, OTHER, OTHER], Wrong, ()),
    ],
)
def test_calls_are_judged_apart(
    make_experiment: Make, answers: list[list[float]], outcome: type, marks: tuple[Mark, ...]
) -> None:
    judged = _judge(make_experiment(), answers)
    assert type(judged) is outcome
    assert getattr(judged, "marks", ()) == marks


def test_of_several_tensors_the_one_whose_repeats_disagree_is_named(make_experiment: Make) -> None:
    rule = {"atol": 1.0, "rtol": 0, "nan": "equal", "reason": ""}
    returns = [{"name": name, "dtype": "float32", "compare": rule} for name in ("mean", "variance")]
    references = (Reference((np.array([1.0, 2.0]), np.array([3.0, 4.0]))),)
    one = _call()
    call = one | {"outputs": one["outputs"] * 2}
    claim = CellClaim.model_validate({"calls": [call, call]}, strict=False)
    # Each of the variances is within the tolerance of the reference, and not of the other.
    values = [[1.0, 2.0], [3.0, 3.25], [1.0, 2.0], [3.0, 4.75]]
    payload = b"".join(np.asarray(each, dtype="<f4").tobytes() for each in values)
    outcome = judge_cell(make_experiment(returns=returns), (0, 0), claim, memoryview(payload), references)
    assert isinstance(outcome, Unstable)
    assert "disagree in 1 elements: variance[1]" in outcome.detail


def _with(make: Make, **rule: Any) -> Experiment:
    compare = {"atol": 0.5, "rtol": 0, "nan": "equal", "reason": ""} | rule
    return make(returns=[{"name": "out", "dtype": "float32", "compare": compare}])


def test_repeats_within_the_tolerance_are_marked(make_experiment: Make) -> None:
    outcome = _judge(_with(make_experiment), [SETS[0], SETS[1], [1.25, 2.0], SETS[1]])
    assert outcome == Passed(error=0.5, marks=(Mark.NOT_BITWISE_STABLE,))


def test_repeats_further_apart_than_the_tolerance_are_unstable(make_experiment: Make) -> None:
    """Each is right by itself: 0.4 too much, 0.4 too little."""
    outcome = _judge(_with(make_experiment), [[1.4, 2.0], SETS[1], [0.6, 2.0], SETS[1]])
    assert isinstance(outcome, Unstable)
    assert "disagree in 1 elements" in outcome.detail


def test_nan_on_both_sides_is_by_the_rule(make_experiment: Make) -> None:
    nan = (Reference((np.array([np.nan, 1.0]),)),) * 2
    claim = CellClaim.model_validate({"calls": [_call()]}, strict=False)
    payload = memoryview(np.array([np.nan, 1.0], dtype="<f4").tobytes())
    for rule, outcome in (("equal", Passed), ("forbidden", Wrong)):
        assert type(judge_cell(_with(make_experiment, nan=rule), (0,), claim, payload, nan)) is outcome


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"output": {"type": "candidate.Tensor"}}, "type"),
        ({"output": {"dtype": "float64"}}, "dtype"),
        ({"output": {"shape": [1, 2], "strides": [2, 1]}}, "shape"),
        ({"output": {"shape": [2, 0]}}, "shape"),
        ({"output": {"device": "cpu"}}, "device"),
        ({"output": {"strides": [2]}}, "layout"),
        ({"output": {"strides": [0]}}, "layout"),
        ({"output": {"strides": [-1]}}, "layout"),
        ({"outputs": []}, "count"),
        ({"outputs": [{"type": "torch.Tensor"}] * 2}, "count"),
        ({"sent": False}, "size"),
        ({"launches": 0}, "no-own-kernel"),
    ],
)
def test_form_before_values(make_experiment: Make, change: dict[str, Any], what: str) -> None:
    """The values are right in every one of them."""
    calls = [_call(**change)]
    answers = [] if change.get("sent") is False or "outputs" in change else [SETS[0]]
    outcome = _judge(make_experiment(), answers, plan=(0,), calls=calls)
    assert isinstance(outcome, Wrong)
    assert outcome.what == what


def test_without_a_kernel_where_that_is_only_reported(make_experiment: Make) -> None:
    outcome = _judge(make_experiment(own_kernel="reported"), [SETS[0]], plan=(0,), calls=[_call(launches=0)])
    assert outcome == Passed(error=0.0, marks=(Mark.NO_OWN_KERNEL,))


def test_without_a_kernel_where_only_the_first_output_is_empty(make_experiment: Make) -> None:
    compare = {"atol": 1e-6, "nan": "equal", "reason": "a test"}
    returns = [{"name": name, "dtype": "float32", "compare": compare} for name in ("none", "out")]
    one = make_experiment(returns=returns)
    (full,) = _call()["outputs"]
    empty = full | {"shape": [0], "bytes": 0}
    claim = CellClaim.model_validate(
        {"calls": [_call(launches=0) | {"outputs": [empty, full]}]}, strict=False
    )
    references = (Reference((np.empty(0), np.array(SETS[0]))),)
    payload = memoryview(np.asarray(SETS[0], dtype="<f4").tobytes())
    outcome = judge_cell(one, (0,), claim, payload, references)
    assert isinstance(outcome, Wrong)
    assert outcome.what == "no-own-kernel"


def test_a_cached_answer_launches_nothing(make_experiment: Make) -> None:
    calls = [_call(), _call(), _call(launches=0), _call(launches=0)]
    assert isinstance(_judge(make_experiment(), RIGHT, calls=calls), Unstable)


def test_a_changed_input_is_marked(make_experiment: Make) -> None:
    outcome = _judge(make_experiment(), [SETS[0]], plan=(0,), calls=[_call(inputs_changed=True)])
    assert outcome == Passed(error=0.0, marks=(Mark.INPUT_CHANGED,))


def test_strides_of_single_elements_do_not_matter(make_experiment: Make) -> None:
    references = (Reference((np.array([[1.0, 2.0]]),)),)
    claim = CellClaim.model_validate(
        {"calls": [_call(output={"shape": [1, 2], "strides": [77, 1]})]}, strict=False
    )
    payload = memoryview(np.array([1.0, 2.0], dtype="<f4").tobytes())
    assert isinstance(judge_cell(make_experiment(), (0,), claim, payload, references), Passed)


RAISED = {"phase": "run", "errors": [["RuntimeError", "no"]], "resource": None}


def test_an_exception_is_the_outcome(make_experiment: Make) -> None:
    outcome = _judge(make_experiment(), [SETS[0]], calls=[_call(), {"raised": RAISED}])
    assert outcome == Failed(phase="run", error="RuntimeError: no")  # type: ignore[arg-type]


def test_an_exception_does_not_hide_a_wrong_answer_before_it(make_experiment: Make) -> None:
    outcome = _judge(make_experiment(), [OTHER], calls=[_call(), {"raised": RAISED}])
    assert isinstance(outcome, Wrong)


@pytest.mark.parametrize(
    ("calls", "answers"),
    [
        ([_call()], [SETS[0]]),  # fewer calls than asked for
        ([_call()] * 5, [*RIGHT, SETS[0]]),  # more
        ([_call()] * 4, RIGHT[:3]),  # bytes are missing
        ([_call()] * 4, [*RIGHT, SETS[0]]),  # bytes are left over
        ([_call(output={"bytes": -8})] + [_call()] * 3, RIGHT),
        ([_call(output={"bytes": 1 << 60})] + [_call()] * 3, RIGHT),
    ],
)
def test_claims_that_do_not_add_up(
    make_experiment: Make, calls: list[dict[str, Any]], answers: list[list[float]]
) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (the text differs)
        _judge(make_experiment(), answers, calls=calls)


@pytest.mark.parametrize(
    "claim",
    [
        {"calls": []},
        {"calls": [_call()], "outcome": "passed"},
        {"calls": [_call(launches="many")]},
        {"calls": [_call(output={"type": "x" * 5000})]},
        {"calls": [_call(outputs=[{"type": "x"}] * 18)]},
        {"calls": [_call()], "tuned": {"a": 3}},
        {},
    ],
)
def test_claims_out_of_form(claim: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        CellClaim.model_validate(claim)


def test_two_outputs_cannot_lend_each_other_bytes(make_experiment: Make) -> None:
    compare = {"nan": "equal", "reason": ""}
    experiment = make_experiment(
        returns=[{"name": name, "dtype": "float32", "compare": compare} for name in ("a", "b")]
    )
    first, second = _call(output={"bytes": 16})["outputs"][0], _call(output={"bytes": 0})["outputs"][0]
    claim = CellClaim.model_validate({"calls": [_call(outputs=[first, second])]}, strict=False)
    references = (Reference((np.array(SETS[0]), np.array(SETS[1]))),)
    with pytest.raises(ValueError, match="reshape"):
        judge_cell(experiment, (0,), claim, memoryview(bytes(16)), references)
