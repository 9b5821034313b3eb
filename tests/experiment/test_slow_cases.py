"""``slow`` of a group of cases: what may be said, and what it changes of what evidence is of."""

from __future__ import annotations

from typing import Any

import pytest

from bundler.errors import BadExperiment
from bundler.model.experiment import Ground
from tests.small import Small


def _group(small: Small, **fields: Any) -> None:
    small.declared["cases"] = [{"id": "n={n}", "axes": [[{"n": 1}, {"n": 100}]], **fields}]


def test_every_case_of_the_group_is_slow_there(small: Small) -> None:
    _group(small, slow=["interpreter", "device"])
    assert [case.slow for case in small.load().experiment.expand()] == [
        (Ground.INTERPRETER, Ground.DEVICE)
    ] * 2


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"slow": ["moon"]}, "'moon'"),
        ({"slow": ["compile:sm_90"]}, "'compile:sm_90'"),
        ({"slow": "interpreter"}, "slow"),
        (
            {"slow": ["interpreter"], "grounds": ["device", "compile"]},
            "slow on interpreter, where 'n={n}' is not judged: its grounds are device, compile",
        ),
    ],
)
def test_what_is_refused(small: Small, fields: dict[str, Any], said: str) -> None:
    _group(small, **fields)
    with pytest.raises(BadExperiment) as refused:
        small.load()
    assert said in refused.value.problem


@pytest.mark.parametrize("seconds", [0, -1, 36_001])
def test_a_limit_that_is_none(small: Small, seconds: float) -> None:
    small.declared["limits"] = {"slow_cell_seconds": seconds}
    with pytest.raises(BadExperiment, match=r"limits\.slow_cell_seconds"):
        small.load()


def test_a_ground_may_be_added_as_slow_and_evidence_stays(small: Small) -> None:
    """What a cell on another ground means is the same."""
    _group(small, grounds=["device", "compile"])
    before = small.load().cases_digest
    _group(small, slow=["interpreter"])
    assert small.load().cases_digest == before
    _group(small)
    assert small.load().cases_digest != before
