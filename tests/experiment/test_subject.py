"""Evidence that lacks cells, or whose controls contradict what it says of itself, is no evidence."""

from __future__ import annotations

from typing import Any

import pytest

from bundler.errors import BadEvidence
from bundler.experiment.subject import mismatch
from bundler.model.evidence import Evidence
from tests.small import PASSED, WRONG_VALUES, Small, evidence, ground

WRONG = "control-wrong/control-wrong"
RIGHT = "control-right/control-right"


@pytest.fixture
def sound(small: Small) -> Evidence:
    loaded = small.load()
    return evidence(loaded, {"device": ground(loaded, {"with-skill/01": WRONG_VALUES})})


def changed(
    sound: Evidence, row: dict[str, Any] | None, of: str = "with-skill/01", **fields: Any
) -> Evidence:
    """With another row of cells for a candidate, or without it; ``fields`` of the evidence."""
    report = sound.grounds["device"]
    cells = {name: cells for name, cells in report.cells.items() if name != of or row is not None}
    if row is not None:
        cells[of] = row
    grounds = {"device": report.model_copy(update={"cells": cells})}
    return sound.model_copy(update={"grounds": grounds} | fields)


def forget(sound: Evidence, *candidates: str) -> Evidence:
    """The evidence as if these had not been there."""
    report = sound.grounds["device"]
    kept = {name: row for name, row in report.cells.items() if name not in candidates}
    digests = {n: d for n, d in sound.subject.candidates.items() if n not in candidates}
    return sound.model_copy(
        update={
            "grounds": {"device": report.model_copy(update={"cells": kept})},
            "subject": sound.subject.model_copy(update={"candidates": digests}),
        }
    )


def test_a_whole_one_is_of_its_experiment(small: Small, sound: Evidence) -> None:
    assert mismatch(small.load(), sound) == ""


@pytest.mark.parametrize("row", [{"n=1": WRONG_VALUES}, {}, None])
def test_a_cell_that_was_taken_out_is_missed(
    small: Small, sound: Evidence, row: dict[str, Any] | None
) -> None:
    """Else a wrong answer is right in every case that is left."""
    found = mismatch(small.load(), changed(sound, row))
    assert found.startswith("no cell of 'with-skill/01' on ")
    assert found.endswith("on device")


def test_a_replay_that_was_cut_short_lacks_cells_and_is_not_recorded(small: Small, sound: Evidence) -> None:
    cut = changed(sound, {}, complete=False)
    assert mismatch(small.load(), cut) == ""
    small.record(cut)
    with pytest.raises(BadEvidence, match="was cut short"):
        small.load()


@pytest.mark.parametrize("narrower", [{"cases": ("n=1",)}, {"candidates": ("with-skill/01",)}])
def test_a_replay_of_less_is_not_recorded(small: Small, sound: Evidence, narrower: dict[str, Any]) -> None:
    """Else the failing case is left out by saying that it was not asked for."""
    only = {"n=1"}
    cells = {
        name: {case: outcome for case, outcome in row.items() if case in only or "cases" not in narrower}
        for name, row in sound.grounds["device"].cells.items()
    }
    report = sound.grounds["device"].model_copy(update={"cells": cells})
    settings = sound.settings.model_copy(update=narrower)
    less = sound.model_copy(update={"grounds": {"device": report}, "settings": settings})
    assert mismatch(small.load(), less) == ""
    small.record(less)
    with pytest.raises(BadEvidence, match="some candidates or cases alone"):
        small.load()


@pytest.mark.parametrize(
    ("control", "outcome", "said"),
    [
        (WRONG, PASSED, f"control {WRONG} must fail and passed"),
        (RIGHT, WRONG_VALUES, f"control {RIGHT} must pass and did not"),
    ],
)
def test_a_ground_is_not_judged_whose_controls_say_otherwise(
    small: Small, sound: Evidence, control: str, outcome: Any, said: str
) -> None:
    row = dict.fromkeys(sound.grounds["device"].cells[control], outcome)
    found = mismatch(small.load(), changed(sound, row, of=control))
    assert found.startswith(f"a ground that it calls judged, device, though {said}")


@pytest.mark.parametrize(("control", "kind"), [(WRONG, "fail"), (RIGHT, "pass")])
def test_a_control_that_was_taken_out_is_missed(
    small: Small, sound: Evidence, control: str, kind: str
) -> None:
    found = mismatch(small.load(), forget(sound, control))
    assert found == f"a ground that it calls judged, device, though no control that must {kind} was there"


def test_a_control_that_is_declared_later_leaves_evidence_what_it_was(small: Small, sound: Evidence) -> None:
    small.declared["arms"].append(small.control("control-later", b"broken\n", "fail"))
    assert mismatch(small.load(), sound) == ""


def test_controls_of_which_more_is_expected_now(small: Small) -> None:
    """No digest has what a control must do, nor where."""
    loaded = small.load()
    passed = dict.fromkeys((case.id for case in loaded.experiment.expand()), PASSED)
    sound = evidence(loaded, {"compile:sm_90": ground(loaded, {WRONG: passed})})
    assert mismatch(loaded, sound) == ""
    small.arm("control-wrong")["on"] = ["device", "interpreter", "compile"]
    assert "though control control-wrong/control-wrong must fail" in mismatch(small.load(), sound)
