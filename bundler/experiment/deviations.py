"""Where a run is not as it was planned: derived from the plan, the declaration and the evidence, and pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bundler.model.evidence import Evidence
from bundler.model.experiment import Experiment
from bundler.model.host import Host, Read
from bundler.model.plan import Deviation, DeviationNote, Plan, PlanField

Recorded = Sequence[tuple[str, Evidence]]
"""File name and evidence, as ``Loaded.recorded`` has them."""
NOT_READ = "a GPU whose name could not be read"
_MAKERS_WORDS = {"nvidia", "geforce", "tesla", "gpu"}
"""The same GPU is named with and without these. Laptop, Ti, Super and Quadro name another one."""
_Found = tuple[PlanField, str, str]


def derive_deviations(experiment: Experiment, recorded: Recorded) -> tuple[Deviation, ...]:
    """Each field of the plan that the run is not as, with its author's note where there is one.

    A field that the plan leaves out cannot be deviated from. Hardware and grounds are compared once there is
    recorded evidence. Of the hardware also a GPU that is there beside a planned one is a deviation; of the
    grounds only a planned one that was not judged, since another takes nothing away.
    """
    if experiment.plan is None:
        return ()
    notes = {note.field: note for note in experiment.deviations}
    return tuple(
        _deviation(found, notes.get(found[0])) for found in _found(experiment, experiment.plan, recorded)
    )


def unneeded_notes(experiment: Experiment, deviations: Sequence[Deviation]) -> tuple[DeviationNote, ...]:
    """Notes on fields that the run is as planned in, or that the plan does not have."""
    there = {deviation.field for deviation in deviations}
    return tuple(note for note in experiment.deviations if note.field not in there)


def device_names(recorded: Recorded) -> tuple[str, ...]:
    """The GPUs on which cells of the device ground were judged, as the evidence names them, each once."""
    names = [
        _gpu(evidence.host)
        for _, evidence in recorded
        if "device" in evidence.grounds and evidence.grounds["device"].status == "judged"
    ]
    return tuple(dict.fromkeys(names))


def unnamed_gpus(experiment: Experiment, recorded: Recorded) -> tuple[str, ...]:
    """GPUs that were not planned and that the note on the hardware does not name.

    A note on one GPU would otherwise cover every other one that comes later. Empty without such a note.
    """
    note = next((note.note for note in experiment.deviations if note.field is PlanField.HARDWARE), None)
    if experiment.plan is None or not experiment.plan.hardware or note is None:
        return ()
    planned = {_words(name) for name in experiment.plan.hardware}
    said, unnamed = f" {' '.join(_words(note))} ", []
    # Longer names first, each taken out: "RTX 3050 Laptop" does not name an RTX 3050.
    for name in sorted(device_names(recorded), key=len, reverse=True):
        words = f" {' '.join(_words(name))} "
        if _words(name) not in planned and words not in said:
            unnamed.append(name)
        said = said.replace(words, " | ")
    return tuple(unnamed)


def _deviation(found: _Found, note: DeviationNote | None) -> Deviation:
    field, planned, shown = found
    if note is None:
        return Deviation(field=field, planned=planned, found=shown)
    return Deviation(field=field, planned=planned, found=shown, note=note.note, bears_on=note.bears_on)


def _found(experiment: Experiment, plan: Plan, recorded: Recorded) -> Iterator[_Found]:
    yield from _hardware(plan, recorded)
    yield from _models(experiment, plan)
    yield from _runs(experiment, plan)
    yield from _texts(experiment, plan)
    yield from _grounds(plan, recorded)


def _hardware(plan: Plan, recorded: Recorded) -> Iterator[_Found]:
    if not plan.hardware or not recorded:
        return
    names = device_names(recorded)
    if {_words(name) for name in names} != {_words(name) for name in plan.hardware}:
        found = ", ".join(names) or "no GPU: no recorded evidence has the device ground"
        yield PlanField.HARDWARE, ", ".join(plan.hardware), found


def _models(experiment: Experiment, plan: Plan) -> Iterator[_Found]:
    names = tuple(dict.fromkeys(experiment.model_of(arm).name for arm in experiment.generated()))
    if plan.models and {_folded(name) for name in names} != {_folded(name) for name in plan.models}:
        yield PlanField.MODELS, _counted(plan.models), _counted(names)


def _runs(experiment: Experiment, plan: Plan) -> Iterator[_Found]:
    arms = {arm.name: len(arm.outputs) for arm in experiment.generated()}
    if plan.runs is not None and plan.runs != sum(arms.values()):
        yield PlanField.RUNS, str(plan.runs), str(sum(arms.values()))
    if plan.runs_an_arm is not None and set(arms.values()) != {plan.runs_an_arm}:
        found = ", ".join(f"{number} in {name}" for name, number in arms.items())
        yield PlanField.RUNS_AN_ARM, str(plan.runs_an_arm), found or "no generated arm"


def _texts(experiment: Experiment, plan: Plan) -> Iterator[_Found]:
    path = f"proof/{experiment.id}"
    if plan.path is not None and plan.path != path:
        yield PlanField.PATH, plan.path, path
    reference = experiment.harness.reference
    if plan.reference is not None and _folded(plan.reference) != _folded(reference):
        yield PlanField.REFERENCE, plan.reference, reference or "not stated in harness.reference"


def _grounds(plan: Plan, recorded: Recorded) -> Iterator[_Found]:
    judged = {
        name: None
        for _, evidence in recorded
        for name, report in evidence.grounds.items()
        if report.status == "judged"
    }
    kinds = {name.split(":")[0] for name in judged}
    if recorded and not set(plan.grounds) <= kinds | judged.keys():
        yield PlanField.GROUNDS, ", ".join(plan.grounds), ", ".join(judged) or "none"


def _gpu(host: Host) -> str:
    gpu = host.cuda_device() or next(iter(host.gpus), None)
    name = gpu.fields.get("name") if gpu else None
    return str(name.value) if isinstance(name, Read) else NOT_READ


def _words(name: str) -> tuple[str, ...]:
    words = re.findall(r"\w+(?:[.-]\w+)*", name.casefold())
    return tuple(word for word in words if word not in _MAKERS_WORDS)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _counted(names: Sequence[str]) -> str:
    return f"{len(names)}: {'; '.join(names)}" if names else "none"
