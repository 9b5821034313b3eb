"""What the replay's tests share."""

from __future__ import annotations

import pytest

from bundler.model.experiment import Experiment
from bundler.replay.allowance import Allowance
from bundler.replay.runner import Job
from tests.judge.conftest import SHA
from tests.judge.conftest import experiment as make_experiment


@pytest.fixture
def experiment() -> Experiment:
    """Three cases, one candidate, two controls."""
    control = {"origin": "control", "outputs": [{"path": "x.py", "sha256": SHA}]}
    compare = {"atol": 1e-6, "nan": "equal", "reason": "a test"}
    return make_experiment(
        id="tests/replay",
        arms=[
            {"name": "arm", "origin": "reconstructed", "outputs": [{"path": "a.py", "sha256": SHA}]},
            control | {"name": "right", "expect": "pass"},
            control | {"name": "wrong", "expect": "fail"},
        ],
        harness={"path": "harness.py", "sets": 2},
        returns=[{"name": "out", "dtype": "float32", "compare": compare}],
        cases=[{"id": "n={n}", "axes": [[{"n": 1}, {"n": 2}, {"n": 3}]]}],
        limits={"cell_seconds": 5},
    )


@pytest.fixture
def job(experiment: Experiment) -> Job:
    return Job(experiment, experiment.candidates()[0], b"def f(): ...", Allowance(memory_bytes=1 << 30))
