"""The grounds that execute: the device and the interpreter."""

from __future__ import annotations

from collections.abc import Mapping

from bundler.judge import calls
from bundler.judge.cell import CellClaim, judge_cell, no_memory
from bundler.model.outcome import Outcome
from bundler.replay.oracle import CaseData, Oracle
from bundler.replay.process import Worker
from bundler.replay.runner import HEADER_BYTES, Ask, Job, Lost, Session, Unit, lost_when
from bundler.worker import wire


def caller(job: Job, oracle: Oracle, session: Session, *, on_device: bool) -> Ask:
    """Ask for one cell: the candidate is called on every set of the case's values."""

    def ask(worker: Worker, unit: Unit) -> Mapping[str, Outcome]:
        outcome = _call(job, worker, oracle.case(unit.case), session, on_device)
        return dict.fromkeys(unit.grounds, outcome)

    return ask


def _call(job: Job, worker: Worker, data: CaseData, session: Session, on_device: bool) -> Outcome:
    experiment = job.experiment
    plan = calls.plan(experiment.harness.sets, elements=data.elements, on_device=on_device)
    right_bytes = max(reference.bytes_as(experiment.returns) for reference in data.references)
    header = {"op": "call", "sets": data.sets, "calls": plan, "output_bytes": right_bytes}
    seconds = experiment.limits.cell_seconds
    limits = wire.Limits(header_bytes=HEADER_BYTES, payload_bytes=right_bytes * len(plan))
    with lost_when(worker, seconds):
        message = worker.ask(header, [data.payload], seconds=seconds, limits=limits)
        if "no_memory" in message.header:
            return no_memory(str(message.header["no_memory"])[:300])
        claim = CellClaim.model_validate(message.header)
        outcome = judge_cell(experiment, plan, claim, memoryview(message.payload), data.references)
    session.tuned.update(claim.tuned)
    if claim.unusable:
        raise Lost(outcome)
    return outcome
