"""How far a replay is, as a line of stderr: a bundler that runs for another says it, the other reads it."""

from __future__ import annotations

import json

from bundler.model.experiment import MAX_CANDIDATES, MAX_CASES, Ground
from bundler.replay.request import Step

PROGRESS = "@progress "
"""How such a line begins."""


def progress_line(step: Step) -> str:
    """A step as a line of stderr, for the bundler outside."""
    return PROGRESS + json.dumps({"ground": step.ground, "done": step.done, "total": step.total})


def read_step(line: str) -> Step | None:
    """What a container says of its progress, which may be anything."""
    try:
        value = json.loads(line.removeprefix(PROGRESS))
        ground, done, total = Ground(value["ground"]), value["done"], value["total"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    sound = type(done) is type(total) is int and 0 <= done <= total <= MAX_CASES * MAX_CANDIDATES
    return Step(ground.value, done, total) if sound else None
