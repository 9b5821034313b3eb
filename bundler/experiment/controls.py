"""Whether a ground can tell right from wrong: the controls must do what they were written to do."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from bundler.model.experiment import Candidate, Expect, Experiment, Ground, Language
from bundler.model.outcome import Outcome, Passed, ran

Cells = Mapping[str, Mapping[str, Outcome]]


def misbehaviour(
    experiment: Experiment, ground: Ground, cells: Cells, *, of: Collection[str] | None = None
) -> str:
    """Why the ground is invalid; empty when every control that is declared for it behaved.

    A control that could not be judged at all makes the ground invalid as well: nothing then shows that
    the harness can tell. ``of``: the candidates that there were when the cells were judged; a control that
    was declared later is not held against them, as long as one of its kind was there.
    """
    declared = _controls(experiment, ground)
    there = [control for control in declared if of is None or control.id in of]
    for expect in Expect:
        if expect in {c.arm.expect for c in declared} - {c.arm.expect for c in there}:
            return f"no control that must {expect} was there"
    return next(filter(None, (_problem(control, cells.get(control.id, {})) for control in there)), "")


def _controls(experiment: Experiment, ground: Ground) -> list[Candidate]:
    """Those that are declared for a ground."""
    return [c for c in experiment.candidates() if c.arm.is_control and ground in grounds_of(experiment, c)]


def misbehaved(experiment: Experiment, ground: Ground, cells: Cells, *, complete: bool) -> bool:
    """Whether a control of an invalid ground did what it must not; False where what it lacks is a run.

    ``complete``: whether every cell had its turn. Of a replay that was cut short, a control that must fail
    may yet have failed.
    """
    outcomes = [
        (c.arm.expect, [o for o in cells.get(c.id, {}).values() if ran(o)])
        for c in _controls(experiment, ground)
    ]
    return any(_contradicts(expect, judged, complete) for expect, judged in outcomes if judged)


def _contradicts(expect: Expect | None, judged: Sequence[Outcome], complete: bool) -> bool:
    passed = [isinstance(outcome, Passed) for outcome in judged]
    return not all(passed) if expect is Expect.PASS else complete and all(passed)


def grounds_of(experiment: Experiment, control: Candidate) -> frozenset[Ground]:
    """Where a control has to behave: where it is declared for, but nothing in CUDA C++ runs in Triton's
    interpreter."""
    language = experiment.language_of(control.arm)
    nowhere = {Ground.INTERPRETER} if language is Language.CUDA else set()
    return frozenset(control.arm.on) - nowhere


def _problem(candidate: Candidate, cells: Mapping[str, Outcome]) -> str:
    judged = {case: outcome for case, outcome in cells.items() if ran(outcome)}
    if not judged:
        return f"control {candidate.id} was not run, so nothing shows that this ground can tell"
    failing = [case for case, outcome in judged.items() if not isinstance(outcome, Passed)]
    if candidate.arm.expect is Expect.PASS and failing:
        return f"control {candidate.id} must pass and did not on {failing[0]}{_alike(judged)}"
    if candidate.arm.expect is Expect.FAIL and not failing:
        return f"control {candidate.id} must fail and passed every case that ran ({len(judged)})"
    return ""


def _alike(judged: Mapping[str, Outcome]) -> str:
    """What every case that ran says of why; empty where they do not say the same."""
    said = {getattr(outcome, "detail", "") or getattr(outcome, "error", "") for outcome in judged.values()}
    lines = str(said.pop()).strip().splitlines() if len(said) == 1 else []
    others = " or any other case that ran" if len(judged) > 1 else ""
    return f"{others}: {lines[-1][:300]}" if lines else ""
