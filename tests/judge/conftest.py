"""One small experiment for the judge: out = one tensor, by whatever rule a test gives it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bundler.digest import Digest
from bundler.model.experiment import Experiment

SHA = Digest.of(b"")


def experiment(**changes: Any) -> Experiment:
    """An experiment with a right and a wrong control; ``changes`` replace fields of it."""
    control = {"origin": "control", "outputs": [{"path": "x.py", "sha256": SHA}]}
    compare = {"atol": 1e-6, "rtol": 1e-6, "nan": "equal", "zero": "equal", "reason": "a test"}
    fields: dict[str, Any] = {
        "schema": "bundler/experiment/1",
        "id": "tests/judge",
        "title": "",
        "skill": "tests/none",
        "language": "triton",
        "entry": "f",
        "base_task": {"path": "task.md", "sha256": SHA},
        "extraction": "only-block:python",
        "model": dict.fromkeys(
            ("name", "version", "sampling", "system_prompt", "date", "procedure"), "unknown"
        ),
        "arms": [
            control | {"name": "right", "expect": "pass"},
            control | {"name": "wrong", "expect": "fail", "on": ["device", "interpreter"]},
        ],
        "runtime": {"name": "cuda13", "torch": "2.13.0", "triton": "3.7.1"},
        "harness": {"path": "harness.py"},
        "returns": [{"name": "out", "dtype": "float32", "compare": compare}],
        "cases": [{"id": "n={n}", "axes": [[{"n": 1}, {"n": 2}]]}],
    }
    return Experiment.model_validate(fields | changes, strict=False)


@pytest.fixture
def make_experiment() -> Callable[..., Experiment]:
    return experiment
