"""Failures by a parameter's value, and the sizes that an axis is of."""

from __future__ import annotations

from pathlib import Path

import pytest

from bundler.experiment.load import load
from bundler.model.outcome import Passed
from bundler.report.across import columns, size_names
from bundler.report.parameters import Share, by_parameter
from tests.small import WRONG_VALUES, Small, evidence, ground

PROOF = Path(__file__).parents[2] / "proof"


@pytest.fixture
def wide(small: Small) -> Small:
    """Eight cases: four sizes, two kinds of values."""
    sizes = [{"n": n} for n in (100, 1, 10, 1000)]
    small.declared["cases"] = [{"id": "{n}/{kind}", "axes": [sizes, [{"kind": "near"}, {"kind": "far"}]]}]
    return small


def test_a_parameter_that_decides_is_shown_and_one_that_does_not_is_left_out(wide: Small) -> None:
    loaded = wide.load()
    cases = [case.id for case in loaded.experiment.expand()]
    row = {case: WRONG_VALUES if case.endswith("far") else Passed() for case in cases}
    report = ground(loaded, {"with-skill/01": row})
    (found,) = by_parameter(loaded, columns((("h", evidence(loaded, {"interpreter": report})),)))
    assert found.who == ("with-skill/01",)
    assert found.rows == (("kind", "near", (Share(0, 4),)), ("kind", "far", (Share(4, 4),)))


def test_values_that_are_numbers_stand_in_their_order(wide: Small) -> None:
    loaded = wide.load()
    row = {
        case.id: WRONG_VALUES if case.params["n"] in (100, 1000) else Passed()
        for case in loaded.experiment.expand()
    }
    report = ground(loaded, {"with-skill/01": row})
    (found,) = by_parameter(loaded, columns((("h", evidence(loaded, {"device": report})),)))
    assert [(name, value, its[0].failed) for name, value, its in found.rows] == [
        ("n", "1", 0),
        ("n", "10", 0),
        ("n", "100", 2),
        ("n", "1000", 2),
    ]


def test_controls_compilers_and_what_always_fails_have_no_table(wide: Small) -> None:
    loaded = wide.load()
    cases = [case.id for case in loaded.experiment.expand()]
    mixed = {case: WRONG_VALUES if case.endswith("far") else Passed() for case in cases}
    always = ground(loaded, {"with-skill/01": WRONG_VALUES, "control-wrong/control-wrong": mixed})
    compiled = ground(loaded, {"with-skill/01": mixed})
    grounds = {"interpreter": always, "compile:sm_90": compiled}
    assert by_parameter(loaded, columns((("h", evidence(loaded, grounds)),))) == []


@pytest.mark.parametrize(
    ("entry", "names"),
    [
        ("cuda/softmax", ("cols",)),
        ("cuda/reduction", ("n",)),  # the count of blocks is no size
        ("patterns/row-moments", ("cols",)),  # neither is the mean; and rows are 3 throughout
        ("portability/sgemm", ("m", "n", "k")),
    ],
)
def test_sizes(entry: str, names: tuple[str, ...]) -> None:
    assert size_names(load(PROOF / entry)) == names
