"""The result of an experiment in one sentence that a stranger understands. Pure.

Reconstructions and controls never count: no model wrote them in answer to the prompt. One ground decides, the
strongest that judged a generated kernel: the device, else the interpreter, else the compiler, whose sentence
says nothing of values. What the other grounds saw differently stands in ``remarks``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bundler.model.experiment import Arm, Candidate, Experiment, ModelFacts, Origin, by_arm
from bundler.model.outcome import Outcome, Passed, ran
from bundler.report import runs, source_kernel
from bundler.report.across import Column
from bundler.report.text import count, few

_STRENGTH = ("device", "interpreter", "compile")


@dataclass(frozen=True)
class _Answers:
    """What the model's kernels of one arm gave on the deciding ground."""

    arm: Arm
    right: int
    judged: int
    cells: dict[str, tuple[bool, ...]]
    """Whether each judged kernel passed, by case."""
    model: ModelFacts
    complete: bool
    """Whether every cell of these kernels ran."""


def headline(experiment: Experiment, columns: Sequence[Column], gpus: Sequence[str] = ()) -> str:
    """One sentence. ``gpus``: the names of the GPUs on which the device ground was judged."""
    decided = _decided(experiment, columns)
    if decided is None:
        return _nothing(columns)
    ground, arms = decided
    judged, right = sum(a.judged for a in arms), sum(a.right for a in arms)
    if judged == right:
        return _all_right(arms, ground, _where(ground, gpus), columns, experiment)
    return _some_wrong(arms, ground, _where(ground, gpus))


def deciding(experiment: Experiment, columns: Sequence[Column]) -> list[Column]:
    """The columns that the headline speaks of; none where no generated kernel was judged."""
    decided = _decided(experiment, columns)
    return [column for column in columns if decided and column.valid and column.kind == decided[0]]


def remarks(experiment: Experiment, columns: Sequence[Column], stale_since: str = "") -> list[str]:
    """What a reader of the headline has to know beside it, a sentence each.

    ``stale_since``: the skill's version that the experiment was not run with, where it is stale.
    """
    found = [f"Stale: the skill is at {stale_since} now, of which nothing is said."] if stale_since else []
    found += [
        f"A control misbehaved on {column.title}, so nothing there was counted."
        for column in columns
        if not column.valid
    ]
    decided = _decided(experiment, columns)
    found += _chances(decided[1]) if decided and decided[0] != "interpreter" else []
    for column in columns:
        if decided and column.valid and column.kind != decided[0]:
            failed = [c.id for c in _generated(experiment) if _verdict(c, [column]) is False]
            judged = [c for c in _generated(experiment) if _verdict(c, [column]) is not None]
            if failed:
                limit = "; what the interpreter fails may be its own limit" * (column.kind == "interpreter")
                every = len(failed) == len(judged) > 1
                who = f"none of the {len(judged)} kernels passed" if every else f"{few(failed)} did not pass"
                found.append(f"On the ground {column.title}, {who} every case{limit}.")
    for column in columns:
        ports = source_kernel.said(experiment, column.group.report)
        if ports and column.valid:
            found.append(f"On {column.title}, {ports}.")
    if any(arm.origin is Origin.RECONSTRUCTED for arm in experiment.arms):
        found.append("What was reconstructed is shown, and counts neither for nor against the skill.")
    return found


def _chances(arms: Sequence[_Answers]) -> list[str]:
    """What chance explains of the arms' difference, for each arm with the skill that has one."""
    without = _baseline(arms)
    return [
        said
        for a in arms
        if without and a.arm.skill and a.model == without.model
        if (said := runs.chance((without.right, without.judged), (a.right, a.judged), a.arm.name))
    ]


def _decided(experiment: Experiment, columns: Sequence[Column]) -> tuple[str, list[_Answers]] | None:
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


def _generated(experiment: Experiment) -> list[Candidate]:
    return [c for c in experiment.candidates() if c.arm.origin is Origin.GENERATED]


def _answers(
    arm: Arm, candidates: Sequence[Candidate], columns: Sequence[Column], model: ModelFacts
) -> _Answers:
    verdicts = [v for c in candidates if (v := _verdict(c, columns)) is not None]
    cells: dict[str, list[bool]] = {}
    for candidate in candidates:
        for case, outcome in _cells(candidate, columns):
            cells.setdefault(case, []).append(isinstance(outcome, Passed))
    rows = [column.group.report.cells.get(c.id, {}) for c in candidates for column in columns]
    return _Answers(
        arm,
        right=sum(verdicts),
        judged=len(verdicts),
        cells={case: tuple(v) for case, v in cells.items()},
        model=model,
        complete=all(ran(outcome) for row in rows for outcome in row.values()),
    )


def _cells(candidate: Candidate, columns: Sequence[Column]) -> list[tuple[str, Outcome]]:
    rows = [column.group.report.cells.get(candidate.id, {}) for column in columns]
    return [(case, outcome) for row in rows for case, outcome in row.items() if ran(outcome)]


def _verdict(candidate: Candidate, columns: Sequence[Column]) -> bool | None:
    """Whether a kernel passed every cell that ran; None where none did."""
    outcomes = [outcome for _, outcome in _cells(candidate, columns)]
    return all(isinstance(o, Passed) for o in outcomes) if outcomes else None


# --- sentences -------------------------------------------------------------------------------------


def _where(ground: str, gpus: Sequence[str]) -> str:
    if ground == "device":
        return f"on a GPU ({few(gpus, 3)})" if gpus else "on a GPU"
    return {"interpreter": "in Triton's interpreter"}.get(ground, "for the architectures asked for")


def _nothing(columns: Sequence[Column]) -> str:
    if any(not column.valid for column in columns):
        return "Nothing can be said: a control misbehaved, so what judged here cannot be trusted."
    if columns:
        return "No kernel that a model wrote was judged here."
    return "Nothing was judged here."


def _all_right(
    arms: Sequence[_Answers], ground: str, where: str, columns: Sequence[Column], experiment: Experiment
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
    failed = any(_verdict(c, [column]) is False for column in elsewhere for c in _generated(experiment))
    both = _baseline(arms) is not None and len(arms) > 1
    tail = f": no difference was seen{' there' if failed else ''}" * both
    unknown = "; whether the values are right was not judged" * (ground == "compile")
    return f"{said}{tail}{unknown}."


def _models(arms: Sequence[_Answers]) -> str:
    models = len({answers.model for answers in arms})
    return "the model" if models == 1 else f"{models} models"


def _every(arms: Sequence[_Answers]) -> str:
    """A cell that was not run is no pass: so it is said where there are any."""
    return "every case" if all(answers.complete for answers in arms) else "every case that ran"


def _skills(arms: Sequence[_Answers]) -> str:
    """``, with and without the skill``."""
    without, with_ = _baseline(arms), [a for a in arms if a.arm.skill]
    if without and with_:
        return ", with and without the skill"
    return ", with the skill; nothing without it was judged" if with_ else ", without the skill"


def _baseline(arms: Sequence[_Answers]) -> _Answers | None:
    return next((a for a in arms if a.arm.skill is None), None)


def _some_wrong(arms: Sequence[_Answers], ground: str, where: str) -> str:
    baseline = _baseline(arms)
    skilled = [a for a in arms if a.arm.skill]
    does = "right" if ground != "compile" else "compiled"
    if baseline is None or not skilled:
        tally = _tally(arms, where, does)
        return f"{tally}; there is nothing to compare with, so nothing is said of the skill."
    parts = [_effect(a, baseline, where) for a in skilled]
    if len(arms) == 2 and skilled[0].model == baseline.model and parts[0]:
        return f"{parts[0]}."
    return f"{_tally(arms, where, does)}."


def _effect(skilled: _Answers, baseline: _Answers, where: str) -> str:
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


def _tally(arms: Sequence[_Answers], where: str, does: str) -> str:
    one_model = len({answers.model for answers in arms}) == 1
    said = [f"{a.right:,} of {a.judged:,} {_with(a.arm) if one_model else f'in {a.arm.name}'}" for a in arms]
    listed = ", ".join(said[:-1]) + (" and " if len(said) > 1 else "") + said[-1]
    return f"Of the kernels that {_models(arms)} wrote, {listed} are {does} in {_every(arms)} {where}"


def _with(arm: Arm) -> str:
    return f"with the skill {arm.skill.version}" if arm.skill else "without the skill"
