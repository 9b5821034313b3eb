"""The result of an experiment in one sentence that a stranger understands. Pure.

Reconstructions and controls never count: no model wrote them in answer to the prompt. One ground decides, as
where runs are counted: the device, else the compiler, whose sentence says nothing of values. What the
interpreter says is no run, so it is told only where nothing else judged a kernel, as a count that says so.
What the other grounds saw differently stands in ``remarks``.
"""

from __future__ import annotations

from collections.abc import Sequence

from bundler.judge.statistics import SIGNIFICANT, least_p
from bundler.model.experiment import Arm, Experiment
from bundler.report import summary
from bundler.report.across import Column, every_case
from bundler.report.decided import (
    CUT_SHORT,
    MISBEHAVED,
    UNRUN,
    Answers,
    baseline,
    decided,
    fault,
    generated,
    verdict,
)
from bundler.report.summary import LIMIT
from bundler.report.text import count, few


def headline(experiment: Experiment, columns: Sequence[Column], gpus: Sequence[str] = ()) -> str:
    """One sentence. ``gpus``: the names of the GPUs on which the device ground was judged."""
    found = decided(experiment, columns)
    if found is None:
        return _nothing(experiment, columns)
    ground, arms = found
    judged, right = sum(a.judged for a in arms), sum(a.right for a in arms)
    if judged == right:
        return _all_right(experiment, arms, ground, _where(ground, gpus), columns)
    return _some_wrong(experiment, arms, ground, _where(ground, gpus))


# --- sentences -------------------------------------------------------------------------------------


def _where(ground: str, gpus: Sequence[str]) -> str:
    if ground == "device":
        return f"on a GPU ({few(gpus, 3)})" if gpus else "on a GPU"
    return {"interpreter": "in Triton's interpreter"}.get(ground, "for the architectures asked for")


def _nothing(experiment: Experiment, columns: Sequence[Column]) -> str:
    faults = [fault(experiment, column) for column in columns if not column.valid]
    if faults:
        worst = min(faults, key=(MISBEHAVED, CUT_SHORT, UNRUN).index)
        return f"Nothing can be said: {worst[0].lower()}{worst[1:]}, so what ran here cannot be trusted."
    if columns:
        return "No cell of a kernel that a model wrote ran here."
    return "No cell ran here."


def _all_right(
    experiment: Experiment, arms: Sequence[Answers], ground: str, where: str, columns: Sequence[Column]
) -> str:
    kernels = sum(a.judged for a in arms)
    many = kernels > 1
    who = {1: "The one kernel", 2: "Both kernels"}.get(kernels, f"All {kernels:,} kernels")
    who += f" that {_models(arms)} wrote"
    does = ("compile" if many else "compiles") if ground == "compile" else "are right" if many else "is right"
    said = f"{who} {does} in {_every(experiment, arms)} {where}{_skills(arms)}"
    apart = "".join(_apart(experiment, column) for column in columns if column.kind != ground)
    there = "no difference was seen there" if apart else "no difference was seen"
    tail = f": {there}" if baseline(arms) is not None and len(arms) > 1 else ""
    return f"{said}{tail}{apart}{_UNKNOWN.get(ground, '')}."


def _apart(experiment: Experiment, column: Column) -> str:
    """What a ground that does not decide counts of each arm, where it fails one of the model's kernels."""
    if not column.valid or all(verdict(c, [column]) is not False for c in generated(experiment)):
        return ""
    counted = summary.counts(experiment, column.group.report)
    ran_there = [(arm, its) for arm in experiment.generated() if (its := counted[arm.name]).judged]
    said = [(arm, f"{its.passed:,} of {its.judged:,}") for arm, its in ran_there]
    arm, its = ran_there[0]
    said[0] = arm, f"{its.passed:,} of {count(its.judged, 'cell')} passed"
    tally = _listed(experiment, said)
    whose = ", whose failures may be its own" if column.kind == "interpreter" else ""
    return f"; on the ground {column.title}{whose}, {tally}"


_UNKNOWN = {
    "compile": "; no GPU judged whether the values are right",
    "interpreter": "; neither a GPU nor a compiler judged them, and the interpreter alone counts for nothing",
}
"""What a ground that is not the device leaves open."""


def _models(arms: Sequence[Answers]) -> str:
    models = len({answers.model for answers in arms})
    return "the model" if models == 1 else f"{models} models"


def _every(experiment: Experiment, arms: Sequence[Answers]) -> str:
    return every_case(experiment, [cases for answers in arms for cases in answers.cases])


def _skills(arms: Sequence[Answers]) -> str:
    """``, with and without the skill``."""
    without, with_ = baseline(arms), [a for a in arms if a.arm.skill]
    if without and with_:
        return ", with and without the skill"
    return ", with the skill; nothing without it ran" if with_ else ", without the skill"


def _some_wrong(experiment: Experiment, arms: Sequence[Answers], ground: str, where: str) -> str:
    without = baseline(arms)
    skilled = [a for a in arms if a.arm.skill]
    does = f"{'compiled' if ground == 'compile' else 'right'} in {_every(experiment, arms)}"
    tally = _tally(experiment, arms, does, where) + _LEFT_OPEN.get(ground, "")
    if without is None or not skilled:
        return f"{tally}; there is nothing to compare with, so nothing is said of the skill."
    can_tell = len(arms) == 2 and _can_tell(ground, skilled[0], without)
    effect = _effect(skilled[0], without, where) if can_tell else ""
    return f"{effect or tally}."


_LEFT_OPEN = {
    "compile": "; no GPU judged the values",
    "interpreter": f"; {LIMIT}, and what it passes counts for nothing",
}
"""What a count of kernels that are not all right leaves open, where it is not the device's."""


def _can_tell(ground: str, skilled: Answers, baseline: Answers) -> bool:
    """Whether an effect may be claimed: of one model, and of so many runs that chance can be told from it.

    What the interpreter says is no run.
    """
    enough = least_p(baseline.judged, skilled.judged) <= SIGNIFICANT
    return ground != "interpreter" and skilled.model == baseline.model and enough


def _effect(skilled: Answers, baseline: Answers, where: str) -> str:
    """``The skill breaks 11 of 11 cases``: every kernel without it passes, and none with it, or the reverse.

    Empty where cases are mixed: then only the counts of kernels say what was seen.
    """
    cases = skilled.cells.keys() & baseline.cells.keys()
    broken = [c for c in cases if all(baseline.cells[c]) and not any(skilled.cells[c])]
    mended = [c for c in cases if all(skilled.cells[c]) and not any(baseline.cells[c])]
    same = [c for c in cases if all(skilled.cells[c]) and all(baseline.cells[c])]
    if not cases or len(broken) + len(mended) + len(same) != len(cases) or bool(broken) == bool(mended):
        return ""
    verb, of = ("breaks", broken) if broken else ("mends", mended)
    # A skill's effect is what was seen in these answers; how many they are belongs to the sentence.
    answers = f"{count(skilled.judged, 'answer')} with it and {baseline.judged:,} without"
    return f"The skill {verb} {len(of):,} of {count(len(cases), 'case')} {where}, as seen in {answers}"


def _tally(experiment: Experiment, arms: Sequence[Answers], does: str, where: str) -> str:
    listed = _listed(experiment, [(a.arm, f"{a.right:,} of {a.judged:,}") for a in arms])
    return f"Of the kernels that {_models(arms)} wrote, {listed} are {does} {where}"


def _listed(experiment: Experiment, said: Sequence[tuple[Arm, str]]) -> str:
    """``1 of 3 without the skill and 3 of 3 with the skill 0.1.0``."""
    one_model = len({experiment.model_of(arm) for arm, _ in said}) == 1
    *before, last = [f"{told} {_with(arm) if one_model else f'in {arm.name}'}" for arm, told in said]
    return f"{', '.join(before)} and {last}" if before else last


def _with(arm: Arm) -> str:
    return f"with the skill {arm.skill.version}" if arm.skill else "without the skill"
