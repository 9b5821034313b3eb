"""What a candidate returned can make a harness raise: its cells are not judged then, the others' are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bundler.model.experiment import Case
from bundler.model.outcome import NotRun, Why, kind
from bundler.replay.oracle import DeriveFailed, Oracle
from bundler.replay.replay import replay
from bundler.replay.request import Request, Watch
from tests.small import HARNESS, ID, Small

pytestmark = pytest.mark.torch

DERIVE = b"""
def derive(case, which, arguments, outputs):
    if outputs[0][0] != 2 * arguments[0].values[0]:
        raise ValueError("I did not expect that")
    return outputs[0]
"""


@pytest.fixture
def derived(tmp_path: Path) -> Small:
    small = Small(tmp_path)
    rule = small.declared["returns"][0].pop("compare")
    small.declared["derived"] = [{"name": "same", "compare": rule}]
    reference = b"    right = _reference(case, which, arguments)\n    return right, right\n"
    harness = HARNESS.replace(b"def reference(", b"def _reference(")
    small.put(
        f"proof/{ID}/harness.py",
        harness + b"\n\ndef reference(case, which, arguments):\n" + reference + DERIVE,
    )
    return small


def test_a_derive_that_raises_costs_the_cells_it_raised_over(derived: Small) -> None:
    evidence = replay(derived.load(), Request(device=False), Watch())
    cells = evidence.grounds["interpreter"].cells
    assert evidence.complete
    assert {kind(o) for o in cells["with-skill/01"].values()} == {"passed"}
    wrong = list(cells["control-wrong/control-wrong"].values())
    assert all(isinstance(o, NotRun) and o.why is Why.INFRASTRUCTURE for o in wrong)
    assert "ValueError: I did not expect that" in wrong[0].detail
    # The control that has to fail was not judged, so nothing shows that the harness can tell.
    assert evidence.grounds["interpreter"].status == "invalid"


def test_what_a_harness_raises_over_is_not_tried_again(
    derived: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would raise again; a host that refused a process may have one later."""
    tries: list[str] = []
    derive = Oracle.derive

    def noted(oracle: Oracle, case: Case, *rest: Any) -> Any:
        try:
            return derive(oracle, case, *rest)
        except DeriveFailed:
            tries.append(case.id)
            raise

    monkeypatch.setattr(Oracle, "derive", noted)
    replay(derived.load(), Request(device=False, jobs=1), Watch())
    assert sorted(tries) == ["n=1", "n=100"]


def test_a_ground_on_which_no_case_can_run_is_not_invalid(tmp_path: Path) -> None:
    small = Small(tmp_path)
    for group in small.declared["cases"]:
        group["needs"] = {"min_sm": 89}
    request = Request(device=False, interpreter=False, architectures=(80, 90))
    evidence = replay(small.load(), request, Watch())
    assert evidence.grounds["compile:sm_80"].status == "not-available"
    assert evidence.grounds["compile:sm_80"].reason == "no cell was run: needs sm_89"
    assert evidence.grounds["compile:sm_90"].status != "not-available"
