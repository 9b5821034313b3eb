"""Timings in every form of report: an admissible number is shown, a withheld one nowhere."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from bundler.experiment.load import Loaded
from bundler.judge.verdict import hold
from bundler.model.evidence import Evidence, GroundReport, evidence_json
from bundler.model.host import Gpu
from bundler.model.outcome import Mark, NotRun, Outcome, Passed
from bundler.model.timing import State, TimedCell, TimingPlan, Timings
from bundler.report import timings as timing_rows
from bundler.report.across import Facts
from bundler.report.html.page import page
from bundler.report.markdown import pull_request
from bundler.report.pages import proof
from bundler.report.terminal import screen
from bundler.timing.judge import judge_timing
from tests.small import HOST, WRONG_VALUES, Small, evidence, ground

SCENARIOS = Path(__file__).parent / "scenarios"


def _cell(scenario: str, candidate: str, **fields: Any) -> tuple[TimedCell, Gpu]:
    told = json.loads((SCENARIOS / f"{scenario}.json").read_text())
    gpu = Gpu.model_validate(told["gpu"])
    cell = TimedCell.model_validate(told["cell"] | {"candidate": candidate, "case": "n=100"} | fields)
    return cell.model_copy(update={"verdict": judge_timing(cell, gpu)}), gpu


@pytest.fixture
def loaded(tmp_path: Path) -> Loaded:
    loaded = Small(tmp_path).load()
    plan = TimingPlan(cases=("n=100",), bytes=f"{1 << 30} + 0 * n")
    return replace(loaded, experiment=loaded.experiment.model_copy(update={"timing": plan}))


def _evidence(loaded: Loaded, *scenarios: str) -> Evidence:
    names = ["without-skill/01", "with-skill/01"]
    made = [_cell(scenario, name) for scenario, name in zip(scenarios, names, strict=False)]
    timings = Timings(gpu=0, interleaved=True, cells=tuple(cell for cell, _ in made))
    host = HOST.model_copy(update={"gpus": (made[0][1],), "no_gpu": ""})
    return evidence(loaded, {"device": ground(loaded)}, host=host, timings=timings)


def _shown(loaded: Loaded, found: Evidence) -> dict[str, str]:
    stream = io.StringIO()
    console = Console(file=stream, width=400)
    screen.show(console, loaded.experiment, found, hold(loaded.experiment, found, ()), matrix=False)
    facts = Facts(loaded, (("h200", found),))
    return {
        "terminal": stream.getvalue(),
        "markdown": pull_request(facts),
        "page": proof(facts),
        "html": page(facts),
    }


def test_admissible_timings_and_their_ratio_are_shown(loaded: Loaded) -> None:
    for form, text in _shown(loaded, _evidence(loaded, "sound", "sound")).items():
        assert "admissible" in text, form
        assert "270" in text, form
        assert "no difference: 1.000 times the time" in text, form


def test_withheld_numbers_are_shown_nowhere_and_all_reasons_everywhere(loaded: Loaded) -> None:
    found = _evidence(loaded, "slow-idle-changing", "power-cap-steady-clocks")
    assert found.timings is not None
    samples = {f"{s:.0f}" for p in found.timings.cells[0].processes for s in p.samples_us}
    assert samples <= {"269", "270", "271"}
    for form, text in _shown(loaded, found).items():
        for rule in ("T05", "T07", "T08", "T11", "T15", "T16", "T10"):
            assert f"{rule}: " in text, (form, rule)
        assert not any(f" {sample}" in text for sample in samples), form
        assert "without-skill/01 is withheld" in text, form


def test_a_record_cannot_declare_its_own_numbers_admissible(loaded: Loaded) -> None:
    found = _evidence(loaded, "sound", "sound")
    assert found.timings is not None
    sound = found.timings.cells[0].verdict
    wrong, _ = _cell("14-of-15-calls-do-nothing", "without-skill/01")
    forged = wrong.model_copy(update={"verdict": sound})
    timings = found.timings.model_copy(update={"cells": (forged,)})
    (row,) = timing_rows.rows(found.model_copy(update={"timings": timings}), loaded.experiment)
    assert (row.state, row.value) == (State.WITHHELD, "")


def _with_cell(loaded: Loaded, **fields: Any) -> Evidence:
    """Sound in every way, but for what is said."""
    found = _evidence(loaded, "sound")
    assert found.timings is not None
    cells = (found.timings.cells[0].model_copy(update=fields),)
    return found.model_copy(update={"timings": found.timings.model_copy(update={"cells": cells})})


def _on(loaded: Loaded, outcome: Outcome | None) -> dict[str, GroundReport]:
    report = ground(loaded)
    row = {"n=100": outcome} if outcome else {}
    cells = {**report.cells, "without-skill/01": {**report.cells["without-skill/01"], **row}}
    if outcome is None:
        del cells["without-skill/01"]["n=100"]
    return {"device": report.model_copy(update={"cells": cells})}


_PLAN = {"cases": ("n=100",), "bytes": 1 << 30}
_NOT_RUN = NotRun(why="no-memory", detail="x")
_INVALID = GroundReport(status="invalid", reason="a control passed")


@pytest.mark.parametrize(
    ("grounds", "said"),
    [
        (lambda loaded: _on(loaded, WRONG_VALUES), "its cell on the device is wrong"),
        (lambda loaded: _on(loaded, _NOT_RUN), "its cell on the device is not-run"),
        (lambda loaded: _on(loaded, Passed(marks=(Mark.INPUT_CHANGED,))), "it changes its input"),
        (lambda loaded: _on(loaded, None), "its cell was not judged"),
        (lambda loaded: {"device": _INVALID}, "the device ground of the evidence is invalid"),
        (lambda loaded: {"interpreter": ground(loaded)}, "the evidence has no device ground"),
    ],
)
def test_what_the_same_evidence_contradicts_is_shown_nowhere(
    loaded: Loaded, grounds: Callable[[Loaded], dict[str, GroundReport]], said: str
) -> None:
    found = _evidence(loaded, "sound", "sound").model_copy(update={"grounds": grounds(loaded)})
    for form, text in _shown(loaded, found).items():
        assert f"T24: {said}" in text, form
        assert "times the time" not in text, form
    assert timing_rows.rows(found, None)[0].value == ""


@pytest.mark.parametrize(
    ("plan", "fields", "said"),
    [
        (None, {}, "wants nothing timed"),
        (_PLAN | {"cases": ("n=1",)}, {}, "no timing of this case"),
        (_PLAN | {"arms": ("with-skill",)}, {}, "no timing of this candidate"),
        (_PLAN | {"cache": "warm"}, {}, "with a cold L2, where the experiment wants a warm one"),
        (_PLAN, {"bytes": 1.0}, "other bytes of a call than the experiment declares"),
        (_PLAN, {"bytes": None}, "no bytes of a call"),
        (_PLAN, {"flops": 1.0}, "its own flops of a call"),
        (_PLAN | {"flops": "2 * n"}, {"flops": 1.0}, "other flops of a call"),
    ],
)
def test_what_the_experiment_does_not_want_timed_is_withheld(
    loaded: Loaded, plan: dict[str, Any] | None, fields: dict[str, Any], said: str
) -> None:
    timing = TimingPlan.model_validate(plan) if plan else None
    experiment = loaded.experiment.model_copy(update={"timing": timing})
    (row,) = timing_rows.rows(_with_cell(loaded, **fields), experiment)
    assert (row.state, row.value) == (State.WITHHELD, "")
    assert [said in note for note in row.notes if note.startswith("T24: ")] == [True]


def test_work_that_takes_the_tensors_to_say_is_labelled(loaded: Loaded) -> None:
    plan = TimingPlan(cases=("n=100",), bytes="4 * shape(0, 0)")
    experiment = loaded.experiment.model_copy(update={"timing": plan})
    (row,) = timing_rows.rows(_with_cell(loaded), experiment)
    assert row.state == State.ADMISSIBLE
    assert row.notes == ("T24: bytes depends on the tensors, so it is taken from the evidence",)


def test_without_an_experiment_a_timing_says_that_it_was_held_against_none(loaded: Loaded) -> None:
    (row,) = timing_rows.rows(_with_cell(loaded), None)
    assert row.state == State.ADMISSIBLE
    assert row.notes[0].startswith("T24: no experiment was named")


def test_what_was_not_timed_says_why(loaded: Loaded) -> None:
    cell = TimedCell(
        candidate="with-skill/01", case="n=100", cache="cold", call_bytes=0, sets=0, not_timed="it is <wrong>"
    )
    timings = Timings(gpu=0, interleaved=True, cells=(cell,))
    found = evidence(loaded, {"device": ground(loaded)}, timings=timings)
    texts = _shown(loaded, found)
    assert "it is <wrong>" in texts["terminal"]
    assert "it is &lt;wrong&gt;" in texts["html"]


def test_directions_on_two_hosts_are_held_against_each_other(loaded: Loaded) -> None:
    one = _evidence(loaded, "sound", "sound")
    other = _evidence(loaded, "sound", "slow-idle-changing")
    lines = timing_rows.agreements(loaded.experiment, (("a", one), ("b", other)))
    assert lines == ["with-skill/01 beside without-skill/01 on n=100: cannot tell (b and a)"]


def test_evidence_with_timings_is_read_again_as_it_was(loaded: Loaded) -> None:
    found = _evidence(loaded, "sound", "14-of-15-calls-do-nothing")
    assert Evidence.model_validate_json(evidence_json(found)) == found


def test_without_timings_a_report_says_so(loaded: Loaded) -> None:
    found = evidence(loaded, {"device": ground(loaded)})
    texts = _shown(loaded, found)
    assert "**Timings.** None are reported." in texts["markdown"]
    assert "Timings" not in texts["terminal"]
