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
from bundler.report.across import Column
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
        return _all_right(arms, ground, _where(ground, gpus), columns, experiment)
    return _some_wrong(arms, ground, _where(ground, gpus))


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
    arms: Sequence[Answers], ground: str, where: str, columns: Sequence[Column], experiment: Experiment
) -> str:
    kernels = sum(a.judged for a in arms)
    many = kernels > 1
    who = {1: "The one kernel", 2: "Both kernels"}.get(kernels, f"All {kernels:,} kernels")
    who += f" that {_models(arms)} wrote"
    if ground == "compile":
        said = f"{who} {'compile' if many else 'compiles'}{_skills(arms)}"
    else:
        said = f"{who} {'are' if many else 'is'} right in {_every(arms)} {where}{_skills(arms)}"
    elsewhere = [c for c in columns if c.valid and c.kind != ground]
    failed = any(verdict(c, [column]) is False for column in elsewhere for c in generated(experiment))
    there = "no difference was seen there" if failed else "no difference was seen"
    tail = f": {there}" if baseline(arms) is not None and len(arms) > 1 else ""
    return f"{said}{tail}{_UNKNOWN.get(ground, '')}."


_UNKNOWN = {
    "compile": "; no GPU judged whether the values are right",
    "interpreter": "; neither a GPU nor a compiler judged them, and the interpreter alone counts for nothing",
}
"""What a ground that is not the device leaves open."""


def _models(arms: Sequence[Answers]) -> str:
    models = len({answers.model for answers in arms})
    return "the model" if models == 1 else f"{models} models"


def _every(arms: Sequence[Answers]) -> str:
    """A cell that was not run is no pass: so it is said where there are any."""
    return "every case" if all(answers.complete for answers in arms) else "every case that ran"


def _skills(arms: Sequence[Answers]) -> str:
    """``, with and without the skill``."""
    without, with_ = baseline(arms), [a for a in arms if a.arm.skill]
    if without and with_:
        return ", with and without the skill"
    return ", with the skill; nothing without it ran" if with_ else ", without the skill"


def _some_wrong(arms: Sequence[Answers], ground: str, where: str) -> str:
    without = baseline(arms)
    skilled = [a for a in arms if a.arm.skill]
    tally = _tally(arms, where, "compiled" if ground == "compile" else "right") + _LEFT_OPEN.get(ground, "")
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


def _tally(arms: Sequence[Answers], where: str, does: str) -> str:
    one_model = len({answers.model for answers in arms}) == 1
    said = [f"{a.right:,} of {a.judged:,} {_with(a.arm) if one_model else f'in {a.arm.name}'}" for a in arms]
    *before, last = said
    listed = f"{', '.join(before)} and {last}" if before else last
    return f"Of the kernels that {_models(arms)} wrote, {listed} are {does} in {_every(arms)} {where}"


def _with(arm: Arm) -> str:
    return f"with the skill {arm.skill.version}" if arm.skill else "without the skill"
