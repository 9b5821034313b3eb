"""What the replay's tests share."""

from __future__ import annotations

import pytest

from bundler.digest import Digest
from bundler.model.experiment import Experiment
from bundler.replay.allowance import Allowance
from bundler.replay.runner import Job

SHA = Digest.of(b"")


@pytest.fixture
def experiment() -> Experiment:
    """Three cases, one candidate, two controls."""
    control = {"origin": "control", "outputs": [{"path": "x.py", "sha256": SHA}]}
    unknown = dict.fromkeys(("name", "version", "sampling", "system_prompt", "date", "procedure"), "unknown")
    compare = {"atol": 1e-6, "nan": "equal", "reason": "a test"}
    return Experiment.model_validate(
        {
            "schema": "bundler/experiment/1",
            "id": "tests/replay",
            "title": "",
            "skill": "tests/none",
            "language": "triton",
            "entry": "f",
            "base_task": {"path": "task.md", "sha256": SHA},
            "extraction": "only-block:python",
            "model": unknown,
            "arms": [
                {"name": "arm", "origin": "reconstructed", "outputs": [{"path": "a.py", "sha256": SHA}]},
                control | {"name": "right", "expect": "pass"},
                control | {"name": "wrong", "expect": "fail"},
            ],
            "runtime": {"name": "cuda13", "torch": "2.13.0", "triton": "3.7.1"},
            "harness": {"path": "harness.py", "sets": 2},
            "returns": [{"name": "out", "dtype": "float32", "compare": compare}],
            "cases": [{"id": "n={n}", "axes": [[{"n": 1}, {"n": 2}, {"n": 3}]]}],
            "limits": {"cell_seconds": 5},
        },
        strict=False,
    )


@pytest.fixture
def job(experiment: Experiment) -> Job:
    return Job(experiment, experiment.candidates()[0], b"def f(): ...", Allowance(memory_bytes=1 << 30))
