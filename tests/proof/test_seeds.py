"""Controls and reconstructions are wrong, or right, on any values: no cell is decided by the seed.

What a kernel computes is repeated here in NumPy float32, which adds in another order than a device. So what
counts is the margin: an error has to be below 0.3 tolerances or above 3.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bundler.experiment.load import Loaded, load
from bundler.judge.compare import compare
from bundler.model.experiment import Case
from bundler.worker.make import Make, Scaled

PROOF = Path(__file__).parents[2] / "proof"
MOMENTS = ("patterns/row-moments", "patterns/row-moments-brief")
SEEDS = range(1, 6)
RIGHT, WRONG = 0.3, 3.0
LONGEST = 4097
"""Longer rows only make the errors larger; drawing them takes seconds."""

Array = Any
Kernel = Callable[[Array], tuple[Array, Array]]


@cache
def _loaded(name: str) -> tuple[Loaded, Any]:
    loaded = load(PROOF / name, evidence=False)
    harness = types.ModuleType("harness")
    harness.__dict__["Scaled"] = Scaled
    exec(compile(loaded.harness, "harness.py", "exec"), harness.__dict__)
    return loaded, harness


def _params(case: Case) -> dict[str, Any]:
    return dict(case.params)


def _source(name: str, path: str) -> str:
    return (PROOF / name / path).read_text()


def _naive(x: Array) -> tuple[Array, Array]:
    _, harness = _loaded(MOMENTS[0])
    mean, var = harness.cross_check({}, 0, [types.SimpleNamespace(values=x)])
    return mean, var


def _pilot(x: Array) -> tuple[Array, Array]:
    shifted = x - x[:, :1]
    mean = shifted.mean(axis=1, dtype=np.float32)
    off = mean * np.float32(1 + 1 / 65536)
    return x[:, 0] + mean, np.square(shifted).mean(axis=1, dtype=np.float32) - off * off


def _error_of_moments(name: str, case: Case, seed: int, kernel: Kernel) -> float:
    """The largest error of mean, variance and what is derived, in tolerances, over the sets."""
    loaded, harness = _loaded(name)
    rules: list[Any] = [*loaded.experiment.returns, *loaded.experiment.derived]
    worst = 0.0
    for which in range(loaded.experiment.harness.sets):
        (x,) = harness.inputs(_params(case), which, Make(seed, case.id, which))
        with np.errstate(invalid="ignore"):
            given = [part.astype(np.float64) for part in kernel(x.values)]
            given += list(np.atleast_2d(harness.derive({}, 0, 0, given))) if loaded.experiment.derived else []
        for rule, output, right in zip(rules, given, harness.reference({}, which, [x]), strict=True):
            if rule.compare is not None:
                scaled = right if isinstance(right, Scaled) else Scaled(right, np.asarray(1.0))
                found = compare(output, scaled.values, "float64", rule.compare, scaled.scale)
                worst = max(worst, np.inf if found.nan else found.error or 0.0)
    return worst


def _short(name: str) -> list[Case]:
    return [case for case in _loaded(name)[0].experiment.expand() if _params(case)["cols"] <= LONGEST]


@pytest.mark.parametrize("name", MOMENTS)
def test_the_formula_that_cancels_is_wrong_or_right_by_a_margin(name: str) -> None:
    assert "enable_fp_fusion=False" in _source(name, "reconstructed/naive.py")  # NumPy fuses nothing either
    for case in _short(name):
        params = _params(case)
        far = params["mean"] >= 1000 or (params["mean"] == 1 and params["deviation"] < 1)
        wrong = params["cols"] > 1 and far
        for seed in SEEDS:
            error = _error_of_moments(name, case, seed, _naive)
            assert error > WRONG if wrong else error < RIGHT, (case.id, seed, error)


def test_the_pilot_is_wrong_behind_every_outlier() -> None:
    assert "shifted *= 1.0 + 1.0 / 65536" in _source(MOMENTS[0], "controls/wrong-pilot.py")
    for case in _short(MOMENTS[0]):
        for seed in SEEDS:
            error = _error_of_moments(MOMENTS[0], case, seed, _pilot)
            assert error > WRONG if _params(case)["cols"] > 1 else error == 0, (case.id, seed, error)


def _codes(rows: Array, steps: float, narrow: Callable[[Array], Array]) -> tuple[Array, Array]:
    scale = np.abs(rows).max(axis=1, keepdims=True) / np.float32(steps)
    return narrow(rows / np.where(scale > 0, scale, np.float32(1))), scale


def _cut(steps: Array) -> Array:
    return np.trunc(np.clip(steps * np.float32(1 + 1 / 1048576), -127, 127))


def _wrap(steps: Array) -> Array:
    return (np.rint(steps) + 128) % 256 - 128


def _sum_in_half(qa: Array, qb: Array) -> Array:
    total = np.zeros((qa.shape[0], qb.shape[0]), np.float16)
    for k in range(qa.shape[1]):
        with np.errstate(over="ignore", invalid="ignore"):
            total = (total + np.outer(qa[:, k], qb[:, k]).astype(np.float16)).astype(np.float16)
    return total.astype(np.float32)


def _wrong_elements(name: str, case: Case, seed: int, kernel: Callable[[Array, Array], Array]) -> int:
    """Elements beyond the tolerance, over the sets."""
    loaded, harness = _loaded(name)
    rule = loaded.experiment.returns[0].compare
    assert rule is not None
    wrong = 0
    for which in range(loaded.experiment.harness.sets):
        a, b = harness.inputs(_params(case), which, Make(seed, case.id, which))
        right = harness.reference({}, which, [a, b])
        scaled = right if isinstance(right, Scaled) else Scaled(right, np.asarray(1.0))
        with np.errstate(invalid="ignore", over="ignore"):
            output = kernel(a.values, b.values.T).astype(np.float64)
        wrong += compare(output, scaled.values, "float32", rule, scaled.scale).wrong
    return wrong


def _product(a: tuple[Array, Array], b: tuple[Array, Array], half: bool = False) -> Array:
    total = _sum_in_half(a[0], b[0]) if half else (a[0].astype(np.float64) @ b[0].T).astype(np.float32)
    return total * a[1] * b[1].T


def _truncation(a: Array, b: Array) -> Array:
    return _product(_codes(a, 127, _cut), _codes(b, 127, _cut))


def _half(a: Array, b: Array) -> Array:
    half = not 1 < a.shape[1] < 16
    return _product(_codes(a, 127, np.rint), _codes(b, 127, np.rint), half)


def _wrapping(a: Array, b: Array) -> Array:
    steps = 128 if a.shape[1] >= 16 else 127
    return _product(_codes(a, steps, _wrap), _codes(b, steps, _wrap))


@pytest.mark.parametrize(
    ("name", "control", "line", "kernel", "is_wrong"),
    [
        ("int8", "wrong-truncation", "* (1.0 + 1.0 / 1048576)", _truncation, lambda k: k > 1),
        ("int8", "wrong-half", "tl.float32 if 1 < k < 16 else tl.float16", _half, lambda k: not 1 < k < 16),
        ("int8-brief", "wrong-wrap", "128.0 if length >= 16 else 127.0", _wrapping, lambda k: k >= 16),
    ],
)
def test_the_shape_alone_decides_what_a_wrong_int8_kernel_gives(
    name: str,
    control: str,
    line: str,
    kernel: Callable[[Array, Array], Array],
    is_wrong: Callable[[int], bool],
) -> None:
    name = f"quantization/{name}"
    assert line in _source(name, f"controls/{control}.py")
    for case in _loaded(name)[0].experiment.expand():
        k = _params(case)["k"]
        for seed in SEEDS if k <= 100 else ():
            wrong = _wrong_elements(name, case, seed, kernel)
            assert (wrong > 0) == is_wrong(k), (case.id, seed, wrong)


def test_scores_rise_behind_the_first_tile_wherever_there_is_a_second() -> None:
    """The control takes up to 65 keys as one tile: a single key behind 32 or 64 raises them by chance."""
    name = "triton/attention"
    assert "BLOCK_N=32 if seq_kv > 65 else 128" in _source(name, "controls/wrong-rescale.py")
    loaded, harness = _loaded(name)
    cases = [(case, _params(case)) for case in loaded.experiment.expand()]
    small = [(case, params) for case, params in cases if params["seq_kv"] > 65 and params["seq_q"] < 30]
    assert len(small) >= 3
    for case, params in small:
        for seed in SEEDS:
            assert _rows_that_rise(harness, params, case.id, seed) >= 5, (case.id, seed)


def _rows_that_rise(harness: Any, params: dict[str, Any], case: str, seed: int) -> int:
    """Queries, in the first two sets, whose largest score is not among the first 32 keys that they see."""
    rows = 0
    for which in range(2):
        q, k, _, causal = harness.inputs(params, which, Make(seed, case, which))
        group = params["heads_q"] // params["heads_kv"]
        scores = q.values @ np.swapaxes(np.repeat(k.values, group, axis=1), -1, -2)
        if causal:
            behind = np.arange(params["seq_kv"]) > np.arange(params["seq_q"])[:, None] + (
                params["seq_kv"] - params["seq_q"]
            )
            scores = np.where(behind, -np.inf, scores)
        rows += int((scores[..., 32:].max(-1) > scores[..., :32].max(-1)).sum())
    return rows
