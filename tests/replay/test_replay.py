"""A whole replay of a small experiment on the interpreter ground."""

from __future__ import annotations

from pathlib import Path

import pytest

from bundler.experiment.load import Loaded
from bundler.model.evidence import Evidence
from bundler.model.outcome import Crashed, NotRun, Passed, Why
from bundler.replay.replay import replay
from bundler.replay.request import Request, Step, Watch
from tests.attacks.build import build
from tests.attacks.corpus import LATER

pytestmark = pytest.mark.torch

ATTACK = "exit-in-the-second-case/exit-in-the-second-case"


@pytest.fixture
def loaded(tmp_path: Path) -> Loaded:
    return build(tmp_path, LATER, "interpreter")


def _replay(loaded: Loaded, watch: Watch, **changes: object) -> Evidence:
    request = Request(device=False, candidates=(ATTACK,), jobs=1, seed=11, **changes)  # type: ignore[arg-type]
    return replay(loaded, request, watch)


@pytest.mark.slow
def test_one_case_dies_and_no_other_is_lost(loaded: Loaded) -> None:
    steps: list[Step] = []
    evidence = _replay(loaded, Watch(step=steps.append))
    report = evidence.grounds["interpreter"]
    assert (evidence.complete, report.status) == (True, "judged")
    assert report.cells[ATTACK] == {
        "n=64": Passed(error=report.cells[ATTACK]["n=64"].error),  # type: ignore[union-attr]
        "n=128": Passed(error=report.cells[ATTACK]["n=128"].error),  # type: ignore[union-attr]
        "n=200": Crashed(detail="ended with status 0"),
    }
    assert len(steps) == 3 * 4
    assert evidence.judge_isolation["undumpable"] == "held"
    assert report.isolation["no-new-privs"] == "held"
    assert Evidence.model_validate_json(evidence.model_dump_json(by_alias=True)) == evidence


def test_an_interrupted_replay_has_every_cell(loaded: Loaded) -> None:
    def step(step: Step) -> None:
        if step.done == 2:
            raise KeyboardInterrupt

    evidence = _replay(loaded, Watch(step=step), cases=("n=64", "n=128"))
    report = evidence.grounds["interpreter"]
    assert not evidence.complete
    outcomes = [outcome for row in report.cells.values() for outcome in row.values()]
    assert len(outcomes) == 4 * 2
    left = [outcome for outcome in outcomes if isinstance(outcome, NotRun)]
    assert left
    assert all(outcome.why is Why.INTERRUPTED for outcome in left)


@pytest.mark.slow
def test_a_kernel_is_the_same_on_every_run(loaded: Loaded) -> None:
    """Threads, folders and process ids leave no trace in what was compiled."""
    made = [
        _replay(loaded, Watch(), interpreter=False, architectures=(90,), cases=("n=64",)).kernels
        for _ in range(2)
    ]
    assert made[0] == made[1]
    assert made[0]
