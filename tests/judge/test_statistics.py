"""Counts, intervals and tests, against numbers that were computed by other means."""

from __future__ import annotations

import math
import sys

import pytest

from bundler.errors import UnavailableError
from bundler.judge.statistics import Shows, arm_runs, contrasts, fisher, least_p, share, shows
from bundler.model.experiment import Ground, Origin
from bundler.model.outcome import NotRun, Outcome, Why
from tests.small import PASSED, UNCOMPILABLE, WRONG_VALUES, Small, answer, evidence, ground

ABSENT = NotRun(why=Why.NEEDS)


@pytest.mark.parametrize(("passed", "runs"), [(0, 3), (3, 3), (1, 4), (7, 10), (1, 1)])
def test_wilson(passed: int, runs: int) -> None:
    """By the formula of the paper."""
    z, p = 1.959963984540054, passed / runs
    centre = (p + z * z / (2 * runs)) / (1 + z * z / runs)
    half = z / (1 + z * z / runs) * math.sqrt(p * (1 - p) / runs + z * z / (4 * runs * runs))
    found = share(passed, runs)
    assert (found.low, found.high) == pytest.approx((max(0, centre - half), min(1, centre + half)), abs=1e-9)


def test_fisher() -> None:
    """Fisher's tea: three of four cups right, p = 34/70."""
    assert fisher(share(3, 4), share(1, 4)) == pytest.approx(34 / 70)
    assert fisher(share(3, 3), share(3, 3)) == 1


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_the_least_p(n: int) -> None:
    assert least_p(n, n) == pytest.approx(min(1, 2 / math.comb(2 * n, n)))


@pytest.mark.parametrize(("n", "m"), [(1, 3), (2, 5), (3, 4), (5, 2)])
def test_the_least_p_is_that_of_all_against_none(n: int, m: int) -> None:
    assert least_p(n, m) == pytest.approx(fisher(share(0, n), share(m, m)))


def test_three_runs_an_arm_can_tell_nothing_and_four_can() -> None:
    assert least_p(3, 3) > 0.05 >= least_p(4, 4)


@pytest.mark.parametrize(
    ("without", "with_", "word"),
    [
        ((0, 4), (4, 4), Shows.HELPS),
        ((4, 4), (0, 4), Shows.HURTS),
        ((0, 3), (3, 3), Shows.TOO_FEW),
        ((3, 3), (2, 3), Shows.TOO_FEW),
        ((3, 3), (3, 3), Shows.NO_DIFFERENCE),
        ((0, 3), (0, 3), Shows.NO_DIFFERENCE),
        ((2, 4), (3, 4), Shows.NO_DIFFERENCE),
    ],
)
def test_shows(without: tuple[int, int], with_: tuple[int, int], word: Shows) -> None:
    one, two = share(*without), share(*with_)
    assert shows(one, two, fisher(one, two), least_p(one.runs, two.runs)) is word


# --- from evidence ---------------------------------------------------------------------------------------


def runs(small: Small, count: int) -> None:
    """``count`` outputs in both arms."""
    for name in ("without-skill", "with-skill"):
        small.arm(name)["outputs"] = [
            small.file(f"outputs/{name}/{n:02}.md", answer()) for n in range(1, count + 1)
        ]


def test_a_run_is_a_candidate(small: Small) -> None:
    runs(small, 2)
    loaded = small.load()
    report = ground(loaded, {"with-skill/01": {"n=100": WRONG_VALUES}, "without-skill/02": ABSENT})
    with_, without = (
        next(a for a in arm_runs(loaded.experiment, [evidence(loaded, {"device": report})]) if a.arm == name)
        for name in ("with-skill", "without-skill")
    )
    found = with_.shares[Ground.DEVICE]
    assert (found.passed, found.runs) == (1, 2)
    absent = without.shares[Ground.DEVICE]
    assert (absent.passed, absent.runs) == (1, 1), "a run of which nothing was judged is no run"
    assert with_.shares.keys() == {Ground.DEVICE}


def test_a_kernel_has_to_compile_everywhere(small: Small) -> None:
    loaded = small.load()
    bad: dict[str, Outcome] = {"n=1": UNCOMPILABLE}
    made = evidence(
        loaded,
        {"compile:sm_75": ground(loaded, {"with-skill/01": bad}), "compile:sm_90": ground(loaded)},
    )
    (without, with_) = arm_runs(loaded.experiment, [made])
    assert without.shares[Ground.COMPILE].passed == 1
    assert with_.shares[Ground.COMPILE].passed == 0


def test_the_ground_of_a_contrast(small: Small) -> None:
    """The device before compilation; an invalid ground is none, and the interpreter never counts."""
    loaded = small.load()
    failing = {"with-skill/01": WRONG_VALUES}
    interpreted = evidence(loaded, {"interpreter": ground(loaded, failing)})
    compiled = evidence(loaded, {"compile:sm_90": ground(loaded)})
    ran_ = evidence(loaded, {"device": ground(loaded, failing)})
    invalid = evidence(loaded, {"device": ground(loaded, failing, status="invalid", reason="a control")})
    assert contrasts(loaded.experiment, [interpreted]) == ()
    assert contrasts(loaded.experiment, []) == ()
    for recorded, wanted in (
        ([interpreted, compiled], Ground.COMPILE),
        ([compiled, ran_], Ground.DEVICE),
        ([invalid, compiled], Ground.COMPILE),
    ):
        (found,) = contrasts(loaded.experiment, recorded)
        assert found.ground is wanted


def test_the_first_evidence_that_judged_a_ground_counts(small: Small) -> None:
    loaded = small.load()
    first = evidence(loaded, {"device": ground(loaded, {"with-skill/01": WRONG_VALUES})})
    second = evidence(loaded, {"device": ground(loaded)})
    (_, with_) = arm_runs(loaded.experiment, [first, second])
    assert with_.shares[Ground.DEVICE].passed == 0


@pytest.mark.parametrize("word", [Shows.HELPS, Shows.HURTS])
def test_four_runs_an_arm(small: Small, word: Shows) -> None:
    runs(small, 4)
    loaded = small.load()
    losing = "without-skill" if word is Shows.HELPS else "with-skill"
    report = ground(loaded, {f"{losing}/{n:02}": WRONG_VALUES for n in range(1, 5)})
    (found,) = contrasts(loaded.experiment, [evidence(loaded, {"device": report})])
    assert found.shows is word
    assert not found.too_few


def test_two_models_are_not_compared(small: Small) -> None:
    small.arm("with-skill")["model"] = small.declared["model"] | {"name": "another"}
    loaded = small.load()
    assert contrasts(loaded.experiment, [evidence(loaded, {"device": ground(loaded)})]) == ()


def test_reconstructions_and_controls_count_for_nothing(small: Small) -> None:
    arm = small.arm("with-skill")
    del arm["prompt_sha256"]
    arm["origin"] = Origin.RECONSTRUCTED.value
    loaded = small.load()
    recorded = [evidence(loaded, {"device": ground(loaded, {"without-skill/01": PASSED})})]
    assert [a.arm for a in arm_runs(loaded.experiment, recorded)] == ["without-skill"]
    assert contrasts(loaded.experiment, recorded) == ()


def test_without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(UnavailableError, match="scipy cannot be imported"):
        share(1, 2)
