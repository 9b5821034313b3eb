"""Which ground decides what an experiment shows, and what the model's kernels gave there. Pure.

As where runs are counted it is the device, else the compiler. What the interpreter says is no run, so it
decides only where nothing else judged a kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bundler.experiment.controls import misbehaved
from bundler.model.experiment import Arm, Candidate, Experiment, Ground, ModelFacts, Origin, by_arm
from bundler.model.outcome import Outcome, Passed, ran
from bundler.report.across import Column, cases_judged

_STRENGTH = ("device", "compile", "interpreter")


@dataclass(frozen=True)
class Answers:
    """What the model's kernels of one arm gave on the deciding ground."""

    arm: Arm
    right: int
    judged: int
    cells: dict[str, tuple[bool, ...]]
    """Whether each judged kernel passed, by case."""
    model: ModelFacts
    cases: tuple[int, ...]
    """How many cases each column judged of each kernel."""


def decided(experiment: Experiment, columns: Sequence[Column]) -> tuple[str, list[Answers]] | None:
    """The ground and the arms that were judged there; None where no generated kernel was judged."""
    for ground in _STRENGTH:
        there = [column for column in columns if column.valid and column.kind == ground]
        arms = [
            _answers(arm, cs, there, experiment.model_of(arm))
            for arm, cs in by_arm(experiment)
            if arm.origin is Origin.GENERATED
        ]
        arms = [answers for answers in arms if answers.judged]
        if arms:
            return ground, arms
    return None


def generated(experiment: Experiment) -> list[Candidate]:
    """What a model wrote."""
    return [c for c in experiment.candidates() if c.arm.origin is Origin.GENERATED]


def _answers(
    arm: Arm, candidates: Sequence[Candidate], columns: Sequence[Column], model: ModelFacts
) -> Answers:
    verdicts = [v for c in candidates if (v := verdict(c, columns)) is not None]
    cells: dict[str, list[bool]] = {}
    for candidate in candidates:
        for case, outcome in _cells(candidate, columns):
            cells.setdefault(case, []).append(isinstance(outcome, Passed))
    return Answers(
        arm,
        right=sum(verdicts),
        judged=len(verdicts),
        cells={case: tuple(v) for case, v in cells.items()},
        model=model,
        cases=cases_judged(candidates, [column.group.report for column in columns]),
    )


def _cells(candidate: Candidate, columns: Sequence[Column]) -> list[tuple[str, Outcome]]:
    rows = [column.group.report.cells.get(candidate.id, {}) for column in columns]
    return [(case, outcome) for row in rows for case, outcome in row.items() if ran(outcome)]


def verdict(candidate: Candidate, columns: Sequence[Column]) -> bool | None:
    """Whether a kernel passed every cell that ran; None where none did."""
    outcomes = [outcome for _, outcome in _cells(candidate, columns)]
    return all(isinstance(o, Passed) for o in outcomes) if outcomes else None


def deciding(experiment: Experiment, columns: Sequence[Column]) -> list[Column]:
    """The columns that the headline speaks of; none where no generated kernel was judged."""
    found = decided(experiment, columns)
    return [column for column in columns if found and column.valid and column.kind == found[0]]


def baseline(arms: Sequence[Answers]) -> Answers | None:
    """The arm without the skill; None where none was judged."""
    return next((a for a in arms if a.arm.skill is None), None)


# --- grounds of which nothing counts ---------------------------------------------------------------

MISBEHAVED = "A control misbehaved"
CUT_SHORT = "The replay was cut short before every control had run"
UNRUN = "A control was not run"


def fault(experiment: Experiment, column: Column) -> str:
    """Why an invalid ground counts for nothing."""
    cells = column.group.report.cells
    if misbehaved(experiment, Ground(column.kind), cells, complete=column.complete):
        return MISBEHAVED
    return UNRUN if column.complete else CUT_SHORT
