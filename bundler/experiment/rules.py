"""The rules of the minimum bar that the declaration and the evidence decide alone. Pure."""

from __future__ import annotations

import ast
import datetime
import itertools
from collections.abc import Iterator, Sequence

from bundler.experiment.deviations import Recorded, device_names, unnamed_gpus, unneeded_notes
from bundler.experiment.finding import Finding, Rule, error, warning
from bundler.model.experiment import Arm, Expect, Experiment, Ground, Language, ModelFacts
from bundler.model.outcome import ran
from bundler.model.plan import Deviation
from bundler.model.words import few

_ASKED_ALIKE = ("sampling", "system_prompt", "procedure")
"""Facts of a model that would explain a difference as well as the skill does."""


def comparison(experiment: Experiment) -> Iterator[Finding]:
    """The same model in both arms, and only the skill differs."""
    arms = experiment.generated()
    if not arms:
        yield warning(
            Rule.COMPARISON,
            "no arm was generated, so nothing is said of what the skill does to a model's answers",
            "add the model's answers with and without the skill, where there are any",
        )
        return
    models: dict[tuple[str, str], list[Arm]] = {}
    for arm in arms:
        facts = experiment.model_of(arm)
        models.setdefault((facts.name, facts.version), []).append(arm)
    for (name, version), same in models.items():
        yield from _both_sides(f"{name!r} (version {version!r})", same)
        yield from _asked_alike(experiment, same)
    numbers = {arm.name: len(arm.outputs) for arm in arms}
    if len(set(numbers.values())) > 1:
        told = ", ".join(f"{number} in {arm}" for arm, number in numbers.items())
        hint = "ask each arm's model equally often, or say in the notes why not"
        yield warning(Rule.COMPARISON, f"the arms have different numbers of outputs: {told}", hint)


def _both_sides(model: str, arms: Sequence[Arm]) -> Iterator[Finding]:
    have = {arm.skill is not None for arm in arms}
    if have != {True, False}:
        missing = "without" if True in have else "with"
        yield error(
            Rule.SAME_MODEL,
            f"model {model} has no arm {missing} the skill, only: {', '.join(arm.name for arm in arms)}",
            "compare arms of one model: ask the same one with and without the skill",
        )


def _asked_alike(experiment: Experiment, arms: Sequence[Arm]) -> Iterator[Finding]:
    first = arms[0]
    for arm, field in itertools.product(arms[1:], _ASKED_ALIKE):
        one, other = _fact(experiment.model_of(first), field), _fact(experiment.model_of(arm), field)
        if one != other:
            yield error(
                Rule.ONLY_SKILL,
                f"{field} is {one!r:.200} in arm {first.name!r} and {other!r:.200} in arm {arm.name!r}",
                "ask both in the same way: only the skill may differ",
            )


def _fact(facts: ModelFacts, field: str) -> str:
    return str(getattr(facts, field))


def controls(experiment: Experiment) -> Iterator[Finding]:
    """Each ground has a control that must pass and one that must fail."""
    for ground, expect in itertools.product(judged_grounds(experiment), Expect):
        if not any(arm.expect is expect and ground in arm.on for arm in experiment.arms):
            yield error(
                Rule.CONTROLS,
                f"no control must {expect} on the ground {ground}, so nothing shows that it can tell",
                f"add an arm of origin control with expect: {expect}, and {ground} among its grounds",
            )


def judged_grounds(experiment: Experiment) -> tuple[Ground, ...]:
    """The kinds of ground that at least one case is for."""
    declared = {ground for group in experiment.cases for ground in group.grounds}
    if not experiment.architectures:
        declared.discard(Ground.COMPILE)
    if all(experiment.language_of(arm) is Language.CUDA for arm in experiment.arms):
        declared.discard(Ground.INTERPRETER)
    return tuple(ground for ground in Ground if ground in declared)


def stated(experiment: Experiment, recorded: Recorded) -> Iterator[Finding]:
    """Hardware and shapes are stated."""
    planned = experiment.plan.hardware if experiment.plan else ()
    if not planned and not device_names(recorded):
        yield error(
            Rule.HARDWARE,
            "no hardware is stated: neither plan.hardware nor recorded evidence from a GPU",
            "write plan.hardware, or record on a GPU: bundler record",
        )
    without = [case.id for case in experiment.expand() if not any(map(_is_size, case.params.values()))]
    if without:
        text = f"{len(without)} cases state no size, such as {without[0]!r}"
        yield error(Rule.SHAPES, text, "give each case its sizes as parameters: {rows: 33, cols: 100}")


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def as_planned(
    experiment: Experiment, deviations: Sequence[Deviation], recorded: Recorded
) -> Iterator[Finding]:
    """There is a plan, each deviation has a note, and each note a deviation."""
    if experiment.plan is None:
        hint = "write plan: what was said before the outputs were made, and where"
        text = "there is no plan, so no one can tell whether the experiment was done as planned"
        yield warning(Rule.PLAN, text, hint)
    yield from _said_beforehand(experiment)
    for deviation in deviations:
        if not deviation.noted:
            yield error(
                Rule.DEVIATION,
                f"{deviation.field}: planned {deviation.planned}, found {deviation.found}, and no note",
                f'add below deviations:  - {{field: {deviation.field}, note: "TODO(author): why", '
                "load_bearing: [timing, correctness, comparison]}  # those of the three, or none",
            )
    for gpu in unnamed_gpus(experiment, recorded):
        text = f"hardware: found {gpu}, which was not planned and which the note does not name"
        yield error(Rule.DEVIATION, text, "name it in the note, and say what it bears on")
    for note in unneeded_notes(experiment, deviations):
        text = f"{note.field}: a note, and no deviation: {note.note[:200]!r}"
        yield warning(Rule.DEVIATION, text, "remove it from deviations, or state the plan that it is about")


def _said_beforehand(experiment: Experiment) -> Iterator[Finding]:
    """A plan is no younger than the outputs; what gives no day of the calendar cannot be told."""
    planned = _day(experiment.plan.date) if experiment.plan and experiment.plan.date else None
    for made in dict.fromkeys(experiment.model_of(arm).date for arm in experiment.generated()):
        day = _day(made)
        if planned and day and planned > day:
            text = f"the plan is of {planned}, and outputs were made on {day}"
            yield error(Rule.PLAN, text, "a plan is what was said beforehand: correct the day, or remove it")


def _day(text: str) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(text[:10])
    except ValueError:
        return None


def grounds_recorded(experiment: Experiment, recorded: Recorded) -> Iterator[Finding]:
    """Each ground that cases are for has recorded evidence."""
    there = {
        name.split(":")[0]
        for _, evidence in recorded
        for name, report in evidence.grounds.items()
        if report.status == "judged"
    }
    for ground in judged_grounds(experiment):
        if ground not in there:
            text = f"no recorded evidence for the ground {ground}"
            hint = f"run: bundler record proof/{experiment.id} HOST, and list the file in evidence"
            yield warning(Rule.NO_EVIDENCE, text, hint)
        elif unrun := _slow_unrun(experiment, recorded, ground):
            text = f"no recorded outcome on the ground {ground} of slow cells, such as of {unrun[0]!r}"
            hint = f"run: bundler record proof/{experiment.id} HOST --slow"
            yield warning(Rule.NO_EVIDENCE, text, hint)


def _slow_unrun(experiment: Experiment, recorded: Recorded, ground: Ground) -> list[str]:
    """The cases that are slow on a ground and that no recorded evidence has a cell of there that ran."""
    there = {
        case
        for _, evidence in recorded
        for name, report in evidence.grounds.items()
        if name.split(":")[0] == ground
        for row in report.cells.values()
        for case, outcome in row.items()
        if ran(outcome)
    }
    return [case.id for case in experiment.slow_cases(ground) if case.id not in there]


def harness(source: bytes, experiment: Experiment) -> Iterator[Finding]:
    """The harness defines inputs and a reference, and what else is declared. It is parsed, never run."""
    name = experiment.harness.path
    try:
        tree = ast.parse(source, name)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as failed:
        yield error(Rule.HARNESS, f"{name} is no Python: {failed}"[:400], "correct the harness")
        return
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    for function, parameters in _functions(experiment).items():
        if function not in functions or not _takes(functions[function], parameters):
            text = f"{name} defines no function {function!r} of {parameters} parameters"
            yield error(Rule.HARNESS, text, "docs/experiments.md shows the functions of a harness")
    others = sorted(_imported(tree) - {"numpy", "__future__"})
    if others:
        text = f"{name} imports {', '.join(others)}"
        yield warning(Rule.HARNESS, text, "import numpy alone: nothing else is promised where it runs")
    if lines := sorted(set(_random_lines(tree))):
        text = f"{name} draws from numpy.random in line {few([str(line) for line in lines])}"
        yield warning(Rule.HARNESS, text, "draw from make: other values differ from replay to replay")


def _functions(experiment: Experiment) -> dict[str, int]:
    """The functions that the harness needs, with their numbers of parameters."""
    derive = {"derive": 4} if experiment.derived else {}
    return {"inputs": 3, "reference": 3} | derive | ({"cross_check": 3} if experiment.cross_check else {})


def _takes(function: ast.FunctionDef, parameters: int) -> bool:
    arguments = function.args
    return len(arguments.posonlyargs + arguments.args) == parameters or arguments.vararg is not None


def _random_lines(tree: ast.Module) -> Iterator[int]:
    """Where NumPy's own generators are named."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            if "numpy.random" in {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}:
                yield node.lineno
        elif (
            isinstance(node, ast.Attribute)
            and node.attr == "random"
            and isinstance(node.value, ast.Name)
            and node.value.id in ("np", "numpy")
        ):
            yield node.lineno


def _imported(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or ".").split(".")[0])
    return names
