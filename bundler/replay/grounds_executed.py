"""The grounds that execute candidates: the device, with the timing that may follow, and the interpreter."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable

from bundler.experiment.controls import misbehaviour
from bundler.judge.source_kernel import SourceOutputs
from bundler.model.experiment import Candidate, Case, Ground, Language
from bundler.model.outcome import NotRun, Outcome, Why
from bundler.replay import execute, pool
from bundler.replay.allowance import allowance_for
from bundler.replay.compile import Assembler
from bundler.replay.device import lacks, probe, why_not_started
from bundler.replay.drive import Answers, Work, drive, not_on, open_units, slow_on
from bundler.replay.oracle import Oracle
from bundler.replay.record import Record
from bundler.replay.request import Step, processors
from bundler.replay.runner import Job, Session, Unit, run_units
from bundler.replay.timing import Bench, time_cells
from bundler.replay.zygote import Zygote, ZygoteFailed, start

_DEVICE = Ground.DEVICE.value
_INTERPRETER = Ground.INTERPRETER.value
_NO_CUDA = "Triton's interpreter runs no CUDA C++"


def judge_on_device(record: Record, oracle: Oracle, assembler: Assembler) -> None:
    """The device ground, then the timing where that was asked for."""
    with record.timed([_DEVICE]):
        if not record.host.gpus:
            return record.not_available(_DEVICE, Why.NO_DEVICE, record.host.no_gpu)
        try:
            zygote = Zygote("device")
        except ZygoteFailed as error:
            folder = tempfile.gettempdir()
            reason = why_not_started(error.reason, folder, os.statvfs(folder).f_flag)
            return record.not_available(_DEVICE, Why.NO_DEVICE, reason)
        with zygote:
            _on_device(record, zygote, oracle, assembler)
    return None


def _on_device(record: Record, zygote: Zygote, oracle: Oracle, assembler: Assembler) -> None:
    device = probe(zygote, assembler)
    if device.why_not:
        unsupported = device.why_not.startswith("host unsupported")
        why = Why.UNSUPPORTED_HOST if unsupported else Why.NO_DEVICE
        return record.not_available(_DEVICE, why, device.why_not)

    def why_not(candidate: Candidate, case: Case) -> Outcome | None:
        return not_on(case, Ground.DEVICE) or lacks(case, device) or slow_on(record, case, Ground.DEVICE)

    jobs = record.request.jobs or pool.device_jobs(device, processors())
    drive(record, _work(record, Ground.DEVICE, zygote, oracle, why_not), jobs)
    return _time(record, zygote, oracle)


def judge_on_interpreter(record: Record, oracle: Oracle) -> None:
    """The interpreter ground, which is for candidates in Triton only."""
    if Language.TRITON not in record.languages:
        return record.not_available(_INTERPRETER, Why.NOT_ON_THIS_GROUND, _NO_CUDA)

    def why_not(candidate: Candidate, case: Case) -> Outcome | None:
        if record.language(candidate) is Language.CUDA:
            return NotRun(why=Why.NOT_ON_THIS_GROUND, detail=_NO_CUDA)
        return not_on(case, Ground.INTERPRETER) or slow_on(record, case, Ground.INTERPRETER)

    with record.timed([_INTERPRETER]), start(_INTERPRETER, {"TRITON_INTERPRET": "1"}) as zygote:
        work = _work(record, Ground.INTERPRETER, zygote, oracle, why_not)
        drive(record, work, record.request.cpu_jobs)
    return None


def _work(
    record: Record,
    ground: Ground,
    zygote: Zygote,
    oracle: Oracle,
    why_not: Callable[[Candidate, Case], Outcome | None],
) -> Work:
    """One cell a unit, except those that ``why_not`` gives the outcome of."""
    on_device = ground is Ground.DEVICE
    sources = SourceOutputs()

    def units(candidate: Candidate) -> list[Unit]:
        return open_units(record, candidate, lambda case: {ground.value: why_not(candidate, case)})

    def run(job: Job, session: Session, its: list[Unit]) -> Answers:
        ask = execute.caller(job, oracle, session, zygote, on_device=on_device, source_outputs=sources)
        return run_units(job, zygote, its, ask, session)

    return Work((ground.value,), units, run, (zygote,), oracle.stop)


def _time(record: Record, zygote: Zygote, oracle: Oracle) -> None:
    """Time what the experiment names, where that was asked for."""
    gpu = record.host.cuda_device()
    if not record.request.time or record.experiment.timing is None or gpu is None:
        return
    limits, cases = record.experiment.limits, record.cases
    slow_s = sum(record.experiment.cell_seconds(c, Ground.DEVICE) for c in cases if Ground.DEVICE in c.slow)
    bench = Bench(
        record.loaded,
        zygote,
        oracle,
        gpu,
        allowance_for(limits, on_device=True, slow_s=slow_s),
        step=lambda done, total: record.watch.step(Step(_DEVICE, done, total)),
        stopped=record.stop,
    )
    cells = record.cells.snapshot()[_DEVICE]
    # What nothing shows to be right may not be said to be fast either.
    invalid = misbehaviour(record.experiment, Ground.DEVICE, cells)
    record.timings = time_cells(bench, record.candidates, cases, cells, invalid=invalid)
