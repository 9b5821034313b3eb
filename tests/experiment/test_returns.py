"""A group of cases may return another dtype than the experiment's, under a rule of its own."""

from __future__ import annotations

import copy
from typing import Any

from tests.small import Small


def _half(small: Small) -> None:
    """A second group, which returns float16."""
    returned: dict[str, Any] = copy.deepcopy(small.declared["returns"])
    returned[0]["dtype"] = "float16"
    returned[0]["compare"] |= {"atol": 0.5, "rtol": 0.25}
    group = {"id": "half", "params": {"n": 3}, "returns": returned}
    small.declared["cases"] = [*small.declared["cases"], group]


def test_each_case_is_judged_by_its_groups_rule(small: Small) -> None:
    before = small.load().experiment
    _half(small)
    experiment = small.load().experiment
    first, *_, half = experiment.expand()
    assert experiment.judging(first) is experiment
    (returned,) = experiment.judging(half).returns
    assert returned.dtype == "float16"
    assert returned.compare is not None
    assert returned.compare.atol == 0.5
    # A reader who asks which rules there are is told of both.
    assert experiment.comparisons() == (*before.comparisons(), returned.compare)


def test_the_rule_of_a_group_is_part_of_what_evidence_is_of(small: Small) -> None:
    _half(small)
    before = small.load().cases_digest
    small.declared["cases"][-1]["returns"][0]["compare"]["atol"] = 0.25
    assert small.load().cases_digest != before
