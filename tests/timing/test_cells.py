"""Which cells are timed, in which turn, and what is said of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from bundler.errors import BadExperiment
from bundler.experiment.load import Loaded
from bundler.model.outcome import Mark, Outcome, Passed, Wrong
from bundler.model.timing import State, Timings
from bundler.replay import timed_process
from bundler.replay.allowance import Allowance
from bundler.replay.timing import Bench, time_cells
from tests.small import Small
from tests.timing.fakes import GPU, L2, FakeGpu, FakeOracle, FakeSampler, TimedZygote, be_quick

pytest.importorskip("torch")
pytestmark = pytest.mark.torch
N = L2


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    be_quick(monkeypatch)


def _loaded(small: Small, **timing: Any) -> Loaded:
    small.declared["cases"] = [{"id": "n={n}", "axes": [[{"n": N}, {"n": 4}]]}]
    small.declared["timing"] = {"cases": [f"n={N}"], "bytes": "8 * n"} | timing
    return small.load()


def _times(
    loaded: Loaded, outcomes: dict[str, Outcome] | None = None, processes: int = 2, invalid: str = ""
) -> Timings:
    def call(gpu: FakeGpu, arguments: Sequence[Any]) -> Any:
        gpu.work(300)
        return arguments[0] * 2

    experiment = loaded.experiment
    zygote = TimedZygote(call)
    bench = Bench(
        loaded, zygote, FakeOracle(2.0), GPU, Allowance(memory_bytes=1 << 30), processes=processes,
        sampler=FakeSampler,
    )  # type: ignore[arg-type]  # fmt: skip
    cells = {
        c.id: {case.id: (outcomes or {}).get(c.id, Passed()) for case in experiment.expand()}
        for c in experiment.candidates()
    }
    return time_cells(bench, experiment.candidates(), experiment.expand(), cells, invalid=invalid)


@pytest.fixture
def small(tmp_path: Any) -> Small:
    return Small(tmp_path)


def test_generated_arms_and_right_controls_are_timed_on_the_named_cases(small: Small) -> None:
    timings = _times(_loaded(small))
    assert [(cell.candidate, cell.case) for cell in timings.cells] == [
        ("without-skill/01", f"n={N}"),
        ("with-skill/01", f"n={N}"),
        ("control-right/control-right", f"n={N}"),
    ]
    assert {len(cell.processes) for cell in timings.cells} == {2}
    assert all(cell.verdict and cell.verdict.state is State.WITHHELD for cell in timings.cells)
    assert timings.cells[0].bytes == 8 * N
    assert timings.cells[0].call_bytes == 8 * N


def test_on_an_invalid_ground_nothing_is_timed(small: Small) -> None:
    timings = _times(_loaded(small), invalid="control control-wrong must fail and passed")
    assert len(timings.cells) == 3
    said = "the device ground is invalid: control control-wrong must fail and passed"
    assert {cell.not_timed for cell in timings.cells} == {said}


def test_the_processes_take_turns(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    run = timed_process.TimedProcess.run

    def noted(process: timed_process.TimedProcess, zygote: Any) -> Any:
        order.append(process.target.job.candidate.arm.name)
        return run(process, zygote)

    monkeypatch.setattr(timed_process.TimedProcess, "run", noted)
    _times(_loaded(small, arms=["without-skill", "with-skill"]))
    assert order == ["without-skill", "with-skill"] * 2


def test_what_did_not_pass_is_not_timed(small: Small) -> None:
    wrong = Wrong(what="values", call=0, detail="all")
    changed = Passed(marks=(Mark.INPUT_CHANGED,))
    timings = _times(
        _loaded(small, arms=["without-skill", "with-skill"]),
        {"without-skill/01": wrong, "with-skill/01": changed},
    )
    assert [cell.not_timed for cell in timings.cells] == [
        "its cell on the device is wrong",
        "it changes its input, so a second call would have other values",
    ]
    assert all(cell.verdict is None for cell in timings.cells)


def test_a_work_that_cannot_be_computed_is_the_experiments_fault(small: Small) -> None:
    with pytest.raises(BadExperiment, match="'8 \\* rows'"):
        _times(_loaded(small, bytes="8 * rows"))


@pytest.mark.parametrize("timing", [{"cases": ["n=5"]}, {"arms": ["nobody"]}])
def test_a_plan_names_only_what_is_there(small: Small, timing: dict[str, Any]) -> None:
    with pytest.raises(BadExperiment):
        _loaded(small, **timing)
