"""A ground whose controls misbehave shows nothing; a source's note is no outcome."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bundler.experiment.controls import misbehaviour
from bundler.judge import calls
from bundler.judge.compare import compare
from bundler.judge.source import undefined_loads
from bundler.model.experiment import Comparison, Experiment, Ground
from bundler.model.outcome import Crashed, Failed, NotRun, Outcome, Passed, Phase, Why, Wrong

Make = Callable[..., Experiment]
GOOD, BAD = Passed(), Wrong(what="values", call=0, detail="")
UNRUN = NotRun(why=Why.NO_DEVICE)


@pytest.mark.parametrize(
    ("right", "wrong", "problem"),
    [
        ([GOOD, GOOD], [BAD, GOOD], ""),
        ([GOOD, UNRUN], [BAD, UNRUN], ""),
        ([GOOD, BAD], [BAD, BAD], "control right/x must pass and did not on n=2"),
        ([GOOD, Crashed(detail="")], [BAD, BAD], "control right/x must pass and did not on n=2"),
        ([GOOD, GOOD], [GOOD, GOOD], "control wrong/x must fail and passed every case that ran (2)"),
        ([UNRUN, UNRUN], [BAD, BAD], "control right/x was not run"),
        ([GOOD, GOOD], [UNRUN, UNRUN], "control wrong/x was not run"),
    ],
)
def test_controls(make_experiment: Make, right: list[Outcome], wrong: list[Outcome], problem: str) -> None:
    cells = {
        "right/x": dict(zip(("n=1", "n=2"), right, strict=True)),
        "wrong/x": dict(zip(("n=1", "n=2"), wrong, strict=True)),
    }
    found = misbehaviour(make_experiment(), Ground.DEVICE, cells)
    assert found.startswith(problem) if problem else found == ""


def test_what_all_cases_say_of_a_control_that_fails_is_said(make_experiment: Make) -> None:
    torn = Failed(phase=Phase.RUN, error="Traceback\nNameError: name 'out' is not defined\n")
    cells: dict[str, dict[str, Outcome]] = {"right/x": {"n=1": torn, "n=2": torn}, "wrong/x": {"n=1": BAD}}
    said = "must pass and did not on n=1 or any other case that ran: NameError: name 'out' is not defined"
    assert misbehaviour(make_experiment(), Ground.DEVICE, cells) == f"control right/x {said}"
    cells["right/x"]["n=2"] = GOOD
    assert misbehaviour(make_experiment(), Ground.DEVICE, cells).endswith("did not on n=1")
    cells["right/x"]["n=2"] = Failed(phase=Phase.RUN, error="another")
    assert misbehaviour(make_experiment(), Ground.DEVICE, cells).endswith("did not on n=1")
    cells["right/x"] = {"n=1": Failed(phase=Phase.RUN, error="x" * 4000)}
    assert len(misbehaviour(make_experiment(), Ground.DEVICE, cells)) < 400


def test_a_control_that_is_missing_is_not_forgiven(make_experiment: Make) -> None:
    assert "was not run" in misbehaviour(make_experiment(), Ground.DEVICE, {})


def test_a_control_counts_only_on_its_grounds(make_experiment: Make) -> None:
    cells = {"right/x": {"n=1": GOOD}, "wrong/x": {"n=1": GOOD}}
    assert misbehaviour(make_experiment(), Ground.COMPILE, cells) == ""


def test_a_relative_tolerance_that_rejects_a_right_answer_makes_the_ground_invalid(
    make_experiment: Make,
) -> None:
    """PyTorch's own sum of values that cancel is some 1e-8 beside 0, which no rtol allows."""
    output, reference = np.array([1e-8, 1.0]), np.array([0.0, 1.0])
    rule = Comparison(rtol=1e-3, nan="equal", reason="")  # type: ignore[arg-type]
    outcome: Outcome = BAD if compare(output, reference, "float32", rule).wrong else GOOD
    cells = {"right/x": {"n=1": outcome}, "wrong/x": {"n=1": BAD}}
    assert "must pass" in misbehaviour(make_experiment(), Ground.INTERPRETER, cells)


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("tl.load(p, mask=m)", (1,)),
        ("tl.load(p, m)", (1,)),
        ("triton.language.load(p, mask=m)", (1,)),
        ("tl.load(p, mask=m, other=0)", ()),
        ("tl.load(p, m, 0)", ()),
        ("tl.load(p)", ()),
        ("tl.load(p, **options)", ()),
        ("json.load(p, mask=m)", ()),
        ("x = [tl.load(p, mask=m)\n for p in q if tl.load(p, mask=m, other=1.0)]", (1,)),
        ("def broken(:", ()),
        ("\0", ()),
        ("(" * 5000, ()),
    ],
)
def test_undefined_loads(line: str, lines: tuple[int, ...]) -> None:
    assert undefined_loads(line.encode()) == lines


_HEAD = "@triton.jit\ndef kernel(x, idx, out, n, FLAG: tl.constexpr, BLOCK: tl.constexpr):\n"
_AT = "    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n    m = at < n\n"
_LOAD = "    v = tl.load(x + at, mask=m)\n"
_STORE = "    tl.store(out + at, tl.exp(2.0 * v), mask=m)\n"


@pytest.mark.parametrize(
    "body",
    [
        _AT + _LOAD + _STORE,
        _AT + _LOAD + "    w = tl.load(idx)\n    tl.store(out + at, v * w.to(tl.float32), m)\n",
        _AT + _LOAD + "    if FLAG:\n        v = v + 1\n" + _STORE,
        # An address from another load, under the same mask.
        _AT + "    i = tl.load(idx + at, mask=m)\n    v = tl.load(x + i, mask=m)\n" + _STORE,
    ],
)
def test_a_load_under_the_mask_of_its_stores_is_no_undefined_one(body: str) -> None:
    assert undefined_loads((_HEAD + body).encode()) == ()
    tuned = "@triton.autotune([triton.Config({'BLOCK': n}) for n in (64, 128)], key=['n'])\n"
    assert undefined_loads((tuned + _HEAD + body).encode()) == ()


@pytest.mark.parametrize(
    "body",
    [
        # What crosses lanes: a reduction, a method, an unknown helper, a product of matrices.
        _AT + _LOAD + "    tl.store(out + at, v / tl.sum(v, 0), mask=m)\n",
        _AT + _LOAD + "    tl.store(out + at, v / v.sum(), mask=m)\n",
        _AT + _LOAD + "    tl.store(out + at, helper(v), mask=m)\n",
        _AT + _LOAD + "    tl.store(out + at, v @ v, mask=m)\n",
        # Another mask, none, or one of another value under the same name.
        _AT + _LOAD + "    tl.store(out + at, v, mask=at <= n)\n",
        _AT + _LOAD + "    tl.store(out + at, v)\n",
        _AT + _LOAD + "    m = at <= n\n" + _STORE,
        # Values that go on: to the next turn, to a caller, to a branch, to an address.
        _AT + "    v = 0.0\n    for _ in range(2):\n        v += tl.load(x + at, mask=m)\n" + _STORE,
        _AT + "    return tl.load(x + at, mask=m)\n",
        _AT + _LOAD + "    if v > 0:\n        v = 1.0\n" + _STORE,
        _AT + "    i = tl.load(idx + at, mask=m)\n    v = tl.load(x + i)\n" + _STORE,
    ],
)
def test_a_load_whose_masked_lanes_may_matter_is_told(body: str) -> None:
    assert len(undefined_loads((_HEAD + body).encode())) == 1


def test_no_source_is_no_problem() -> None:
    assert undefined_loads(b"\xff\xfe\x00") == ()


def test_every_plan_has_several_sets_and_more_calls_than_a_warm_up() -> None:
    plan = calls.plan(3, elements=1 << 30, on_device=True)
    assert len(plan) > 10
    assert set(plan) == {0, 1, 2}
    assert len(set(plan[:2])) == 2
    assert len(set(calls.plan(3, elements=1 << 20, on_device=False))) == 2
    assert calls.plan(1, elements=1, on_device=False).count(0) > 10
