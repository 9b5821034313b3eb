"""Hold an experiment to the minimum bar, and say everything that is missing at once. Runs nothing of it.

``load`` stops at the first fault, because what is damaged must not be run. Here the same steps are taken
one by one, and what one of them raises is noted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from bundler.errors import BadExperiment, UsageError
from bundler.experiment import load, pinned, rules
from bundler.experiment.deviations import Recorded, derive_deviations
from bundler.experiment.doubtful import carriage_returns
from bundler.experiment.finding import (
    Checked,
    Finding,
    Findings,
    Rule,
    Severity,
    encodable,
    error,
    warning,
)
from bundler.experiment.load import DECLARATION, Loaded
from bundler.experiment.marks import MARK, OUTPUTS, marks
from bundler.experiment.parse import parse, parse_evidence
from bundler.experiment.skill_versions import stale_since, stated_version, versions
from bundler.model.evidence import Evidence
from bundler.model.experiment import Arm, Experiment, Origin
from bundler.model.plan import Deviation

__all__ = ["MARK", "check", "errors_of", "experiments_below"]


def experiments_below(path: Path) -> list[Path]:
    """The experiments' folders at or below ``path``, sorted. UsageError where there is none."""
    found = sorted(file.parent for file in path.rglob(DECLARATION)) if path.is_dir() else []
    if not found:
        raise UsageError(
            f"{str(path)!r} holds no {DECLARATION}", hint="name proof/<category>/<kernel>, or a folder above"
        )
    return found


def check(folder: Path) -> Checked:
    """Everything in which ``folder`` is below the minimum bar; errors first. Raises nothing of its own."""
    found = Findings()
    declaration = found.attempt(Rule.DECLARATION, partial(load.read_file, folder, DECLARATION))
    experiment = (
        found.attempt(Rule.DECLARATION, partial(parse, declaration, str(folder / DECLARATION)))
        if declaration is not None
        else None
    )
    found.all += marks(folder, _all_files(folder))
    if declaration is None or experiment is None:
        return Checked(folder=encodable(str(folder)), experiment="", findings=tuple(found.all))
    # 1. The files.
    loaded, whole = _files(found, folder, experiment, declaration)
    found.all += _unlisted_outputs(folder, experiment)
    found.all += carriage_returns(loaded.base_task, _generated(loaded))
    for arm in experiment.arms:
        _skill_and_prompt(found, loaded, arm, base_task_is_whole=bool(loaded.base_task))
    recorded = _recorded(found, loaded, whole)
    # 2. What they say.
    deviations = derive_deviations(experiment, recorded)
    found.all += _said(loaded, recorded, deviations)
    findings = tuple(sorted(found.all, key=lambda finding: finding.severity))
    return Checked(
        folder=encodable(str(folder)), experiment=experiment.id, findings=findings, deviations=deviations
    )


def errors_of(loaded: Loaded) -> tuple[Finding, ...]:
    """The errors that ``check`` finds in what loads, from what is loaded: no file of evidence is read again.

    Evidence that was not loaded is not counted, so that hardware which it alone states is missing.
    """
    experiment = loaded.experiment
    found = Findings()
    found.all += marks(loaded.folder, _all_files(loaded.folder))
    found.all += rules.harness(loaded.harness, experiment)
    found.all += _unlisted_outputs(loaded.folder, experiment)
    for arm in experiment.arms:
        found.attempt(Rule.SKILL, partial(_check_version, loaded, arm))
    found.all += _said(loaded, loaded.recorded, derive_deviations(experiment, loaded.recorded))
    return tuple(finding for finding in found.all if finding.severity is Severity.ERROR)


def _said(loaded: Loaded, recorded: Recorded, deviations: Sequence[Deviation]) -> Iterator[Finding]:
    """What the declaration and the evidence say is below the bar, whatever the files are."""
    experiment = loaded.experiment
    yield from pinned.not_as_pinned(experiment, recorded)
    yield from rules.comparison(experiment)
    yield from rules.controls(experiment)
    yield from rules.stated(experiment, recorded)
    yield from rules.as_planned(experiment, deviations, recorded)
    yield from rules.grounds_recorded(experiment, recorded)
    yield from _newer_skill(experiment, loaded.root)


def _files(found: Findings, folder: Path, experiment: Experiment, declaration: bytes) -> tuple[Loaded, bool]:
    """What could be read, and whether that is all."""
    root = found.attempt(Rule.PLACE, partial(load.root_of, folder, experiment))
    base_task = found.attempt(Rule.BASE_TASK, partial(load.verified, folder, experiment.base_task))
    harness = found.attempt(Rule.HARNESS, partial(load.read_file, folder, experiment.harness.path))
    if harness is not None:
        found.all += rules.harness(harness, experiment)
    outputs: dict[str, bytes] = {}
    sources: dict[str, bytes] = {}
    for candidate in experiment.candidates():
        output = found.attempt(Rule.OUTPUT, partial(load.verified, folder, candidate.output))
        if output is None:
            continue
        outputs[candidate.id] = output
        source = found.attempt(Rule.EXTRACTION, partial(load.source_of, experiment, candidate, output))
        if source is not None:
            sources[candidate.id] = source
    loaded = Loaded(
        folder=folder,
        root=root or (folder.resolve() / "../../..").resolve(),
        experiment=experiment,
        declaration=declaration,
        harness=harness or b"",
        base_task=base_task or b"",
        outputs=outputs,
        sources=sources,
        recorded=(),
    )
    return loaded, harness is not None and len(sources) == len(experiment.candidates())


def _unlisted_outputs(folder: Path, experiment: Experiment) -> Iterator[Finding]:
    declared = {candidate.output.path for candidate in experiment.candidates()}
    for path in _all_files(folder):
        if path.startswith(OUTPUTS) and path not in declared:
            yield error(
                Rule.UNLISTED_OUTPUT,
                f"{path!r} is there and not declared: leaving out an answer is a selection",
                "declare it in its arm; or move it out of outputs/ and say in model.procedure what it is",
            )
    for candidate in experiment.candidates():
        if candidate.arm.origin is Origin.GENERATED and not candidate.output.path.startswith(OUTPUTS):
            text = f"the generated output {candidate.output.path!r} does not lie below {OUTPUTS!r}"
            yield error(Rule.OUTPUT, text, "move it there, so that one can see that none is left out")


def _generated(loaded: Loaded) -> dict[str, bytes]:
    """The outputs that a model wrote, by path, as far as they could be read."""
    candidates = (c for c in loaded.experiment.candidates() if c.arm.origin is Origin.GENERATED)
    return {c.output.path: loaded.outputs[c.id] for c in candidates if c.id in loaded.outputs}


def _skill_and_prompt(found: Findings, loaded: Loaded, arm: Arm, *, base_task_is_whole: bool) -> None:
    before = len(found.all)
    found.attempt(Rule.SKILL, partial(load.check_skill, loaded, arm))
    if len(found.all) > before:
        return  # of another skill the prompt is another as well
    found.attempt(Rule.SKILL, partial(_check_version, loaded, arm))
    if base_task_is_whole:
        found.attempt(Rule.PROMPT, partial(load.check_prompt, loaded, arm))


def _check_version(loaded: Loaded, arm: Arm) -> None:
    if arm.skill is None:
        return
    version = stated_version(load.skill_bytes(loaded.root, arm), arm.skill.path)
    if version != arm.skill.version:
        raise BadExperiment(
            f"arm {arm.name!r}: {arm.skill.path!r} is version {version!r}, declared is {arm.skill.version!r}",
            hint="declare the version that the file states",
        )


def _recorded(found: Findings, loaded: Loaded, whole: bool) -> Recorded:
    """The evidence that counts; a file that is of something else does not."""
    recorded: list[tuple[str, Evidence]] = []
    for path in loaded.experiment.evidence:
        evidence = found.attempt(Rule.EVIDENCE, partial(_evidence, loaded, path, whole))
        if evidence is not None:
            recorded.append((path, evidence))
            found.all += _shortcomings(loaded, path, evidence)
    listed = set(loaded.experiment.evidence)
    for path in _all_files(loaded.folder):
        if path.startswith("evidence/") and path not in listed:
            hint = "add it to evidence in experiment.yaml, or remove the file"
            found.all.append(warning(Rule.EVIDENCE, f"{path!r} is there and not listed", hint))
    if recorded and not whole:
        text = "the evidence could not be held against the candidates and the harness: not all could be read"
        found.all.append(warning(Rule.EVIDENCE, text, "correct the other errors first"))
    return tuple(recorded)


def _evidence(loaded: Loaded, path: str, whole: bool) -> Evidence:
    if whole:
        return load.read_evidence(loaded, path)
    return parse_evidence(load.read_file(loaded.folder, path), path)


def _shortcomings(loaded: Loaded, path: str, evidence: Evidence) -> Iterator[Finding]:
    again = "record it again: bundler record"
    missing = [c.id for c in loaded.experiment.candidates() if c.id not in evidence.subject.candidates]
    if missing:
        yield warning(Rule.EVIDENCE, f"{path} does not have the candidates {', '.join(missing)}", again)


def _newer_skill(experiment: Experiment, root: Path) -> Iterator[Finding]:
    since = stale_since(experiment, root)
    if since:
        yield warning(
            Rule.STALE,
            f"stale until run again: the skill {experiment.skill} is at {since}, newer than in any arm",
            "run the task with that version as an arm of its own; if this experiment led to it, add led_to",
        )
    there = versions(root, experiment.skill)
    for step in experiment.led_to:
        if step.skill_version not in there:
            text = f"led_to names version {step.skill_version!r} of the skill, which is not there"
            yield warning(Rule.LED_TO, text, f"there are: {', '.join(there) or 'none'}")


def _all_files(folder: Path) -> list[str]:
    """Every file below ``folder``, as a POSIX path from there, sorted. A link is one, wherever it leads."""
    return sorted(
        (Path(at) / name).relative_to(folder).as_posix()
        for at, folders, names in os.walk(folder)
        for name in (*names, *(one for one in folders if (Path(at) / one).is_symlink()))
    )
