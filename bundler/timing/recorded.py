"""T24: a timing is held against the rest of its evidence, and against what its experiment wants timed."""

from __future__ import annotations

from collections.abc import Iterator

from bundler.model.experiment import Candidate, Case, Expect, Experiment
from bundler.model.expression import BadExpression, evaluate
from bundler.model.outcome import Mark, Passed, kind
from bundler.model.timing import TimedCell, TimingPlan
from bundler.timing.facts import Around, Finding, Findings, Measured, label, withheld


def wanted(plan: TimingPlan, candidate: Candidate) -> bool:
    """Whether the plan has the candidate timed."""
    if plan.arms is not None:
        return candidate.arm.name in plan.arms
    return candidate.arm.prompt_sha256 is not None or candidate.arm.expect is Expect.PASS


def as_recorded(m: Measured) -> Findings:
    """T24: the same evidence has the cell passed on a judged device ground, and the plan wants it so.

    No source but ``replay.timing``, which times nothing else: a file that says otherwise was changed.
    """
    if m.around is None:  # while it is measured, only such cells are
        return
    if why := _not_passed(m.cell, m.around):
        yield withheld(f"{why}, and only what passed there is timed")
    if m.around.experiment is None:
        yield label("no experiment was named to say what is to be timed and what work a call has to do")
    else:
        yield from _planned(m.cell, m.around.experiment)


def _not_passed(cell: TimedCell, around: Around) -> str:
    if around.ground is None:
        return "the evidence has no device ground"
    if around.ground.status != "judged":
        return f"the device ground of the evidence is {around.ground.status}"
    outcome = around.ground.cells.get(cell.candidate, {}).get(cell.case)
    if not isinstance(outcome, Passed):
        return f"its cell on the device is {kind(outcome)}" if outcome else "its cell was not judged"
    return "it changes its input" if Mark.INPUT_CHANGED in outcome.marks else ""


def _planned(cell: TimedCell, experiment: Experiment) -> Iterator[Finding]:
    plan = experiment.timing
    if plan is None:
        yield withheld("the experiment wants nothing timed")
        return
    if cell.candidate not in {c.id for c in experiment.candidates() if wanted(plan, c)}:
        yield withheld("the experiment wants no timing of this candidate")
    if cell.cache is not plan.cache:
        yield withheld(f"it was timed with a {cell.cache} L2, where the experiment wants a {plan.cache} one")
    case = next((case for case in experiment.expand() if case.id == cell.case), None)
    if case is None or cell.case not in plan.cases:
        yield withheld("the experiment wants no timing of this case")
    else:
        yield from _work("bytes", cell.bytes, plan.bytes, case)
        yield from _work("flops", cell.flops, plan.flops, case)


def _work(name: str, found: float | None, declared: str | float | None, case: Case) -> Iterator[Finding]:
    """The least work of a call, which T03 and T04 take from the evidence, is what the experiment declares."""
    if (found is None) != (declared is None):
        yield withheld(f"the evidence has {'no' if found is None else 'its own'} {name} of a call")
    elif declared is not None and found != (right := _value(declared, case)):
        if right is None:
            yield label(f"{name} depends on the tensors, so it is taken from the evidence")
        else:
            yield withheld(f"the evidence has other {name} of a call than the experiment declares")


def _value(declared: str | float, case: Case) -> float | None:
    """None where it takes the tensors to say."""
    try:
        return float(evaluate(declared, case.params))
    except BadExpression:
        return None
