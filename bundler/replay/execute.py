"""The grounds that execute: the device and the interpreter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from bundler.errors import BadExperiment
from bundler.judge import calls, source
from bundler.judge.cell import judge_cell, no_memory
from bundler.judge.claims import MAX_TUNED, CellClaim
from bundler.judge.compare import Array, as_stored
from bundler.judge.launch import launch_of
from bundler.judge.reference import Derive, NotDerived
from bundler.judge.source_kernel import SourceOutputs
from bundler.model.arm import Expect
from bundler.model.experiment import Case, Experiment, Ground, Language, Origin
from bundler.model.outcome import Failed, Mark, Outcome, Passed, Phase, Wrong
from bundler.replay import without
from bundler.replay.answers import read
from bundler.replay.oracle import CaseData, DeriveFailed, Oracle
from bundler.replay.process import Refused, Worker
from bundler.replay.runner import HEADER_BYTES, Ask, Job, Lost, Session, Unit, lost_when
from bundler.replay.zygote import Zygote
from bundler.worker import wire


def caller(
    job: Job, oracle: Oracle, session: Session, zygote: Zygote, *,
    on_device: bool, source_outputs: SourceOutputs | None = None,
) -> Ask:  # fmt: skip
    """Ask for one cell: the candidate is called on every set of the case's values.

    ``source_outputs`` keeps what the source kernel returned, and other candidates are held against it.
    """
    undefined = source.undefined_loads(job.source)
    sources = SourceOutputs() if source_outputs is None else source_outputs

    def ask(worker: Worker, unit: Unit) -> Mapping[str, Outcome]:
        data = oracle.case(unit.case)
        try:
            cell = _cell(job, oracle, unit.case, data, sources, on_device=on_device)
            outcome = _call(cell, worker, session)
        except MemoryError:
            worker.kill()
            raise Lost(no_memory("the judge ran out of memory over this case")) from None
        except _NoRoom as claim:
            # Once the process has ended: what it holds is free only then.
            raise Lost(None, partial(_whose_memory, job, zygote, data, claim)) from None
        _as_expected(job, unit, outcome)
        return dict.fromkeys(unit.grounds, _marked(outcome) if undefined else outcome)

    return ask


def _marked(outcome: Outcome) -> Outcome:
    """With the mark of a candidate whose source loads what is undefined, where it was held to anything."""
    if not isinstance(outcome, Passed | Wrong):
        return outcome
    return outcome.model_copy(update={"marks": (*outcome.marks, Mark.UNDEFINED_LOAD)})


def _as_expected(job: Job, unit: Unit, outcome: Outcome) -> None:
    """Raise BadExperiment where a control that must pass returns what has another form than is expected.

    No candidate can be held to a form that a right answer has not. What candidates return never decides it.
    """
    arm = job.candidate.arm
    held = arm.expect is Expect.PASS and {ground.split(":")[0] for ground in unit.grounds} & set(arm.on)
    if held and isinstance(outcome, Wrong) and outcome.what in ("count", "dtype", "shape"):
        raise BadExperiment(
            f"control {job.candidate.id}, which must pass, does not return on case {unit.case.id!r} what "
            f"{job.experiment.harness.path} and experiment.yaml expect: {outcome.detail}",
            hint="shapes are those of the reference, the rest is stated under returns; mend what is wrong, "
            "then run bundler check and bundler verify again",
        )


def deriving(oracle: Oracle, case: Case, experiment: Experiment, data: CaseData) -> Derive:
    """What has the harness derive from a call's returned tensors; ``experiment`` as it judges the case.

    Where it cannot, it is given the right answer: if it takes that, what was returned is wrong, and else the
    harness is (DeriveFailed).
    """
    first = len(experiment.returns)

    def derive(which: int, outputs: tuple[Array, ...]) -> tuple[Array, ...]:
        shapes = [array.shape for array in data.references[which].arrays[first:]]
        try:
            return oracle.derive(case, which, outputs, shapes)
        except DeriveFailed as failed:
            pairs = zip(data.references[which].arrays, experiment.returns, strict=False)
            oracle.derive(case, which, [as_stored(array, each.dtype) for array, each in pairs], shapes)
            why = f"nothing is derived of it, as is of the right answer: {failed.problem}"
            raise NotDerived(why[:1000]) from None

    return derive


def launching(job: Job, case: Case, data: CaseData) -> dict[str, Any]:
    """What a request has beside the inputs where the candidate is in CUDA C++. Raises BadExperiment."""
    if job.language is not Language.CUDA:
        return {}
    shapes = [array.shape for array in data.references[0].arrays]
    return {"launch": launch_of(job.experiment.judging(case), case, data.sets[0], shapes)}


@dataclass(frozen=True)
class _Cell:
    """One cell: what the candidate is called on, and what its answer is held against."""

    job: Job
    case: Case
    data: CaseData
    experiment: Experiment
    """As it judges the case."""
    on_device: bool
    seconds: float
    """How long it may take."""
    launch: dict[str, Any]
    """What a request has beside the inputs."""
    derive: Derive
    sources: SourceOutputs

    def judge(self, plan: tuple[int, ...], claim: CellClaim, payload: memoryview) -> Outcome:
        """Against the reference, then against what the source kernel returned; of that one it is kept."""
        references = self.data.references
        outcome = judge_cell(self.experiment, plan, claim, payload, references, self.derive)
        if self.job.candidate.arm.origin is Origin.SOURCE:
            self.sources.keep(self.case, outcome, plan, claim, payload)
            return outcome
        return self.sources.held(self.experiment, self.case, outcome, plan, claim, payload, references)


def _cell(
    job: Job, oracle: Oracle, case: Case, data: CaseData, sources: SourceOutputs, *, on_device: bool
) -> _Cell:
    experiment = job.experiment.judging(case)
    return _Cell(
        job=job,
        case=case,
        data=data,
        experiment=experiment,
        on_device=on_device,
        seconds=experiment.cell_seconds(case, Ground.DEVICE if on_device else Ground.INTERPRETER),
        launch=launching(job, case, data),
        derive=deriving(oracle, case, experiment, data),
        sources=sources,
    )


class _NoRoom(Exception):
    """A worker says that the inputs themselves find no room; ``str`` is its text."""


def _whose_memory(job: Job, zygote: Zygote, data: CaseData, claim: _NoRoom) -> Outcome:
    """Where a process without the candidate has room for the inputs, the candidate took it."""
    try:
        reason = without.why_no_room(zygote, job.allowance, data.sets[0])
    except without.NotTold as error:
        return Refused(detail=f"could not tell whose the memory is: {error}"[:1000])
    if reason is not None:
        return no_memory(reason[:300])
    text = f"the inputs found no room in its process, and do without it: {claim}"
    return Failed(phase=Phase.RUN, error=text[:2000], resource="out-of-memory")


def _call(cell: _Cell, worker: Worker, session: Session) -> Outcome:
    """Raises Lost, _NoRoom and DeriveFailed."""
    experiment, data = cell.experiment, cell.data
    plan = calls.plan(experiment.harness.sets, elements=data.elements, on_device=cell.on_device)
    right_bytes = data.right_bytes(experiment.returns)
    header = {"op": "call", "sets": data.sets, "calls": plan, "output_bytes": right_bytes} | cell.launch
    limits = wire.Limits(header_bytes=HEADER_BYTES, payload_bytes=right_bytes * len(plan))
    with lost_when(worker, cell.seconds):
        message = worker.ask(header, [data.payload], seconds=cell.seconds, limits=limits)
        if "no_memory" in message.header:
            raise _NoRoom(str(read(without.NoRoom, message.header).no_memory)[:300])
        claim = read(CellClaim, message.header)
        outcome = cell.judge(plan, claim, memoryview(message.payload))
    if len(session.tuned | claim.tuned) <= MAX_TUNED:
        session.tuned.update(claim.tuned)
    if claim.unusable:
        raise Lost(outcome)
    return outcome
