"""From a folder to an experiment whose every file is what its declaration says."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from bundler.digest import Digest
from bundler.errors import BadEvidence, BadExperiment
from bundler.experiment.extraction import extract
from bundler.experiment.parse import MAX_FILE_BYTES, parse, parse_evidence
from bundler.experiment.subject import mismatch, narrowed
from bundler.files import read_at_most
from bundler.model.evidence import Evidence
from bundler.model.experiment import Arm, Candidate, Experiment, ExtractionRule, Language, Origin, Output

DECLARATION = "experiment.yaml"


@dataclass(frozen=True)
class Loaded:
    """An experiment and the bytes that it speaks of."""

    folder: Path
    root: Path
    """Where ``skills/`` and ``proof/`` lie."""
    experiment: Experiment
    declaration: bytes
    harness: bytes
    base_task: bytes
    outputs: Mapping[str, bytes]
    """Each candidate's output, as it came."""
    sources: Mapping[str, bytes]
    """Each candidate's source, extracted by the stated rule."""
    recorded: tuple[tuple[str, Evidence], ...]
    """File name and content."""

    def prompt(self, arm: Arm) -> bytes:
        """What the arm's model was given."""
        if arm.skill is None:
            return self.base_task
        return skill_bytes(self.root, arm) + b"\n" + self.base_task

    @property
    def cases_digest(self) -> Digest:
        """Of everything that decides what a cell means, beside the harness and the candidate."""
        return self.cases_digest_for(self.sources)

    def cases_digest_for(self, candidates: Iterable[str]) -> Digest:
        """As far as the cells of ``candidates`` go: how CUDA C++ is launched means nothing to the others, so
        that evidence from before a source kernel was declared stays what it is."""
        experiment = self.experiment
        cuda = {c.id for c in experiment.candidates() if experiment.language_of(c.arm) is Language.CUDA}
        meaning: dict[str, object] = {
            "cases": [case.meaning() for case in experiment.expand()],
            "returns": [returned.model_dump(mode="json") for returned in experiment.returns],
            "sets": experiment.harness.sets,
            "entry": experiment.entry,
            "own_kernel": experiment.own_kernel,
        }
        # A key of no use to an experiment is left out, so that its digest is what it was before the key.
        if experiment.derived:
            meaning["derived"] = [derived.model_dump(mode="json") for derived in experiment.derived]
        if experiment.cuda and not cuda.isdisjoint(candidates):
            meaning["cuda"] = experiment.cuda.model_dump(mode="json")
        return Digest.of(json.dumps(meaning, sort_keys=True, separators=(",", ":")).encode())


def load(folder: Path, *, evidence: bool = True) -> Loaded:
    """Read ``proof/<category>/<kernel>``, hold every file against its digest, extract the candidates.

    Without ``evidence`` the recorded evidence is left alone: it is about to be recorded. Raises
    BadExperiment, naming the file and what to do; BadEvidence for a recorded evidence file. Runs nothing.
    """
    # 1. The declaration, and where it stands.
    declaration = read_file(folder, DECLARATION)
    experiment = parse(declaration, str(folder / DECLARATION))
    root = root_of(folder, experiment)
    # 2. The files that it names.
    base_task = verified(folder, experiment.base_task)
    harness = read_file(folder, experiment.harness.path)
    outputs = {c.id: verified(folder, c.output) for c in experiment.candidates()}
    # 3. What is derived from them.
    sources = {c.id: source_of(experiment, c, outputs[c.id]) for c in experiment.candidates()}
    loaded = Loaded(folder, root, experiment, declaration, harness, base_task, outputs, sources, ())
    for arm in experiment.arms:
        check_skill(loaded, arm)
        check_prompt(loaded, arm)
    # 4. The recorded evidence, which has to be of these very files.
    recorded = tuple((path, read_evidence(loaded, path)) for path in experiment.evidence if evidence)
    return replace(loaded, recorded=recorded)


def unlisted(loaded: Loaded, there: Iterable[str]) -> list[str]:
    """What to do with each of these files of evidence that is not listed, a line each; none where all are."""
    fits, told = [], []
    for path in sorted({*there} - {*loaded.experiment.evidence}):
        try:
            read_evidence(loaded, path)
        except (BadEvidence, BadExperiment) as error:
            told.append(f"{path}: there, but not listed, and of no use: {error.problem}; {error.hint}")
        else:
            fits.append(path)
    if fits:
        names = [*loaded.experiment.evidence, *fits]
        data = {"evidence": names}
        line = yaml.safe_dump(data, default_flow_style=None, allow_unicode=True, width=math.inf).strip()
        said = f"{', '.join(fits)}: there, but not listed; write into {DECLARATION} the line {line}"
        told.insert(0, said)
    return told


def root_of(folder: Path, experiment: Experiment) -> Path:
    """Where ``skills/`` and ``proof/`` lie; BadExperiment where the folder is not named as the experiment."""
    parts = folder.resolve().parts[-3:]
    if parts != ("proof", *experiment.id.split("/")):
        raise BadExperiment(
            f"{str(folder)!r} holds the experiment {experiment.id!r}",
            hint=f"move it to proof/{experiment.id}, or correct its id",
        )
    return folder.resolve().parents[2]


def read_file(folder: Path, name: str) -> bytes:
    """A regular file of the folder, of a size that can be meant; BadExperiment else."""
    path = folder / name
    try:
        if not path.resolve().is_relative_to(folder.resolve()):
            raise BadExperiment(
                f"{str(path)!r} leads out of {str(folder)!r}", hint="copy the file into the folder"
            )
        data = read_at_most(path, MAX_FILE_BYTES)
    except (OSError, ValueError, RuntimeError) as error:
        # ValueError: a NUL in the name. RuntimeError: links that lead in a circle, before Python 3.13.
        why = getattr(error, "strerror", None) or str(error)
        raise BadExperiment(
            f"{str(path)!r} cannot be read: {why}", hint="add the file, or correct the path"
        ) from None
    if len(data) > MAX_FILE_BYTES:
        raise BadExperiment(f"{str(path)!r} is over {MAX_FILE_BYTES >> 20} MiB", hint="is it the right file?")
    return data


def verified(folder: Path, output: Output) -> bytes:
    """A file that is what its declaration says, to the byte; BadExperiment else."""
    data = read_file(folder, output.path)
    found = Digest.of(data)
    if found != output.sha256:
        raise BadExperiment(
            f"{str(folder / output.path)!r} is not what {DECLARATION} declares"
            f"{_line_endings(data, output.sha256)}: it has {found}, declared is {output.sha256}",
            hint="restore the file as it was: a model's output is never edited. Where a file of your own was "
            "meant to change, remove the evidence that is of it, if any, and write its digests again: "
            f"bundler declare {folder}",
        )
    return data


def _line_endings(data: bytes, declared: Digest) -> str:
    """Say so where line endings are all that was changed, which Git does unasked."""
    lf = data.replace(b"\r\n", b"\n")
    if declared in (Digest.of(lf), Digest.of(lf.replace(b"\n", b"\r\n"))):
        return " (it differs only in line endings; check core.autocrlf)"
    return ""


def source_of(experiment: Experiment, candidate: Candidate, output: bytes) -> bytes:
    """The candidate in its output, by the stated rule; BadExperiment where it does not fit."""
    if candidate.arm.origin not in (Origin.GENERATED, Origin.SOURCE):
        return output
    generated = candidate.arm.origin is Origin.GENERATED
    rule = experiment.extraction if generated else _SOURCE_RULES[experiment.language_of(candidate.arm)]
    try:
        return extract(output, rule)
    except BadExperiment as error:
        raise BadExperiment(f"{candidate.output.path}: {error.problem}", hint=error.hint) from None


_SOURCE_RULES = {
    Language.TRITON: ExtractionRule.ONLY_BLOCK_PYTHON,
    Language.CUDA: ExtractionRule.ONLY_BLOCK_CUDA,
}


def skill_bytes(root: Path, arm: Arm) -> bytes:
    """The skill that an arm with one names; BadExperiment where it cannot be read."""
    assert arm.skill is not None  # the caller asked
    try:
        return read_file(root, arm.skill.path)
    except BadExperiment as error:
        raise BadExperiment(f"arm {arm.name!r}: {error.problem}", hint=error.hint) from None


def check_skill(loaded: Loaded, arm: Arm) -> None:
    """The arm's skill, where it has one, is the declared one. Raises BadExperiment."""
    if arm.skill is None:
        return
    home = f"skills/{loaded.experiment.skill}/"
    if not arm.skill.path.startswith(home):
        raise BadExperiment(
            f"arm {arm.name!r}: {arm.skill.path!r} is not below {home!r}, so no bundle would hold it",
            hint="put that version of the skill there, or correct the experiment's skill",
        )
    if Digest.of(skill_bytes(loaded.root, arm)) != arm.skill.sha256:
        raise BadExperiment(
            f"arm {arm.name!r}: {arm.skill.path!r} is not the version that the model was given "
            f"(declared {arm.skill.sha256})",
            hint="restore that version beside the new one, as SKILL-<version>.md, and name it in the arm",
        )


def check_prompt(loaded: Loaded, arm: Arm) -> None:
    """The prompt, derived again, is what the arm's model was given. Raises BadExperiment."""
    if arm.prompt_sha256 is not None and (derived := Digest.of(loaded.prompt(arm))) != arm.prompt_sha256:
        raise BadExperiment(
            f"arm {arm.name!r}: the prompt derived from its skill and {loaded.experiment.base_task.path!r} "
            f"has another sha256 than the declared {arm.prompt_sha256}: {derived}",
            hint="a prompt is the base task alone, or the skill, one LF and the base task",
        )


def read_evidence(loaded: Loaded, path: str) -> Evidence:
    """A recorded evidence file, which has to be of these very files; BadEvidence else."""
    evidence = parse_evidence(read_file(loaded.folder, path), path)
    again = "record it again: bundler record, or remove it, from the declaration too"
    if problem := mismatch(loaded, evidence):
        raise BadEvidence(f"{path} was recorded with {problem}", hint=again)
    if problem := narrowed(evidence):
        raise BadEvidence(f"{path} cannot be recorded evidence: {problem}", hint=again)
    return evidence
